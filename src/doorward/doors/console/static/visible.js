// Characters that a reader does not see, or that turn the text around them about, written out as marks.

const NAMES = new Map([
  [0x00, "null"],
  [0x07, "bell"],
  [0x08, "backspace"],
  [0x0a, "line break"],
  [0x0d, "carriage return"],
  [0x1b, "escape"],
  [0x7f, "delete"],
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

// Control and format characters, separators of lines, unpaired surrogates, private and unassigned characters. The
// joiner is left alone between emoji, where it makes one of several.
const HIDING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}]/gu;

/** A text as parts: strings, and `{mark, name}` for each character that would not be seen. */
export function visible(text, lines = false) {
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(HIDING)) {
    const code = match[0].codePointAt(0);
    if (code === 0x09 || (code === 0x0a && lines)) continue;
    if (code === 0x200d && joins(text, match.index)) continue;
    if (match.index > from) parts.push(text.slice(from, match.index));
    const hex = code.toString(16).toUpperCase().padStart(4, "0");
    parts.push({ mark: `U+${hex}`, name: NAMES.get(code) ?? `hidden character ${hex}` });
    from = match.index + match[0].length;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

const joins = (text, index) =>
  /\p{Extended_Pictographic}\uFE0F?$/u.test(text.slice(Math.max(0, index - 4), index)) &&
  /^\p{Extended_Pictographic}/u.test(text.slice(index + 1, index + 3));

/** The same as one string, for titles and other places that hold text only. */
export const visibleText = (text, lines = false) =>
  visible(String(text ?? ""), lines)
    .map((one) => (typeof one === "string" ? one : `‹${one.mark}›`))
    .join("");
