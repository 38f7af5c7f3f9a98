// @ts-check
// Terminal escape sequences in the output of programs. Colours and styles of text are kept as names of classes. Every
// other sequence is dropped: output can come from anyone, and none of it may move, hide or replace other text.

// A control sequence, a string (a title, a link) up to its terminator, or a short sequence.
const SEQUENCE =
  /(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x80-\x9f\n]{0,2048}(?:\x07|\x1b\\|\x9c)|\x1b[ -/]{1,4}[0-~]|\x1b[0-OQ-WYZ`-~=>]/g;
/** The beginning of a sequence at the end of a text. */
const BEGINNING =
  /(?:(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x80-\x9f\n]{0,2048}\x1b?|\x1b[ -/]{0,4}|\r)$/;
const STYLES = /^\x1b\[([\d;:]*)m$/;

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/** The look of a piece of text. @typedef {{colour: string, bold: boolean, dim: boolean, italic: boolean, underline: boolean, inverse: boolean}} TextStyle */

/** @type {TextStyle} */
export const PLAIN = { colour: "", bold: false, dim: false, italic: false, underline: false, inverse: false };

/**
 * Split a text before a sequence that is not complete yet. Returns what is complete, and the rest.
 *
 * @param {string} text
 * @returns {[string, string]}
 */
export function splitIncomplete(text) {
  const found = BEGINNING.exec(text.slice(-2200));
  const end = found ? text.length - found[0].length : text.length;
  return [text.slice(0, end), text.slice(end)];
}

/**
 * Split a text into its sequences and what stands between them.
 *
 * @param {string} text
 * @returns {{text: string, escape: boolean}[]}
 */
export function splitSequences(text) {
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(SEQUENCE)) {
    if (match.index > from) parts.push({ text: text.slice(from, match.index), escape: false });
    parts.push({ text: match[0], escape: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), escape: false });
  return parts;
}

/**
 * The style after a sequence.
 *
 * @param {TextStyle} style
 * @param {string} sequence
 */
export function applySequence(style, sequence) {
  const found = STYLES.exec(sequence.replace("\x9b", "\x1b["));
  if (!found) return style;
  const codes = found[1].split(/[;:]/).map(Number);
  let next = style;
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at];
    if (code === 38 || code === 48) {
      const [colour, length] = readColour(codes.slice(at + 1));
      if (code === 38) next = { ...next, colour };
      at += length;
    } else next = applyCode(next, code);
  }
  return next;
}

/** @param {TextStyle} style @param {number} code @returns {TextStyle} */
function applyCode(style, code) {
  if (code === 0) return PLAIN;
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 3) return { ...style, italic: true };
  if (code === 4) return { ...style, underline: true };
  if (code === 7) return { ...style, inverse: true };
  if (code === 22) return { ...style, bold: false, dim: false };
  if (code === 23) return { ...style, italic: false };
  if (code === 24) return { ...style, underline: false };
  if (code === 27) return { ...style, inverse: false };
  if (code === 39) return { ...style, colour: "" };
  if (code >= 30 && code <= 37) return { ...style, colour: COLOURS[code - 30] };
  if (code >= 90 && code <= 97) return { ...style, colour: COLOURS[code - 90] };
  return style; // a background or a hidden text could make text invisible
}

/** Read a colour of 256 or of 16 million as the nearest of eight. @param {number[]} codes @returns {[string, number]} */
function readColour([kind, ...codes]) {
  if (kind === 2) return [nearestColour(codes[0], codes[1], codes[2]), 4];
  if (kind !== 5) return ["", 1];
  const number = codes[0] ?? 0;
  if (number < 16) return [COLOURS[number % 8], 2];
  if (number > 231) return [number < 244 ? "black" : "white", 2];
  const steps = [(number - 16) / 36, ((number - 16) % 36) / 6, (number - 16) % 6].map((one) => Math.floor(one) * 51);
  return [nearestColour(steps[0], steps[1], steps[2]), 2];
}

/** @param {number} [red] @param {number} [green] @param {number} [blue] */
function nearestColour(red = 0, green = 0, blue = 0) {
  const middle = Math.max(red, green, blue, 64) / 2;
  return COLOURS[Number(red > middle) + 2 * Number(green > middle) + 4 * Number(blue > middle)];
}

/** The classes of a style. @param {TextStyle} style */
export const classesOf = (style) =>
  [
    style.colour && `ansi-${style.colour}`,
    style.bold && "ansi-bold",
    style.dim && "ansi-dim",
    style.italic && "ansi-italic",
    style.underline && "ansi-underline",
    style.inverse && "ansi-inverse",
  ]
    .filter(Boolean)
    .join(" ");

/** Line breaks as a page shows them: a carriage return begins a line anew, and what it would replace stays visible. @param {string} text */
const normalizeLines = (text) => text.replace(/\r+\n?/g, "\n");

/**
 * Parse a text into pieces with their classes. It starts in `style`, and holds no incomplete sequence.
 *
 * @param {string} text
 * @param {TextStyle} [style]
 * @returns {{text: string, classes: string}[]}
 */
export function parseAnsi(text, style = PLAIN) {
  const pieces = [];
  let now = style;
  for (const part of splitSequences(normalizeLines(text))) {
    if (part.escape) now = applySequence(now, part.text);
    else pieces.push({ text: part.text, classes: classesOf(now) });
  }
  return pieces;
}
