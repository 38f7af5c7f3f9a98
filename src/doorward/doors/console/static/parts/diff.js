// @ts-check
// A difference for people. Signs and words accompany the colours.

import { parseDiff, summarizeDiff } from "../lib/diff.js";
import { html, SafeText, useState } from "./ui.js";

const MAX_LINES = 200;

/** @param {{text: string, label?: string}} props `text` is a unified diff, or lines with + and - */
export function Diff({ text, label = "Changes" }) {
  const [all, setAll] = useState(false);
  const lines = parseDiff(text || "");
  const summary = summarizeDiff(lines);
  const shown = all ? lines : lines.slice(0, MAX_LINES);
  return html`
    <figure class="diff">
      <figcaption>
        <span class="diff-label">${label}</span>
        <span class="diff-count">${summary}</span>
      </figcaption>
      <div class="diff-body" tabindex="0" role="group" aria-label=${`${label}: ${summary}`}>
        ${shown.map(
          (line, at) => html`
            <div key=${at} class=${`diff-line diff-${line.kind}`}>
              <span class="diff-sign" aria-hidden="true">${line.sign}</span>
              ${line.word && html`<span class="unseen">${line.word}: </span>`}
              <span class="diff-text"><${SafeText} text=${line.text} /></span>
            </div>
          `,
        )}
      </div>
      ${lines.length > shown.length &&
      html`<button type="button" class="button quiet" onClick=${() => setAll(true)}>
        Show all ${lines.length} lines
      </button>`}
    </figure>
  `;
}
