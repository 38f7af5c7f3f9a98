// @ts-check
// A submitted draft on its approval card: the review, what will happen, and the answers.

import { encode, get, post, run } from "../lib/api.js";
import { explainLate, rememberRefusal } from "../lib/decisions.js";
import { countChoice, describeAction, describeChoice, isWhole, toMergeParams } from "../lib/draft-choice.js";
import { DraftReview, useDraftReview } from "./draft-review.js";
import { announce, Button, ErrorBox, html, Loading, SafeText, useRef, useState } from "./ui.js";

const MAX_REASON = 400;

/** @param {{approval: Approval, onChange?: (approval: Approval) => void, keys: {current: any}}} props `keys` receives the answers for the keys of the card */
export function SubmittedDraft({ approval, onChange, keys }) {
  const room = approval.room ?? "";
  const source = { room, approval: approval.id };
  const { from, left, setLeft } = useDraftReview(source);
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState("");
  /** @type {import("../vendor/preact.js").Ref<HTMLInputElement>} */
  const field = useRef(null);
  const review = from.data;
  const mayDecide = !approval.cannotDecide;
  const choosable = mayDecide && approval.quorum === 1;
  const answer = async (/** @type {"approve" | "deny"} */ verdict, /** @type {() => Promise<any>} */ send) => {
    if (busy) return;
    setBusy(verdict);
    let refused = null;
    try {
      const done = await send();
      announce(done?.result?.summary ?? (verdict === "approve" ? "Approved" : "Denied"));
    } catch (error) {
      refused = error;
      if (review && !review.submitted) from.reload(); // the draft may have changed since it was shown
    }
    try {
      const found = await get(`/approvals/${encode(approval.id)}`);
      const late = refused?.code === "conflict" && explainLate(verdict, found);
      rememberRefusal(approval.id, late ? { late } : refused);
      onChange?.(found);
    } catch (error) {
      rememberRefusal(approval.id, refused ?? error);
    }
    setBusy("");
  };
  const said = reason.trim() ? { reason: reason.trim() } : {};
  const merge = () => {
    if (!review) return;
    // The whole is approved: then the agent's own call merges it, or several people decide about it.
    if (review.submitted && isWhole(review, left)) answer("approve", () => post(`/approvals/${encode(approval.id)}/approve`));
    else if (countChoice(review, left).files)
      answer("approve", () =>
        run("draft/merge", { approval: approval.id, version: review.version, ...toMergeParams(review, left), ...said }, { room }),
      );
  };
  const deny = () => answer("deny", () => post(`/approvals/${encode(approval.id)}/deny`, said));
  keys.current = { approve: merge, deny };
  const askToResolve = () => {
    const paths = (review?.conflicts ?? []).slice(0, 5).map((one) => one.path);
    setReason(`The workspace changed meanwhile. Run draft/update, solve the conflicts in ${paths.join(", ")}, and submit again.`.slice(0, MAX_REASON));
    field.current?.focus();
  };
  const draftUrl = `/console/rooms/${encode(room)}/drafts/${encode(review?.draft ?? "")}`;
  const conflictHelp = html`<p class="actions start">${mayDecide && html`<${Button} kind="small" onClick=${askToResolve}>Ask the agent to solve conflicts…</${Button}>`}
    <a href=${draftUrl}>Keep one version yourself</a></p>`;
  if (from.problem && !review) return html`<${ErrorBox} problem=${from.problem} onRetry=${from.reload} />`;
  if (!review) return html`<${Loading} label="Loading the difference…" />`;
  const { files } = countChoice(review, left);
  const nothing = !files && !(isWhole(review, left) && review.git.files);
  return html`<${DraftReview} review=${review} source=${source} left=${left} setLeft=${setLeft} choosable=${choosable}
      reload=${from.reload} conflictHelp=${conflictHelp} />
    ${review.submitted && html`<p class="quiet">This is the draft as it was submitted. <a href=${draftUrl}>Open it as it is now</a></p>`}
    ${mayDecide
      ? html`<div class="review-answer">
          <p role="status"><${SafeText} text=${describeChoice(review, left)} /></p>
          ${approval.quorum > 1 && html`<p class="quiet">It needs ${approval.quorum} approvals, so it is merged as a whole.</p>`}
          <div class="actions start">
            <${Button} kind="primary" busy=${busy === "approve"} disabled=${Boolean(busy) || nothing || (!choosable && !isWhole(review, left))} onClick=${merge}>${describeAction(review, left)}</${Button}>
            <${Button} kind="danger" busy=${busy === "deny"} disabled=${Boolean(busy)} onClick=${deny}>Deny<span class="unseen"> draft/submit</span></${Button}>
            <input class="reason" ref=${field} aria-label="Reason, for the agent to read" placeholder="Reason, for the agent to read" maxlength=${MAX_REASON}
              value=${reason} onInput=${(event) => setReason(event.currentTarget.value)} />
            <span class="quiet keys" aria-hidden="true">Keys: <kbd>a</kbd> merge, <kbd>d</kbd> deny</span>
          </div>
        </div>`
      : html`<p class="quiet"><${SafeText} text=${approval.cannotDecide} /></p>`}`;
}
