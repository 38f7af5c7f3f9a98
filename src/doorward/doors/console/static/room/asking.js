// What waits for a person in a room, and no message of the room carries: agents from outside (a terminal, an MCP client)
// put no cards into it. What was decided stays for as long as one is in the room, with what came of it.

import { get, part } from "../api.js";
import { ApprovalCard } from "../approvalcard.js";
import { onEvent, onMissed } from "../live.js";
import { waiting } from "../state.js";
import { ErrorBox, html, Loading, useEffect, useLoad, useRef, useSignal } from "../ui.js";

const cardsOf = (message) => (message.deletedAt ? [] : (message.attachments ?? []).filter((one) => one.type === "call"));

/** Of the approvals that wait, those of a room that none of its messages shows; `kept` are the ids shown before. */
export function alone(asked, room, messages, kept = []) {
  const carried = new Set();
  const begun = new Set(); // cards that will carry theirs in a moment
  for (const message of messages)
    for (const card of cardsOf(message)) {
      if (card.approval) carried.add(card.approval);
      else if (card.state === "waiting" || card.state === "running") begun.add(`${message.sender} ${card.command}`);
    }
  const fresh = asked.filter((one) => one.room === room && !begun.has(`${one.caller} ${one.command}`)).map((one) => one.id);
  return [...new Set([...kept, ...fresh])].filter((id) => !carried.has(id)).sort();
}

export function Asking({ room, messages }) {
  const kept = useRef([]);
  kept.current = alone(useSignal(waiting), room, messages, kept.current);
  if (!kept.current.length) return null;
  return html`<div class="asking">${kept.current.map((id) => html`<${Asked} id=${id} key=${id} />`)}</div>`;
}

function Asked({ id }) {
  const from = useLoad(() => get(`/approvals/${part(id)}`), [id]);
  const open = from.data === null || from.data.state === "pending" || (from.data.state === "approved" && !from.data.usedBy);
  useEffect(() => {
    const leave = [
      onEvent("approval:", ({ data }) => (data.approval ?? data.id) === id && from.reload()),
      // Whoever asked may have come back for what was approved.
      onEvent("execution:ended", () => open && from.reload()),
      onMissed(() => open && from.reload()),
    ];
    return () => leave.forEach((one) => one());
  }, [id, open, from.reload]);
  if (from.problem && !from.data) return html`<${ErrorBox} problem=${from.problem} onRetry=${from.reload} />`;
  if (!from.data) return html`<${Loading} label="Looking at what waits…" />`;
  return html`<${ApprovalCard} approval=${from.data} level=${2} inRoom onChange=${from.setData} onExpired=${from.reload} />`;
}
