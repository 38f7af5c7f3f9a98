// A call that an AI makes in the room: what it asks for, how it stands, and, where a person must say yes, the two buttons.

import { get, part } from "../api.js";
import { ApprovalCard } from "../approvalcard.js";
import { refusals } from "../decided.js";
import { onEvent } from "../live.js";
import { Code, ErrorBox, html, Loading, State, useEffect, useLoad, useRef, useSignal, Visible } from "../ui.js";
import { plainly } from "./plainly.js";

const WORDS = {
  waiting: "is being looked at",
  running: "runs",
  parked: "waits for a person",
  done: "done",
  refused: "refused",
  failed: "failed",
};

/** How a call stands. One that waits has been let in once it has a number; before that, it is still being looked at. */
function stands(card) {
  return card.state === "waiting" && card.call ? "waits for its turn" : WORDS[card.state] ?? card.state;
}

/** Parameters in one line, as far as it reaches. */
export function brief(params) {
  const text = Object.entries(params ?? {})
    .map(([name, value]) => `${name}=${typeof value === "string" && !/[\s"]/.test(value) ? value : JSON.stringify(value)}`)
    .join("  ");
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}

export function CallCard({ card }) {
  const many = JSON.stringify(card.params ?? {}).length > 120;
  return html`<div class=${`call state-${card.state}`} role="group" aria-label=${`Call of ${card.command}, ${stands(card)}`}>
    <p class="call-head">
      <code class="call-name"><${Visible} text=${card.command} /></code>
      <${State} state=${card.state} words=${stands(card)} />
      ${typeof card.seconds === "number" && html`<span class="quiet">${card.seconds < 10 ? card.seconds.toFixed(2) : Math.round(card.seconds)} s</span>`}
    </p>
    ${Object.keys(card.params ?? {}).length > 0 && (many
      ? html`<details><summary>Parameters</summary><${Code} value=${card.params} label="Parameters" /></details>`
      : html`<p class="call-params"><code><${Visible} text=${brief(card.params)} /></code></p>`)}
    ${card.approval && html`<${Asked} id=${card.approval} state=${card.state} />`}
    ${card.summary && card.state !== "parked" && html`<details open=${card.summary.length < 240}><summary>${card.state === "done" ? "Result" : "What came of it"}</summary><${Code} label="Result">${plainly(card.summary)}</${Code}></details>`}
    ${card.rule && card.state === "refused" && html`<p class="quiet">Rule: <code><${Visible} text=${card.rule} /></code></p>`}
    ${card.call && html`<p class="call-links"><a href=${`/console/executions/${part(card.call)}`}>Execution</a> <a href=${`/console/ledger?call=${part(card.call)}`}>Record</a></p>`}
  </div>`;
}

/** The question to people about one call. Once it is decided, one line says how; the rest is behind it. */
function Asked({ id, state }) {
  const refusal = useSignal(refusals)[id];
  const from = useLoad(() => get(`/approvals/${part(id)}`), [id]);
  useEffect(() => onEvent("approval:", ({ data }) => (data.approval ?? data.id) === id && from.reload()), [id, from.reload]);
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) from.reload();
    first.current = false;
  }, [state]);
  if (from.problem && !from.data) return html`<${ErrorBox} problem=${from.problem} onRetry=${from.reload} />`;
  if (!from.data) return html`<${Loading} label="Looking at what waits…" />`;
  const card = html`<${ApprovalCard} approval=${from.data} level=${2} inRoom onChange=${from.setData} onExpired=${from.reload} />`;
  if (from.data.state === "pending" || refusal) return card;
  const who = (from.data.decisions ?? []).map((one) => one.decider).join(", ");
  return html`<details class="asked"><summary>Asked of people: ${from.data.state === "used" ? "approved" : from.data.state}${who && html` by <${Visible} text=${who} />`}</summary>${card}</details>`;
}
