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

/**
 * The change that an approval would make, as far as this page has loaded it. `next` is the offset of the rest, `lost`
 * says that the server no longer has the rest.
 *
 * @typedef {{text: string, length: number, next: number | null, added: number, removed: number, lost: boolean}} Preview
 */

/** @type {Map<string, Preview>} */
const previews = new Map();

/** The change that an approval would make, if this page ever received it. @param {Approval} approval */
export function recallPreview(approval) {
  const { id, difference: text = "", differenceLength: length = text.length, differenceNext: next = null } = approval;
  const known = previews.get(id);
  if (known && !text) return { ...known, next: null, lost: known.lost || known.next !== null };
  if (text && !known)
    previews.set(id, { text, length, next, added: approval.linesAdded ?? 0, removed: approval.linesRemoved ?? 0, lost: false });
  return previews.get(id) ?? null;
}

/** Append the next part of the change. @param {Approval} part the approval with that part */
export function appendPreview(part) {
  const known = previews.get(part.id);
  if (!known) return;
  const next = part.differenceNext ?? null;
  previews.set(part.id, { ...known, text: known.text + (part.difference ?? ""), next, lost: !part.difference });
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
