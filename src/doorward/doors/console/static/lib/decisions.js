// @ts-check
// What this page remembers about approvals beyond the server's answer: the change a call would have made, which the
// server forgets with the decision because it may hold secrets, and why a decision of the user did not count.

import { createSignal } from "./signal.js";

/** @typedef {ProblemFacts & {late?: string}} Refusal */

/** By approval: why the user's decision did not count. `late` is a sentence, anything else a problem. */
export const refusals = createSignal(/** @type {Record<string, Refusal | null>} */ ({}));

/** @param {string} id @param {Refusal | null} refusal */
export function rememberRefusal(id, refusal) {
  refusals.set({ ...refusals.value, [id]: refusal });
}

/** @type {Map<string, string>} */
const differences = new Map();

/** The change that an approval would make, if this page ever received it. @param {Approval} approval */
export function recallDifference(approval) {
  if (approval.difference) differences.set(approval.id, approval.difference);
  return approval.difference || differences.get(approval.id) || "";
}

/**
 * Explain that a decision came too late, and what was decided instead; "" while the approval still waits.
 *
 * @param {"approve" | "deny"} verdict
 * @param {Approval} approval
 */
export function explainLate(verdict, approval) {
  if (approval.state === "pending") return "";
  const yours = `Too late to ${verdict}:`;
  const winner = approval.state === "denied" ? "deny" : "approve";
  const deciders = (approval.decisions ?? []).filter((one) => one.verdict === winner).map((one) => one.decider);
  if (approval.state === "expired" || !deciders.length) return `${yours} the request expired without a decision.`;
  return `${yours} ${deciders.join(" and ")} already ${winner === "deny" ? "denied" : "approved"} it.`;
}
