// @ts-check
// The open drafts of a room: a list for the room's panel, and the page of one, where a person merges or drops it.

import { encode, run } from "../lib/api.js";
import { countChoice, describeAction, describeChoice, isWhole, toMergeParams } from "../lib/draft-choice.js";
import { DraftReview, useDraftReview } from "./draft-review.js";
import { announce, Button, Confirm, Empty, ErrorBox, html, Loaded, Page, SafeText, Time, useLive, useState } from "./ui.js";

const MAX_REASON = 400;

/** Load the open drafts of a room again when one changes hands. @param {string} room @returns {Loadable<OpenDraft[]>} */
export function useDrafts(room) {
  return useLive(
    async () => (await run("draft/list", {}, { room })).result.items,
    { "approval:": ({ data }) => data.room === room, "execution:ended": ({ data }) => data.room === room && data.command.startsWith("draft/") },
    [room],
  );
}

/** @param {{room: string}} props */
export function DraftList({ room }) {
  const from = useDrafts(room);
  return html`<${Loaded} from=${from}>
    ${(drafts) =>
      drafts.length
        ? html`<ul class="plain-list draft-list">
            ${drafts.map(
              (one) => html`<li key=${one.id}>
                <a href=${`/console/rooms/${encode(room)}/drafts/${encode(one.id)}`}><strong><${SafeText} text=${one.name || `Draft of ${one.agent}`} /></strong></a>
                <p class="quiet"><${SafeText} text=${one.agent} />, opened <${Time} at=${one.created} /></p>
              </li>`,
            )}
          </ul>`
        : html`<${Empty} title="No open drafts">Where the recipe says so, an agent’s first change opens one.</${Empty}>`}
  </${Loaded}>`;
}

/** @param {{room: string, id: string, navigate: Navigate}} props */
export function DraftPage({ room, id, navigate }) {
  const source = { room, id };
  const { from, left, setLeft } = useDraftReview(source);
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [done, setDone] = useState("");
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [dropping, setDropping] = useState(false);
  const review = from.data;
  const roomUrl = `/console/rooms/${encode(room)}`;
  const merge = async () => {
    if (!review) return;
    setBusy(true);
    setDone("");
    try {
      const said = reason.trim() ? { reason: reason.trim() } : {};
      const { result } = await run("draft/merge", { id, version: review.version, ...toMergeParams(review, left), ...said }, { room });
      setDone(result.note ? `${result.summary} ${result.note}` : result.summary);
      setReason("");
      setProblem(null);
      announce(result.summary);
    } catch (error) {
      setProblem(error);
    }
    await from.reload();
    setBusy(false);
  };
  const drop = async () => {
    await run("draft/drop", { id }, { room });
    announce("The draft was dropped");
    navigate(roomUrl);
  };
  const nothing = !review || (!countChoice(review, left).files && !(isWhole(review, left) && review.git.files));
  return html`<${Page} title=${review ? `Draft of ${review.agent}` : "Draft"} actions=${html`<a class="button" href=${roomUrl}>Back to the room</a>`}>
    ${done && html`<p class="note good" role="status"><${SafeText} text=${done} /></p>`}
    <${Loaded} from=${from}>
      ${(/** @type {DraftReviewFacts} */ found) => html`<div class="card draft-card">
        <${DraftReview} review=${found} source=${source} left=${left} setLeft=${setLeft} choosable reload=${from.reload} />
        <${ErrorBox} problem=${problem} />
        <div class="review-answer">
          <p role="status"><${SafeText} text=${describeChoice(found, left)} /></p>
          <div class="actions start">
            <${Button} kind="primary" busy=${busy} disabled=${nothing} onClick=${merge}>${describeAction(found, left)}</${Button}>
            <input class="reason" aria-label="Reason, for the agent to read" placeholder="Reason, for the agent to read" maxlength=${MAX_REASON}
              value=${reason} onInput=${(event) => setReason(event.currentTarget.value)} />
            <${Button} kind="danger" onClick=${() => setDropping(true)}>Drop the draft…</${Button}>
          </div>
        </div>
      </div>`}
    </${Loaded}>
    ${dropping &&
    html`<${Confirm} title="Drop this draft?" action="Drop" onConfirm=${drop} onClose=${() => setDropping(false)}>
      <p>Everything in the draft is deleted, also what was not merged. Your workspace stays as it is.</p>
    </${Confirm}>`}
  </${Page}>`;
}
