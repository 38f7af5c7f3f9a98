// @ts-check
// The review of a draft: the last check, notes, conflicts, and the files with their hunks to choose from.

import { run } from "../lib/api.js";
import { escapeInvisible } from "../lib/escape-invisible.js";
import { formatCount, formatNumber } from "../lib/format.js";
import { loadStylesheet } from "../lib/stylesheet.js";
import { DraftFileEntry, LineCounts, Tick } from "./draft-file.js";
import { Badge, Button, Confirm, html, MoreButton, SafeText, Time, useLoad, useMemo, useState } from "./ui.js";

await loadStylesheet("review.css");

const OPEN_FILES = 6; // as many files, if they are short, are open at first
const OPEN_LINES = 400;
const FIRST_FILES = 50;
const MORE_FILES = 450;

/**
 * Load the difference of a draft, and keep what the person leaves of it.
 *
 * @param {import("./draft-file.js").DraftSource} source
 */
export function useDraftReview({ room, ...which }) {
  const [left, setLeft] = useState(/** @type {import("../lib/draft-choice.js").Left} */ (new Map()));
  /** @type {Loadable<DraftReviewFacts>} */
  const from = useLoad(async () => {
    const { result } = await run("draft/review", which, { room });
    setLeft(new Map());
    return result;
  }, [room, which.id, which.approval]);
  return { from, left, setLeft };
}

/**
 * @param {{
 *   review: DraftReviewFacts, source: import("./draft-file.js").DraftSource, left: import("../lib/draft-choice.js").Left,
 *   setLeft: import("./draft-file.js").FileProps["setLeft"], choosable: boolean, reload: () => Promise<any>, conflictHelp?: any
 * }} props `conflictHelp` says how to solve conflicts; by default the user keeps one version here
 */
export function DraftReview({ review, source, left, setLeft, choosable, reload, conflictHelp }) {
  return html`<div class="review">
    <${LastCheck} run=${review.lastRun} />
    <${Conflicts} review=${review} source=${source} reload=${reload} help=${conflictHelp} />
    <${Files} review=${review} source=${source} left=${left} setLeft=${setLeft} choosable=${choosable} reload=${reload} />
    <${Remarks} review=${review} />
  </div>`;
}

/** The end of the output of the last test or build in the draft. */
function LastCheck(/** @type {{run: DraftReviewFacts["lastRun"]}} */ { run: last }) {
  if (!last) return html`<p class="quiet">No test or build ran in this draft.</p>`;
  const passed = last.exitCode === 0;
  const ending = last.exitCode === null ? "no exit code" : passed ? "passed" : `exit code ${last.exitCode}`;
  return html`<details class="review-check" open=${!passed || last.output.length < 4000}>
    <summary>
      <span>Last check <code><${SafeText} text=${last.command} /></code></span>
      <span class="bits"><${Badge} tone=${passed ? "good" : "bad"}>${ending}</${Badge}> <${Time} at=${last.at} /></span>
    </summary>
    ${last.output
      ? html`<pre class="code wrap" tabindex="0" role="group" aria-label="Output of the last check"><code><${SafeText} text=${last.output} lines /></code></pre>`
      : html`<p class="quiet">It wrote no output.</p>`}
  </details>`;
}

function Conflicts({ review, source, reload, help }) {
  const [keeping, setKeeping] = useState(/** @type {{path: string, keep: string} | null} */ (null));
  if (!review.conflicts.length) return null;
  const keep = async () => {
    await run("draft/update", { id: review.draft, ...keeping }, { room: source.room });
    await reload();
  };
  return html`<section class="note review-conflicts" aria-label="Conflicts">
    <p><strong>${formatCount(review.conflicts.length, "conflict")} with your workspace.</strong> ${review.conflicts.length === 1 ? "This path is" : "These paths are"} not merged until the conflict is solved.</p>
    <ul>
      ${review.conflicts.map(
        ({ path, why }) => html`<li key=${path}>
          <code><${SafeText} text=${path} /></code>: <${SafeText} text=${why} />.
          ${!help &&
          html`<span class="actions start">
            <${Button} kind="small" onClick=${() => setKeeping({ path, keep: "workspace" })}>Keep yours<span class="unseen"> of ${escapeInvisible(path)}</span></${Button}>
            <${Button} kind="small" onClick=${() => setKeeping({ path, keep: "draft" })}>Keep the draft’s<span class="unseen"> of ${escapeInvisible(path)}</span></${Button}>
          </span>`}
        </li>`,
      )}
    </ul>
    ${help ?? html`<p>Or let the agent bring both versions together: it runs <code>draft/update</code>, solves what is between the markers, and submits again.</p>`}
    ${keeping &&
    html`<${Confirm} title=${keeping.keep === "draft" ? "Keep the draft’s version?" : "Keep your version?"} action="Keep it" onConfirm=${keep} onClose=${() => setKeeping(null)}>
      <p><code><${SafeText} text=${keeping.path} /></code>: ${keeping.keep === "draft"
        ? "a merge then replaces what you wrote there. Undo restores it."
        : "the agent’s version in the draft is replaced by yours. This cannot be undone."}</p>
    </${Confirm}>`}
  </section>`;
}

