// Text as it stands in the source of a command: what is between backticks is code, and a line ends where its sentence
// does and not where the source broke it.

/** The paragraphs of a text, each a list of pieces: a text, or `{code}`. */
export function paragraphs(text) {
  return text
    .trim()
    .split(/\n\s*\n/)
    .filter(Boolean)
    .map((one) => pieces(one.replace(/\s*\n\s*/g, " ")));
}

function pieces(text) {
  return text
    .split(/(`[^`]+`)/)
    .filter(Boolean)
    .map((one) => (one.length > 2 && one.startsWith("`") && one.endsWith("`") ? { code: one.slice(1, -1) } : one));
}
