// A call that an AI makes in the room: what it asks for, how it stands, and, where a person must say yes, the two buttons.

import { get, part, post } from "../api.js";
import { Diff } from "../diff.js";
import { onEvent } from "../live.js";
import { waiting } from "../state.js";
import { Badge, Button, Code, ErrorBox, html, Loading, moment, State, Time, useEffect, useLoad, useSignal, useState, useTick, Visible } from "../ui.js";

const WORDS = {
  waiting: "about to run",
  running: "runs",
  parked: "waits for a person",
  done: "done",
  refused: "refused",
  failed: "failed",
};

/** Parameters in one line, as far as it reaches. */
export function brief(params) {
  const text = Object.entries(params ?? {})
    .map(([name, value]) => `${name}=${typeof value === "string" && !/[\s"]/.test(value) ? value : JSON.stringify(value)}`)
    .join("  ");
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}

export function CallCard({ card }) {
  const many = JSON.stringify(card.params ?? {}).length > 120;
  return html`<div class=${`call state-${card.state}`} role="group" aria-label=${`Call of ${card.command}, ${WORDS[card.state] ?? card.state}`}>
    <p class="call-head">
      <code class="call-name"><${Visible} text=${card.command} /></code>
      <${State} state=${card.state} words=${WORDS[card.state]} />
      ${typeof card.seconds === "number" && html`<span class="quiet">${card.seconds < 10 ? card.seconds.toFixed(2) : Math.round(card.seconds)} s</span>`}
    </p>
    ${Object.keys(card.params ?? {}).length > 0 && (many
      ? html`<details><summary>Parameters</summary><${Code} value=${card.params} label="Parameters" /></details>`
      : html`<p class="call-params"><code><${Visible} text=${brief(card.params)} /></code></p>`)}
    ${card.approval && html`<${Asked} id=${card.approval} open=${card.state === "parked"} />`}
    ${card.summary && html`<details open=${card.summary.length < 240}><summary>${card.state === "done" ? "Result" : "What came of it"}</summary><${Code} label="Result">${card.summary}</${Code}></details>`}
    ${card.rule && card.state === "refused" && html`<p class="quiet">Rule: <code><${Visible} text=${card.rule} /></code></p>`}
    ${card.call && html`<p class="call-links"><a href=${`/console/executions/${part(card.call)}`}>Execution</a> <a href=${`/console/ledger?call=${part(card.call)}`}>Record</a></p>`}
  </div>`;
}

/** How long there is to decide, by the clock and not by counting, so that it is right after a laptop slept. */
export function Countdown({ until }) {
  const left = Math.ceil((moment(until) - Date.now()) / 1000);
  useTick(1000, left > 0);
  if (left <= 0) return html`<span class="countdown over">expired</span>`;
  const minutes = Math.floor(left / 60);
  const words = minutes ? `${minutes} min ${String(left % 60).padStart(2, "0")} s` : `${left} s`;
  return html`<span class=${`countdown ${left < 30 ? "soon" : ""}`}>expires in ${words}</span>`;
}

/** The question to people about one call: exactly what runs, and what was decided. */
function Asked({ id, open }) {
  const from = useLoad(() => get(`/approvals/${part(id)}`), [id]);
  const [busy, setBusy] = useState("");
  const [problem, setProblem] = useState(null);
  useSignal(waiting);
  useEffect(() => onEvent("approval:", ({ data }) => (data.approval ?? data.id) === id && from.reload()), [id, from.reload]);
  useEffect(() => {
    from.reload();
  }, [open]);
  if (from.problem && !from.data) return html`<${ErrorBox} problem=${from.problem} onRetry=${from.reload} />`;
  if (!from.data) return html`<${Loading} label="Looking at what waits…" />`;
  const facts = from.data;
  const decide = (verdict) => async () => {
    setBusy(verdict);
    setProblem(null);
    try {
      await post(`/approvals/${part(id)}/${verdict}`, {});
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy("");
      from.reload();
    }
  };
  const pending = facts.state === "pending" && moment(facts.expiresAt) > Date.now();
  return html`<div class=${`asked ${pending ? "pending" : ""}`}>
    <p class="asked-head"><strong>${pending ? "May this run?" : "Asked of people"}</strong> <${State} state=${facts.state} />
      ${pending && html`<${Countdown} until=${facts.expiresAt} />`}
      ${facts.safety && facts.safety !== "safe" && html`<${Badge} tone=${facts.safety === "dangerous" ? "bad" : "warn"}>${facts.safety}</${Badge}>`}</p>
    <p class="quiet"><${Visible} text=${facts.caller} />${facts.onBehalfOf && html` for <${Visible} text=${facts.onBehalfOf} />`} asks. <${Visible} text=${facts.why} /></p>
    <p class="exactly">${pending ? "Exactly this would run:" : "Exactly this was asked for:"}</p>
    <${Code} label="Exactly what would run">${facts.shown}</${Code}>
    ${facts.difference && html`<${Diff} text=${facts.difference} />`}
    ${facts.quorum > 1 && html`<p class="quiet">${facts.quorum} people must say yes.</p>`}
    ${(facts.decisions ?? []).map((one) => html`<p class="decision">${one.verdict === "approve" ? "✓ Approved" : "✗ Denied"} by <strong><${Visible} text=${one.decider} /></strong> <span class="quiet"><${Time} at=${one.at} /></span></p>`)}
    ${facts.usedBy && html`<p class="quiet">Used by <a href=${`/console/executions/${part(facts.usedBy)}`}>execution ${facts.usedBy}</a>.</p>`}
    <${ErrorBox} problem=${problem} />
    ${pending && (facts.cannotDecide
      ? html`<p class="quiet"><${Visible} text=${facts.cannotDecide} /></p>`
      : html`<div class="actions decide">
          <${Button} kind="primary" busy=${busy === "approve"} disabled=${!!busy} onClick=${decide("approve")}>Approve<span class="unseen"> ${facts.command}</span></${Button}>
          <${Button} kind="danger" busy=${busy === "deny"} disabled=${!!busy} onClick=${decide("deny")}>Deny<span class="unseen"> ${facts.command}</span></${Button}>
        </div>`)}
  </div>`;
}