function Files({ review, source, left, setLeft, choosable, reload }) {
  const [limit, setLimit] = useState(FIRST_FILES);
  // In a long list, files with a warning come first, so that none is overlooked.
  const files = useMemo(
    () => (review.files.length > FIRST_FILES ? [...review.files].sort((a, b) => Number(!a.later) - Number(!b.later)) : review.files),
    [review.files],
  );
  const lines = files.reduce((sum, one) => sum + one.linesAdded + one.linesRemoved, 0);
  const opened = files.length <= OPEN_FILES && lines <= OPEN_LINES;
  const chosen = files.filter((one) => left.get(one.path) !== true).length;
  const state = left.size === 0 ? "all" : chosen ? "some" : "none";
  const chooseAll = (/** @type {boolean} */ on) => setLeft(() => (on ? new Map() : new Map(files.map((one) => [one.path, true]))));
  const count = (/** @type {"linesAdded" | "linesRemoved"} */ what) => files.reduce((sum, one) => sum + one[what], 0);
  if (!files.length) return review.conflicts.length ? null : html`<p>The draft changes no file.</p>`;
  return html`<section class="review-files" aria-label="Changed files">
    <div class="review-all">
      ${choosable ? html`<label><${Tick} state=${state} label="Merge every file" onChange=${chooseAll} /> <strong aria-hidden="true">${formatCount(files.length, "file")}</strong></label>` : html`<strong>${formatCount(files.length, "file")}</strong>`}
      <${LineCounts} added=${count("linesAdded")} removed=${count("linesRemoved")} />
    </div>
    <ul>
      ${files.slice(0, limit).map(
        (file) => html`<${DraftFileEntry} key=${`${review.version}/${file.path}`} file=${file} source=${source} version=${review.version} left=${left}
          setLeft=${setLeft} choosable=${choosable} opened=${opened} onChanged=${reload} />`,
      )}
    </ul>
    <${MoreButton} more=${files.length > limit} label=${`Show more of the ${formatNumber(files.length)} files`} onMore=${() => setLimit(limit + MORE_FILES)} />
    ${review.moreFiles > 0 && html`<p class="note">${formatCount(review.moreFiles, "more file")} changed. Merge some of these first.</p>`}
  </section>`;
}

/** What else a reviewer should know: branches, ignored paths, and what a merge never applies. */
function Remarks(/** @type {{review: DraftReviewFacts}} */ { review }) {
  const { git, ignored, notes } = review;
  return html`${notes.map((text) => html`<p class="note" key=${text}><${SafeText} text=${text} /></p>`)}
    ${git.moves.length > 0 &&
    html`<details class="review-more"><summary>Git: ${git.moves.length === 1 ? "a branch moves" : `${git.moves.length} branches move`}</summary>
      <ul>${git.moves.map((text) => html`<li key=${text}><${SafeText} text=${text} /></li>`)}</ul></details>`}
    ${ignored.total > 0 &&
    html`<details class="review-more"><summary>${formatCount(ignored.total, "path")} that .gitignore names ${ignored.total === 1 ? "stays" : "stay"} in the draft</summary>
      <ul>${ignored.first.map((path) => html`<li key=${path}><code><${SafeText} text=${path} /></code></li>`)}</ul></details>`}`;
}
