// @ts-check
// Text from outside. Nothing here turns text into markup, and the page's content policy would not allow it.

import { announce, showToast } from "../lib/announce.js";
import { splitInvisible } from "../lib/escape-invisible.js";
import { formatTime, toDate } from "../lib/format.js";
import { parseParagraphs } from "../lib/markup.js";
import { html, useState } from "../vendor/preact.js";
import { Button } from "./controls.js";

/** Text with its invisible characters escaped. `lines` keeps line breaks. */
export function SafeText({ text, lines = false }) {
  return splitInvisible(String(text ?? ""), lines).map((one) =>
    typeof one === "string"
      ? one
      : html`<span class="hidden-char" title=${one.name}><span aria-hidden="true">${one.mark}</span
          ><span class="unseen">${` ${one.name} `}</span></span>`,
  );
}

/** A time: "3 minutes ago" with the exact time as its title. `form` is relative, exact or day (the time of day). */
export function Time({ at, form = "relative" }) {
  if (at === null || at === undefined || at === "") return html`<span class="quiet">–</span>`;
  return html`<time datetime=${toDate(at).toISOString()} title=${formatTime(at, "exact")}>${formatTime(at, form)}</time>`;
}

/** Preformatted text, or a value as JSON. */
export function Code({ children = /** @type {any} */ (""), value = /** @type {any} */ (undefined), wrap = true, label = "Text" }) {
  const text = value !== undefined ? JSON.stringify(value, null, 2) : String(children ?? "");
  return html`<pre class=${`code ${wrap ? "wrap" : ""}`} tabindex="0" role="group" aria-label=${label}><code
    ><${SafeText} text=${text} lines
  /></code></pre>`;
}

/** A button that copies a text. */
export function CopyButton({ text, label = "Copy" }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      announce("Copied");
      setTimeout(() => setCopied(false), 2000);
    } catch {
      showToast("The browser does not allow copying here. Select the text and copy it yourself.");
    }
  };
  return html`<${Button} kind="quiet small" onClick=${copy}>${copied ? "Copied" : label}</${Button}>`;
}

/** The description of a command: paragraphs, with code between backticks. `inline` keeps everything on one line. */
export function Prose({ text, inline = false }) {
  const line = (/** @type {(string | {code: string})[]} */ pieces) =>
    pieces.map((piece) =>
      typeof piece === "string" ? html`<${SafeText} text=${piece} />` : html`<code><${SafeText} text=${piece.code} /></code>`,
    );
  const all = parseParagraphs(String(text ?? ""));
  if (inline) return all.map((pieces, at) => html`${at > 0 && " "}${line(pieces)}`);
  return all.map((pieces) => html`<p>${line(pieces)}</p>`);
}
