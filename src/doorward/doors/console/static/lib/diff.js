// @ts-check
// Line differences: computing them, and parsing them for display.

const MAX_CELLS = 4_000_000;

/**
 * Compare two texts line by line. Returns lines with "+", "-" or " " in front; "" when the texts are equal.
 *
 * @param {string} before
 * @param {string} after
 * @param {number} [context] number of unchanged lines around the change
 */
export function computeDiff(before, after, context = 3) {
  if (before === after) return "";
  const olds = before.split("\n");
  const news = after.split("\n");
  let head = 0;
  while (head < olds.length && head < news.length && olds[head] === news[head]) head += 1;
  let tail = 0;
  while (tail < olds.length - head && tail < news.length - head && olds.at(-1 - tail) === news.at(-1 - tail)) tail += 1;
  const middle = compareLines(olds.slice(head, olds.length - tail), news.slice(head, news.length - tail));
  const lead = olds.slice(Math.max(0, head - context), head).map((line) => ` ${line}`);
  const rest = tail ? olds.slice(olds.length - tail, olds.length - tail + context).map((line) => ` ${line}`) : [];
  return [...lead, ...middle, ...rest].join("\n");
}

/** The longest common subsequence; texts that are too long for it are shown whole. */
function compareLines(/** @type {string[]} */ olds, /** @type {string[]} */ news) {
  const removed = olds.map((line) => `-${line}`);
  const added = news.map((line) => `+${line}`);
  if (olds.length * news.length > MAX_CELLS || !olds.length || !news.length) return [...removed, ...added];
  const width = news.length + 1;
  const common = new Uint32Array((olds.length + 1) * width);
  for (let i = olds.length - 1; i >= 0; i -= 1)
    for (let j = news.length - 1; j >= 0; j -= 1)
      common[i * width + j] =
        olds[i] === news[j]
          ? common[(i + 1) * width + j + 1] + 1
          : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
  const found = [];
  let [i, j] = [0, 0];
  while (i < olds.length || j < news.length) {
    if (i < olds.length && j < news.length && olds[i] === news[j]) {
      found.push(` ${olds[i]}`);
      i += 1;
      j += 1;
    } else if (i < olds.length && (j === news.length || common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      found.push(removed[i]);
      i += 1;
    } else {
      found.push(added[j]);
      j += 1;
    }
  }
  return found;
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

const WORDS = { added: "added", removed: "removed", file: "file", place: "place", note: "note", same: "" };

/**
 * `number` is the number of the line in the new file, for a removed line in the old one; 0 if it is unknown.
 *
 * @typedef {{kind: keyof typeof WORDS, sign: string, text: string, word: string, number: number}} DiffLine
 */

/**
 * Parse a unified diff. Hunk headings say how many lines follow, so a removed line that begins with "--" is not taken for
 * the name of a file.
 *
 * @param {string} text
 */
export function parseDiff(text) {
  /** @type {DiffLine[]} */
  const found = [];
  const push = (/** @type {DiffLine["kind"]} */ kind, /** @type {string} */ sign, /** @type {string} */ line, number = 0) =>
    found.push({ kind, sign, text: line, word: WORDS[kind], number: hasHunks ? number : 0 });
  const hasHunks = /^@@ -/m.test(text);
  let olds = 0;
  let news = 0;
  let [oldNumber, newNumber] = [0, 0]; // of the next line, if there are hunks
  const all = text.replace(/\n$/, "").split("\n");
  all.forEach((line, at) => {
    const hunk = HUNK.exec(line);
    const outside = olds === 0 && news === 0;
    const isName =
      (line.startsWith("--- ") && all[at + 1]?.startsWith("+++ ")) ||
      (line.startsWith("+++ ") && all[at - 1]?.startsWith("--- "));
    if (outside && isName) {
      push("file", "", line);
    } else if (outside && hunk) {
      olds = Number(hunk[2] ?? 1);
      news = Number(hunk[4] ?? 1);
      [oldNumber, newNumber] = [Number(hunk[1]), Number(hunk[3])];
      push("place", "", line);
    } else if (line.startsWith("\\")) {
      push("note", "", line.slice(1).trim());
    } else if (hasHunks && outside) {
      push("note", "", line);
    } else if (line.startsWith("+")) {
      news = Math.max(0, news - 1);
      push("added", "+", line.slice(1), newNumber++);
    } else if (line.startsWith("-")) {
      olds = Math.max(0, olds - 1);
      push("removed", "−", line.slice(1), oldNumber++);
    } else {
      olds = Math.max(0, olds - 1);
      news = Math.max(0, news - 1);
      push("same", "", line.startsWith(" ") ? line.slice(1) : line, newNumber++);
      oldNumber += 1;
    }
  });
  return found;
}

const NO_CHANGE = /^(it changes nothing|no changes|nothing changes|nothing would change)\b/i;

/**
 * Count the added and removed lines, in words.
 *
 * @param {DiffLine[]} lines
 * @param {{added: number, removed: number}} [totals] the counts of the whole, when `lines` are only its beginning
 */
export function summarizeDiff(lines, totals = { added: 0, removed: 0 }) {
  const counted = totals.added + totals.removed > 0;
  if (!counted && lines.every((one) => one.kind === "same" || one.kind === "note"))
    return NO_CHANGE.test(lines.at(-1)?.text ?? "") ? "No changes" : "Unknown";
  const count = (/** @type {string} */ kind) => lines.filter((one) => one.kind === kind).length;
  const words = (/** @type {number} */ number, /** @type {string} */ word) =>
    `${number} ${number === 1 ? "line" : "lines"} ${word}`;
  const { added, removed } = counted ? totals : { added: count("added"), removed: count("removed") };
  if (!added && !removed) return "No lines added or removed";
  return [added && words(added, "added"), removed && words(removed, "removed")].filter(Boolean).join(", ");
}
