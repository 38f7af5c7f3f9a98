// A difference, read line by line. It knows how many lines a block has by its heading, so that a removed line which
// itself begins with "--" is not taken for the name of a file.

const HEADING = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

const WORDS = { added: "added", removed: "removed", file: "file", place: "place", note: "note", same: "" };

/** The lines of a difference: `{kind, sign, text, word}`; kind is added, removed, same, file, place or note. */
export function diffLines(text) {
  const found = [];
  const blocks = /^@@ -/m.test(text);
  let olds = 0;
  let news = 0;
  const all = text.replace(/\n$/, "").split("\n");
  all.forEach((line, at) => {
    const heading = HEADING.exec(line);
    const outside = olds === 0 && news === 0;
    const names = (line.startsWith("--- ") && all[at + 1]?.startsWith("+++ ")) || (line.startsWith("+++ ") &&
      all[at - 1]?.startsWith("--- "));
    if (outside && names) {
      found.push(made("file", "", line));
    } else if (outside && heading) {
      olds = Number(heading[1] ?? 1);
      news = Number(heading[2] ?? 1);
      found.push(made("place", "", line));
    } else if (line.startsWith("\\")) {
      found.push(made("note", "", line.slice(1).trim()));
    } else if (blocks && outside) {
      found.push(made("note", "", line));
    } else if (line.startsWith("+")) {
      news = Math.max(0, news - 1);
      found.push(made("added", "+", line.slice(1)));
    } else if (line.startsWith("-")) {
      olds = Math.max(0, olds - 1);
      found.push(made("removed", "−", line.slice(1)));
    } else {
      olds = Math.max(0, olds - 1);
      news = Math.max(0, news - 1);
      found.push(made("same", "", line.startsWith(" ") ? line.slice(1) : line));
    }
  });
  return found;
}

/** How many lines come and go, in words. Of a text without a difference only its own words are known. */
export function diffSummary(lines) {
  if (lines.every((one) => one.kind === "same" || one.kind === "note"))
    return lines.at(-1)?.text === "It changes nothing." ? "Nothing is changed." : "Not known";
  const count = (kind) => lines.filter((one) => one.kind === kind).length;
  const words = (number, word) => `${number} ${number === 1 ? "line" : "lines"} ${word}`;
  const [added, removed] = [count("added"), count("removed")];
  if (!added && !removed) return "No line is added or removed.";
  return [added && words(added, "added"), removed && words(removed, "removed")].filter(Boolean).join(", ");
}

function made(kind, sign, text) {
  return { kind, sign, text, word: WORDS[kind] };
}
