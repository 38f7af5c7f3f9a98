// @ts-check
// Parsing of the light markup in messages and in descriptions of commands.
//
// Anyone can write to everyone's page, so inline marks are found in linear time: closing marks are looked up, never
// searched for again and again.

const URL_PATTERN = /https?:\/\/[^\s<>"'`]{1,2000}/y;
const TARGET_PATTERN = /\]\((https?:\/\/[^\s()<>]{1,2000})\)/y;
const MAX_LABEL = 500;

/**
 * @typedef {{code?: string, bold?: string, italic?: string, link?: string, label?: string}} InlineMark
 */

const isBlank = (/** @type {string | undefined} */ char) => char === undefined || /\s/.test(char);
const isWord = (/** @type {string | undefined} */ char) => char !== undefined && /\w/.test(char);

/**
 * Parse one line into strings and marks: `{code}`, `{bold}`, `{italic}` or `{link, label}`. The text of a bold or italic
 * mark may hold marks itself.
 *
 * @param {string} text
 */
export function parseInline(text) {
  const findTicks = createTickFinder(text);
  const findBold = createBoldFinder(text);
  /** @type {(string | InlineMark)[]} */
  const parts = [];
  let from = 0;
  let at = 0;
  const take = (/** @type {InlineMark} */ part, /** @type {number} */ end) => {
    if (at > from) parts.push(text.slice(from, at));
    parts.push(part);
    from = at = end;
  };
  while (at < text.length) {
    const char = text[at];
    if (char === "`") {
      const length = measureRun(text, at);
      const end = findTicks(length, at + length);
      if (end > 0) take({ code: text.slice(at + length, end) }, end + length);
      else at += length;
    } else if (char === "*" && text[at + 1] === "*") {
      const end = isBlank(text[at + 2]) ? -1 : findBold(at + 3);
      if (end > 0) take({ bold: text.slice(at + 2, end) }, end + 2);
      else at += 2;
    } else if (char === "*" || char === "_") {
      const end = findItalicEnd(text, at, char);
      if (end > 0) take({ italic: text.slice(at + 1, end) }, end + 1);
      else at += 1;
    } else if (char === "[") {
      const length = text.slice(at + 1, at + 2 + MAX_LABEL).indexOf("]");
      const target = length > 0 && matchAt(TARGET_PATTERN, text, at + 1 + length);
      if (target) take({ link: target[1], label: text.slice(at + 1, at + 1 + length) }, at + 1 + length + target[0].length);
      else at += 1;
    } else if (char === "h") {
      const url = matchAt(URL_PATTERN, text, at);
      const bare = url && url[0].slice(0, -countTrailing(url[0]) || undefined);
      if (bare) take({ link: bare, label: "" }, at + bare.length);
      else at += 1;
    } else at += 1;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

/** @param {RegExp} pattern @param {string} text @param {number} at */
function matchAt(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** The length of the run of one character that starts at `at`. @param {string} text @param {number} at */
function measureRun(text, at) {
  let end = at;
  while (text[end] === text[at]) end += 1;
  return end - at;
}

/** How many characters at the end of a URL belong to the sentence around it. @param {string} url */
function countTrailing(url) {
  let length = 0;
  while (".,;:!?)]".includes(url[url.length - 1 - length])) length += 1;
  return length;
}

/** Create a function that finds the next run of so many ticks. It must be asked for places in ascending order. */
function createTickFinder(/** @type {string} */ text) {
  /** @type {Map<number, {all: number[], next: number}>} */
  const places = new Map();
  for (let at = text.indexOf("`"); at >= 0; ) {
    const length = measureRun(text, at);
    const known = places.get(length) ?? { all: [], next: 0 };
    places.set(length, known);
    known.all.push(at);
    at = text.indexOf("`", at + length);
  }
  return (/** @type {number} */ length, /** @type {number} */ from) => {
    const known = places.get(length);
    if (!known) return -1;
    while (known.next < known.all.length && known.all[known.next] < from) known.next += 1;
    return known.all[known.next] ?? -1;
  };
}

/** The same for the two asterisks that close bold text, which have no blank before them. */
function createBoldFinder(/** @type {string} */ text) {
  let next = -2;
  return (/** @type {number} */ from) => {
    if (next === -1 || next >= from) return next;
    for (next = text.indexOf("**", from); next >= 0 && isBlank(text[next - 1]); ) next = text.indexOf("**", next + 1);
    return next;
  };
}

/** Where an asterisk or underscore closes: at the next one, if it stands between words and encloses something. */
function findItalicEnd(/** @type {string} */ text, /** @type {number} */ at, /** @type {string} */ char) {
  const before = text[at - 1];
  if (isWord(before) || before === char || isBlank(text[at + 1]) || text[at + 1] === char) return -1;
  const end = text.indexOf(char, at + 1);
  if (end < 0 || isBlank(text[end - 1]) || isWord(text[end + 1]) || text[end + 1] === char) return -1;
  return end;
}

/**
 * Parse the description of a command into paragraphs, each a list of strings and `{code}`. Line breaks of the source are
 * removed.
 *
 * @param {string} text
 * @returns {(string | {code: string})[][]}
 */
export function parseParagraphs(text) {
  return text
    .trim()
    .split(/\n\s*\n/)
    .filter(Boolean)
    .map((one) => parseCode(one.replace(/\s*\n\s*/g, " ")));
}

/** @param {string} text @returns {(string | {code: string})[]} */
function parseCode(text) {
  return text
    .split(/(`[^`]+`)/)
    .filter(Boolean)
    .map((one) => (one.length > 2 && one.startsWith("`") && one.endsWith("`") ? { code: one.slice(1, -1) } : one));
}
