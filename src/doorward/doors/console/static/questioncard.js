// What a server wants to know before it goes on with a call. It is somebody else's program that asks, so the card says
// who asks, and that the answer goes there.

import { run } from "./api.js";
import { SchemaForm, useForm } from "./schemaform.js";
import { Button, ErrorBox, html, Time, useState, Visible } from "./ui.js";

const NO_FIELDS = { type: "object", properties: {} };

export function QuestionCard({ question, onAnswered }) {
  const form = useForm(question.form ?? NO_FIELDS);
  const [busy, setBusy] = useState("");
  const [problem, setProblem] = useState(null);
  const answer = async (action) => {
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
  return html`<article class="card question" aria-labelledby=${`question-${question.id}`}>
    <header class="card-head"><h3 id=${`question-${question.id}`}>The server <strong><${Visible} text=${question.server}
      /></strong> asks</h3><span class="quiet"><${Time} at=${question.askedAt} /></span></header>
    <p><${Visible} text=${question.message} lines /></p>
    <p class="quiet">It asks while <code><${Visible} text=${question.command} /></code> runs for <${Visible}
      text=${question.caller} />${question.room ? html` in <${Visible} text=${question.room} />`
        : ""}. What you fill in goes to that server, and into no record here.</p>
    ${address && html`<p>Open it yourself if you trust it: <code><${Visible} text=${address} /></code></p>`}
    ${question.form && html`<${SchemaForm} form=${form} id=${`question-${question.id}-form`} />`}
    <${ErrorBox} problem=${problem} />
    <div class="actions start">
      <${Button} kind="primary" busy=${busy === "accept"} disabled=${Boolean(busy)}
        onClick=${() => answer("accept")}>${question.form ? "Send the answer" : "Yes"}</${Button}>
      <${Button} kind="danger" busy=${busy === "decline"} disabled=${Boolean(busy)}
        onClick=${() => answer("decline")}>No</${Button}>
      <${Button} busy=${busy === "cancel"} disabled=${Boolean(busy)}
        onClick=${() => answer("cancel")}>Not now</${Button}>
    </div>
  </article>`;
}
