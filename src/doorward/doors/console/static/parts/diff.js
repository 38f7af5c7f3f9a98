// @ts-check
// A difference for people. Signs and words accompany the colours.

import { parseDiff, summarizeDiff } from "../lib/diff.js";
import { html, MoreButton, SafeText, useMemo, useState } from "./ui.js";

const FIRST_LINES = 200;
const MORE_LINES = 1000;

/**
 * `text` is a unified diff, or lines with + and -. When it is only the beginning, `totals` are the counts of the whole and
 * `loadMore` loads the next part; without `loadMore`, `text` is all there is.
 *
 * @param {{text: string, label?: string, totals?: {added: number, removed: number}, loadMore?: (() => Promise<void>) | null}} props
 */
export function Diff({ text, label = "Changes", totals, loadMore = null }) {
  const lines = useMemo(() => parseDiff(text || ""), [text]);
  const summary = summarizeDiff(lines, totals);
  return html`
    <figure class="diff">
      <figcaption>
        <span class="diff-label">${label}</span>
        <span class="diff-count">${summary}</span>
      </figcaption>
      <${DiffLines} lines=${lines} label=${`${label}: ${summary}`} loadMore=${loadMore} />
    </figure>
  `;
}

/**
 * The lines of a difference, with a button for more of them. With `numbers`, each shows its number in the file.
 *
 * @param {{lines: import("../lib/diff.js").DiffLine[], label: string, numbers?: boolean, loadMore?: (() => Promise<void>) | null}} props
 */
export function DiffLines({ lines, label, numbers = false, loadMore = null }) {
  const [limit, setLimit] = useState(FIRST_LINES);
  const [busy, setBusy] = useState(false);
  const shown = lines.slice(0, limit);
  const showMore = async () => {
    setLimit(limit + MORE_LINES);
    if (!loadMore || lines.length > limit + MORE_LINES) return;
    setBusy(true);
    await loadMore();
    setBusy(false);
  };
  return html`<div class=${`diff-body ${numbers ? "numbered" : ""}`} tabindex="0" role="group" aria-label=${label}>
      ${shown.map(
        (line, at) => html`
          <div key=${at} class=${`diff-line diff-${line.kind}`}>
            ${numbers && html`<span class="diff-number" aria-hidden="true">${line.number || ""}</span>`}
            <span class="diff-sign" aria-hidden="true">${line.sign}</span>
            ${line.word && html`<span class="unseen">${line.word}: </span>`}
            <span class="diff-text"><${SafeText} text=${line.text} /></span>
          </div>
        `,
      )}
    </div>
    <${MoreButton} more=${loadMore || lines.length > shown.length} busy=${busy} onMore=${showMore} />`;
}
