// @ts-check
// Text that a program wrote for a terminal.

import { parseAnsi } from "../lib/ansi.js";
import { html, SafeText } from "./ui.js";

/**
 * Text that a program wrote for a terminal: with its colours, and without its other escape sequences.
 *
 * @param {{text: string, style?: import("../lib/ansi.js").TextStyle}} props
 */
export function ProgramText({ text, style }) {
  return parseAnsi(text, style).map((one) =>
    one.classes ? html`<span class=${one.classes}><${SafeText} text=${one.text} lines /></span>` : html`<${SafeText} text=${one.text} lines />`,
  );
}
