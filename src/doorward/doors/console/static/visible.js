// Characters that a reader does not see, or that turn the text around them about, written out as marks.

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

// Control and format characters, blanks other than the common one, unpaired surrogates, private and unassigned characters,
// what looks like a blank and is a letter or a mark, and variation selectors: what the terminal writes out as well. Left
// alone are the two that make one emoji of several or draw one in colour, and only where they do that.
const HIDING =
  /(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Zs}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu;
const MOST = 500;

/** A text as parts: strings, and `{mark, name}` for each character that would not be seen. Of a text that is full of them
 * the later ones are just a sign each, since every mark takes a page time. */
export function visible(text, lines = false) {
  const parts = [];
  let from = 0;
  const push = (part) => {
    if (typeof part === "string" && typeof parts.at(-1) === "string") parts[parts.length - 1] += part;
    else parts.push(part);
  };
  for (const match of text.matchAll(HIDING)) {
    const code = match[0].codePointAt(0);
    if (code === 0x09 || (code === 0x0a && lines)) continue;
    if (code === 0x200d && joins(text, match.index)) continue;
    if (code === 0xfe0f && colours(text, match.index)) continue;
    if (match.index > from) push(text.slice(from, match.index));
    const hex = code.toString(16).toUpperCase().padStart(4, "0");
    push(parts.length > MOST ? "\ufffd" : { mark: `U+${hex}`, name: NAMES.get(code) ?? `hidden character ${hex}` });
    from = match.index + match[0].length;
  }
  if (from < text.length) push(text.slice(from));
  return parts;
}

const colours = (text, index) => /\p{Emoji}$/u.test(text.slice(Math.max(0, index - 2), index));

const joins = (text, index) =>
  /\p{Extended_Pictographic}\uFE0F?$/u.test(text.slice(Math.max(0, index - 4), index)) &&
  /^\p{Extended_Pictographic}/u.test(text.slice(index + 1, index + 3));

/** The same as one string, for titles and other places that hold text only. */
export const visibleText = (text, lines = false) =>
  visible(String(text ?? ""), lines)
    .map((one) => (typeof one === "string" ? one : `‹${one.mark}›`))
    .join("");
