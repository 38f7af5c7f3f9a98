// The part of a long message in which the words are that somebody searched for.

const LONGEST = 400;
const BEFORE = 120;

/** The text around the first of the words, as pieces; those that are words themselves are `{hit}`. */
export function excerpt(text, words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const low = text.toLowerCase();
  const found = wanted.map((word) => low.indexOf(word)).filter((at) => at >= 0);
  const first = found.length ? Math.min(...found) : 0;
  let from = text.length > LONGEST ? Math.max(0, Math.min(first - BEFORE, text.length - LONGEST)) : 0;
  const space = text.slice(from, first).search(/\s/);
  if (from && space >= 0) from += space + 1; // at the beginning of a word
  const shown = text.slice(from, from + LONGEST);
  const pieces = wanted.length ? shown.split(new RegExp(`(${wanted.map(literal).join("|")})`, "i")) : [shown];
  return [
    ...(from ? ["…"] : []),
    ...pieces.map((one, at) => (at % 2 ? { hit: one } : one)).filter((one) => one !== ""),
    ...(from + LONGEST < text.length ? ["…"] : []),
  ];
}

const literal = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
