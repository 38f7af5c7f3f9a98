// A text that would push everything else out of sight shows its beginning, and all of it to whoever wants that.

import { Marked } from "../markdown.js";
import { Button, html, useLayoutEffect, useRef, useState } from "../ui.js";

const LINES = 40;
const CHARACTERS = 8000;
const SPARE = 1.2; // what is hardly longer than its beginning is not worth a button

/** The beginning of a text that is too long to be shown at once, and in words how much there is; null where it is not. */
export function beginning(text) {
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.length > LINES * SPARE)
    return { text: lines.slice(0, LINES).join("\n").slice(0, CHARACTERS), all: `all ${lines.length} lines` };
  if (text.length > CHARACTERS * SPARE) return { text: text.slice(0, CHARACTERS), all: `all ${text.length} characters` };
  return null;
}

export function Folded({ text, mentions }) {
  const [open, setOpen] = useState(false);
  const place = useRef(null);
  const first = beginning(text);
  useLayoutEffect(() => {
    if (open) place.current.dispatchEvent(new Event("unfolded", { bubbles: true }));
  }, [open]);
  if (!first) return html`<${Marked} text=${text} mentions=${mentions} />`;
  return html`<div class=${open ? "" : "folded"} ref=${place}>
    <${Marked} text=${open ? text : first.text} mentions=${mentions} />
    <${Button} kind="small quiet" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>${open ? "Show its beginning only" : `Show ${first.all}`}</${Button}>
  </div>`;
}
