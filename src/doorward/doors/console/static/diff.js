// A difference as people read it before they decide: signs and words beside the colours, since not everybody sees these.

import { html, useState, Visible } from "./ui.js";
import { diffLines, diffSummary } from "./difflines.js";

const SHOWN = 200;

/** `text` is a unified diff, or lines with + and -; `label` says what it is a difference of. */
export function Diff({ text, label = "What it would change" }) {
  const [whole, setWhole] = useState(false);
  const lines = diffLines(text || "");
  const summary = diffSummary(lines);
  const shown = whole ? lines : lines.slice(0, SHOWN);
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
              <span class="diff-text"><${Visible} text=${line.text} /></span>
            </div>
          `,
        )}
      </div>
      ${lines.length > shown.length &&
      html`<button type="button" class="button quiet" onClick=${() => setWhole(true)}>
        Show all ${lines.length} lines
      </button>`}
    </figure>
  `;
}
