// @ts-check
// A question that an MCP server asks during a call (elicitation). The card names the server, because the answer goes there.

import { run } from "../lib/api.js";
import { SchemaForm, useForm } from "./schema-form.js";
import { Button, ErrorBox, html, SafeText, Time, useState } from "./ui.js";

const NO_FIELDS = { type: "object", properties: {} };

export function QuestionCard({ question, onAnswered }) {
  const form = useForm(question.form ?? NO_FIELDS);
  const [busy, setBusy] = useState("");
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const answer = async (/** @type {"accept" | "decline" | "cancel"} */ action) => {
    const content = action === "accept" && question.kind !== "url" ? form.read() : undefined;
    if (content === null) return;
    setBusy(action);
    setProblem(null);
    try {
      await run("mcp/answer", { question: question.id, action, ...(content ? { content } : {}) });
      onAnswered?.();
    } catch (error) {
      setProblem(error);
      setBusy("");
    }
  };
  const address = question.kind === "url" ? /https?:\/\/\S+/.exec(question.message)?.[0] : "";
  const id = `question-${question.id}`;
  const button = (action, kind, label) =>
    html`<${Button} kind=${kind} busy=${busy === action} disabled=${Boolean(busy)} onClick=${() => answer(action)}>${label}</${Button}>`;
  return html`<article class="card question" aria-labelledby=${id}>
    <header class="card-head">
      <h3 id=${id}>Question from the server <strong><${SafeText} text=${question.server} /></strong></h3>
      <span class="quiet"><${Time} at=${question.askedAt} /></span>
    </header>
    <p><${SafeText} text=${question.message} lines /></p>
    <p class="quiet">Asked while <code><${SafeText} text=${question.command} /></code> runs for <${SafeText} text=${question.caller} />${question.room
      ? html` in <${SafeText} text=${question.room} />`
      : ""}. Your answer is sent to this server and is not recorded.</p>
    ${address && html`<p>Open this address only if you trust the server: <code><${SafeText} text=${address} /></code></p>`}
    ${question.form && html`<${SchemaForm} form=${form} id=${`${id}-form`} />`}
    <${ErrorBox} problem=${problem} />
    <div class="actions start">
      ${button("accept", "primary", question.form ? "Send" : "Accept")} ${button("decline", "danger", "Decline")}
      ${button("cancel", "", "Cancel")}
    </div>
  </article>`;
}
