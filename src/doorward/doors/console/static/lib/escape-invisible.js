// @ts-check
// Escapes characters that are invisible or that reorder the text around them.

const NAMES = new Map([
  [0x00, "null"],
  [0x07, "bell"],
  [0x08, "backspace"],
  [0x0a, "line break"],
  [0x0d, "carriage return"],
  [0x1b, "escape"],
  [0x7f, "delete"],
  [0xa0, "no-break space"],
  [0xad, "soft hyphen"],
  [0x061c, "arabic letter mark"],
  [0x180e, "mongolian vowel separator"],
  [0x200b, "zero width space"],
  [0x200c, "zero width non-joiner"],
  [0x200d, "zero width joiner"],
  [0x200e, "left-to-right mark"],
  [0x200f, "right-to-left mark"],
  [0x2028, "line separator"],
  [0x2029, "paragraph separator"],
  [0x202a, "left-to-right embedding"],
  [0x202b, "right-to-left embedding"],
  [0x202c, "pop directional formatting"],
  [0x202d, "left-to-right override"],
  [0x202e, "right-to-left override"],
  [0x2060, "word joiner"],
  [0x2066, "left-to-right isolate"],
  [0x2067, "right-to-left isolate"],
  [0x2068, "first strong isolate"],
  [0x2069, "pop directional isolate"],
  [0xfeff, "byte order mark"],
]);

// Control and format characters, blanks other than the space, unpaired surrogates, private and unassigned characters,
// letters and marks that look like a blank, and variation selectors. The terminal escapes the same set. The zero width
// joiner and the emoji variation selector stay where they form an emoji.
const INVISIBLE =
  /(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu;
const MAX_MARKS = 500;

/** @typedef {{mark: string, name: string}} Mark */

/**
 * Split a text into strings and a `{mark, name}` for each invisible character. After many of them the rest become plain
 * replacement characters, because each mark costs rendering time.
 *
 * @param {string} text
 * @param {boolean} [lines] keep line breaks
 */
export function splitInvisible(text, lines = false) {
  /** @type {(string | Mark)[]} */
  const parts = [];
  let from = 0;
  const push = (/** @type {string | Mark} */ part) => {
    const last = parts.at(-1);
    if (typeof part === "string" && typeof last === "string") parts[parts.length - 1] = last + part;
    else parts.push(part);
  };
  for (const match of text.matchAll(INVISIBLE)) {
    const code = match[0].codePointAt(0) ?? 0;
    if (code === 0x09 || (code === 0x0a && lines)) continue;
    if (code === 0x200d && isEmojiJoiner(text, match.index)) continue;
    if (code === 0xfe0f && isEmojiSelector(text, match.index)) continue;
    if (match.index > from) push(text.slice(from, match.index));
    const hex = code.toString(16).toUpperCase().padStart(4, "0");
    push(parts.length > MAX_MARKS ? "\ufffd" : { mark: `U+${hex}`, name: NAMES.get(code) ?? `hidden character ${hex}` });
    from = match.index + match[0].length;
  }
  if (from < text.length) push(text.slice(from));
  return parts;
}

const isEmojiSelector = (/** @type {string} */ text, /** @type {number} */ index) =>
  /\p{Emoji}$/u.test(text.slice(Math.max(0, index - 2), index));

const isEmojiJoiner = (/** @type {string} */ text, /** @type {number} */ index) =>
  /\p{Extended_Pictographic}\uFE0F?$/u.test(text.slice(Math.max(0, index - 4), index)) &&
  /^\p{Extended_Pictographic}/u.test(text.slice(index + 1, index + 3));

/** Escape invisible characters in a text, for titles and other plain text. @param {unknown} text @param {boolean} [lines] */
export const escapeInvisible = (text, lines = false) =>
  splitInvisible(String(text ?? ""), lines)
    .map((one) => (typeof one === "string" ? one : `‹${one.mark}›`))
    .join("");
