// What a page knows of approvals that the server does not tell again: what a call would have changed, which is forgotten
// with the decision since it may hold secrets, and why one's own decision did not count.

import { signal } from "./signal.js";

/** By approval: what to say to whoever tried to decide about it; `late` is a sentence, anything else a problem. */
export const refusals = signal({});

export function keepRefusal(id, refusal) {
  refusals.set({ ...refusals.value, [id]: refusal });
}

const differences = new Map();

/** What an approval would change or would have changed, as far as this page was ever told. */
export function differenceOf(approval) {
  if (approval.difference) differences.set(approval.id, approval.difference);
  return approval.difference || differences.get(approval.id) || "";
}

/** Why a decision did not count: it is too late for it, and this is what was decided instead; "" where it still waits. */
export function tooLate(verdict, approval) {
  if (approval.state === "pending") return "";
  const yours = `Your ${verdict === "approve" ? "Approve" : "Deny"} came too late:`;
  const verdictOf = approval.state === "denied" ? "deny" : "approve";
  const names = (approval.decisions ?? []).filter((one) => one.verdict === verdictOf).map((one) => one.decider);
  if (approval.state === "expired" || !names.length) return `${yours} nobody decided in time, which counts as no.`;
  return `${yours} ${names.join(" and ")} ${verdictOf === "deny" ? "denied" : "approved"} it.`;
}
