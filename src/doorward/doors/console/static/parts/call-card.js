// @ts-check
// Calls in a room: the card of an AI's call on its message, and the approvals that no message carries.

import { encode, get } from "../lib/api.js";
import { refusals } from "../lib/decisions.js";
import { formatParams, formatSummary } from "../lib/format.js";
import { pendingApprovals } from "../lib/store.js";
import { Code, createLazy, describeState, ErrorBox, html, Loading, SafeText, StateBadge, useEffect, useLive, useRef, useSignal } from "./ui.js";

const ApprovalCard = createLazy(async () => (await import("./approval-card.js")).ApprovalCard);

/** The state of a call for people. Before the gate has decided, a call is checked; after that it may wait in a queue. */
function stateOf(/** @type {CallAttachment} */ card) {
  if (card.state !== "waiting") return card.state;
  return card.call ? "queued" : "checking";
}

export function CallCard(/** @type {{card: CallAttachment}} */ { card }) {
  const state = stateOf(card);
  const params = card.params ?? {};
  const long = JSON.stringify(params).length > 120;
  return html`<div class=${`call state-${card.state}`} role="group" aria-label=${`Call of ${card.command}, ${describeState(state)}`}>
    <p class="call-head">
      <code class="call-name"><${SafeText} text=${card.command} /></code>
      <${StateBadge} state=${state} />
      ${typeof card.seconds === "number" && html`<span class="quiet">${card.seconds < 10 ? card.seconds.toFixed(2) : Math.round(card.seconds)} s</span>`}
    </p>
    ${Object.keys(params).length > 0 &&
    (long
      ? html`<details><summary>Parameters</summary><${Code} value=${params} label="Parameters" /></details>`
      : html`<p class="call-params"><code><${SafeText} text=${formatParams(params)} /></code></p>`)}
    ${card.approval && html`<${CallApproval} id=${card.approval} state=${card.state} />`}
    ${card.summary &&
    card.state !== "parked" &&
    html`<details open=${card.summary.length < 240}><summary>${card.state === "done" ? "Result" : "Reason"}</summary><${Code} label="Result">${formatSummary(card.summary)}</${Code}></details>`}
    ${card.rule && card.state === "refused" && html`<p class="quiet">Rule: <code><${SafeText} text=${card.rule} /></code></p>`}
    ${card.call && html`<p class="call-links"><a href=${`/console/executions/${encode(card.call)}`}>Execution</a> <a href=${`/console/ledger?call=${encode(card.call)}`}>Record</a></p>`}
  </div>`;
}

/** Load an approval and follow its decisions. @param {string} id @param {Record<string, true | (() => boolean)>} [events] */
function useApproval(id, events = {}) {
  return useLive(
    () => get(`/approvals/${encode(id)}`),
    { "approval:": ({ data }) => (data.approval ?? data.id) === id, ...events },
    [id],
  );
}

/** The approval of a call. */
function CallApproval(/** @type {{id: string, state: string}} */ { id, state }) {
  const from = useApproval(id);
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) from.reload();
    first.current = false;
  }, [state]);
  return html`<${RoomApproval} id=${id} from=${from} subject="Approval" />`;
}

/**
 * An approval in a room. Once it is decided, it collapses to one line, which begins with `subject`.
 *
 * @param {{id: string, from: Loadable<Approval>, subject: any}} props
 */
function RoomApproval({ id, from, subject }) {
  const refusal = useSignal(refusals)[id];
  const card = html`<${LoadedApproval} from=${from} />`;
  if (!from.data || from.data.state === "pending" || refusal) return card;
  const deciders = (from.data.decisions ?? []).map((one) => one.decider).join(", ");
  return html`<details class="asked"><summary>${subject}: ${describeState(from.data.state)}${deciders && html` by <${SafeText} text=${deciders} />`}${from.data.reason && html`: <${SafeText} text=${from.data.reason} />`}</summary>${card}</details>`;
}

function LoadedApproval(/** @type {{from: Loadable<Approval>}} */ { from }) {
  if (from.problem && !from.data) return html`<${ErrorBox} problem=${from.problem} onRetry=${from.reload} />`;
  if (!from.data) return html`<${Loading} label="Loading approval…" />`;
  return html`<${ApprovalCard} approval=${from.data} level=${2} inRoom onChange=${from.setData} onExpired=${from.reload} />`;
}

const callsOf = (/** @type {Message} */ message) =>
  message.deletedAt ? [] : (message.attachments ?? []).filter((one) => one.type === "call");

/** @typedef {Pick<Approval, "id" | "createdAt">} Unattached */

/**
 * The approvals of a room that no message carries: agents outside the console (a terminal, an MCP client) post no cards.
 * `kept` are those that were shown before; they stay until the user leaves the room.
 *
 * @param {Approval[]} pending
 * @param {string} room
 * @param {Message[]} messages
 * @param {Unattached[]} [kept]
 * @returns {Unattached[]}
 */
export function selectUnattached(pending, room, messages, kept = []) {
  const carried = new Set();
  const starting = new Set(); // calls whose card will carry the approval in a moment
  for (const message of messages)
    for (const card of callsOf(message)) {
      if (card.approval) carried.add(card.approval);
      else if (card.state === "waiting" || card.state === "running") starting.add(`${message.sender} ${card.command}`);
    }
  const known = new Set(kept.map((one) => one.id));
  const fresh = pending
    .filter((one) => one.room === room && !known.has(one.id) && !starting.has(`${one.caller} ${one.command}`))
    .map(({ id, createdAt }) => ({ id, createdAt }));
  return [...kept, ...fresh].filter((one) => !carried.has(one.id)).sort((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * The unattached approvals of a room: those that wait, and those that were decided while the room is open.
 *
 * @param {string} room
 * @param {Message[]} messages
 */
export function useUnattached(room, messages) {
  const kept = useRef(/** @type {Unattached[]} */ ([]));
  const pending = useSignal(pendingApprovals);
  kept.current = selectUnattached(pending, room, messages, kept.current);
  const waiting = new Set(pending.map((one) => one.id));
  return {
    waiting: kept.current.filter((one) => waiting.has(one.id)),
    decided: kept.current.filter((one) => !waiting.has(one.id)),
  };
}

export function UnattachedApproval(/** @type {{id: string}} */ { id }) {
  /** @type {{current: Approval | null}} */
  const latest = useRef(null);
  const isOpen = () => {
    const approval = latest.current;
    return approval === null || approval.state === "pending" || (approval.state === "approved" && !approval.usedBy);
  };
  // The caller may have returned for what was approved.
  const from = useApproval(id, { "execution:ended": isOpen });
  latest.current = from.data;
  const subject = from.data && html`<strong><${SafeText} text=${from.data.caller} /></strong> asked to run <code><${SafeText} text=${from.data.command} /></code>`;
  return html`<div class="asking"><${RoomApproval} id=${id} from=${from} subject=${subject} /></div>`;
}
