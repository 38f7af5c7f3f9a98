// @ts-check
// Numbers, times, files and texts in words.

const number = new Intl.NumberFormat("en");

/** @param {number} value */
export const formatNumber = (value) => number.format(value);

/** "1 room", "2 rooms". @param {number} count @param {string} noun */
export const formatCount = (count, noun) => `${number.format(count)} ${noun}${count === 1 ? "" : "s"}`;

/** @type {[number, Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [
  [60, "second", 1],
  [3600, "minute", 60],
  [86_400, "hour", 3600],
  [86_400 * 30, "day", 86_400],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const timeOfDay = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

/** A time given as ISO text or in seconds since 1970. @param {string | number} at */
export const toDate = (at) => new Date(typeof at === "number" ? at * 1000 : at);

/**
 * A time as "3 minutes ago", as date and time (`exact`), or as time of day (`day`).
 *
 * @param {string | number} at
 * @param {string} [form]
 */
export function formatTime(at, form = "relative") {
  const when = toDate(at);
  if (form === "exact") return dateTime.format(when);
  if (form === "day") return timeOfDay.format(when);
  const seconds = (when.getTime() - Date.now()) / 1000;
  const unit = UNITS.find(([limit]) => Math.abs(seconds) < limit);
  return unit ? relative.format(Math.round(seconds / unit[2]), unit[1]) : dateTime.format(when);
}

/** A duration, such as "3 min 20 s". @param {number} seconds */
export function formatDuration(seconds) {
  if (seconds < 0.001) return "under 1 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** The time that is left, in words whose width changes rarely. @param {number} seconds */
export function formatTimeLeft(seconds) {
  if (seconds <= 0) return "no time left";
  if (seconds < 100) return `${Math.ceil(seconds)} s left`;
  if (seconds < 5400) return `${Math.ceil(seconds / 60)} min left`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min left`;
}

const MAX_FILE_NAME = 40;
const FILE_NAME_END = 12;

/** Shorten the name of a file in its middle, so that its extension stays. @param {string} name */
export function shortenFileName(name) {
  const all = [...name];
  if (all.length <= MAX_FILE_NAME) return name;
  return `${all.slice(0, MAX_FILE_NAME - FILE_NAME_END - 1).join("")}…${all.slice(-FILE_NAME_END).join("")}`;
}

/** @param {number} bytes */
export function formatFileSize(bytes) {
  if (bytes < 1000) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Explain why a file was not attached. @param {string} name @param {ProblemFacts} problem */
export function explainUpload(name, problem) {
  if (problem.code === "empty") return `${name} is empty and was not attached.`;
  const limit = problem.status === 413 && /(\d{4,}) bytes/.exec(problem.detail ?? "")?.[1];
  if (limit) return `${name} is larger than ${Number((Number(limit) / 1e6).toFixed(2))} MB and was not attached.`;
  return `${name} was not attached: ${problem.detail || problem.message}`;
}

const MAX_EXCERPT = 400;
const EXCERPT_LEAD = 120;

/**
 * The part of a text around the first of the searched words, in pieces; the words themselves are `{hit}`.
 *
 * @param {string} text
 * @param {string} words
 * @returns {(string | {hit: string})[]}
 */
export function buildExcerpt(text, words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const low = text.toLowerCase();
  const found = wanted.map((word) => low.indexOf(word)).filter((at) => at >= 0);
  const first = found.length ? Math.min(...found) : 0;
  let from = text.length > MAX_EXCERPT ? Math.max(0, Math.min(first - EXCERPT_LEAD, text.length - MAX_EXCERPT)) : 0;
  const space = text.slice(from, first).search(/\s/);
  if (from && space >= 0) from += space + 1; // start at a word
  const shown = text.slice(from, from + MAX_EXCERPT);
  const pieces = wanted.length ? shown.split(new RegExp(`(${wanted.map(escapePattern).join("|")})`, "i")) : [shown];
  return [
    ...(from ? ["…"] : []),
    ...pieces.map((one, at) => (at % 2 ? { hit: one } : one)).filter((one) => one !== ""),
    ...(from + MAX_EXCERPT < text.length ? ["…"] : []),
  ];
}

const escapePattern = (/** @type {string} */ text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

const MAX_LINES = 40;
const MAX_CHARACTERS = 8000;
const TOLERANCE = 1.2; // a text that is hardly longer than its beginning is shown whole

/** The beginning of a long text, and how much there is in words; null when the text is short. @param {string} text */
export function truncateText(text) {
  const lines = text.split(/\r\n|\n|\r/);
  if (lines.length > MAX_LINES * TOLERANCE)
    return { text: lines.slice(0, MAX_LINES).join("\n").slice(0, MAX_CHARACTERS), all: `all ${lines.length} lines` };
  if (text.length > MAX_CHARACTERS * TOLERANCE)
    return { text: text.slice(0, MAX_CHARACTERS), all: `all ${text.length} characters` };
  return null;
}

/** Shorten a text to `length` characters. @param {string} text @param {number} length */
export const shorten = (text, length) => (text.length > length ? `${text.slice(0, length)}…` : text);

const FOUND = /^Found (\d+) items:/;
const MATCHED = /\n\(\{"matched":(\d+)\}\)$/;

/** The result on a card for people. Models get the same text with counts in JSON. @param {string} summary */
export function formatSummary(summary) {
  const count = Number(FOUND.exec(summary)?.[1] ?? -1);
  if (count < 0) return summary;
  const matched = Number(MATCHED.exec(summary)?.[1] ?? count);
  const listed = summary.replace(MATCHED, matched > count ? `\n${matched} matches in total.` : "");
  if (count === 0 && !listed.includes("\n")) return "Found nothing.";
  return count === 1 ? listed.replace(FOUND, "Found 1 item:") : listed;
}

/** Parameters in one line. @param {Record<string, any>} [params] */
export function formatParams(params = {}) {
  const text = Object.entries(params)
    .map(([name, value]) => `${name}=${typeof value === "string" && !/[\s"]/.test(value) ? value : JSON.stringify(value)}`)
    .join("  ");
  return shorten(text, 160);
}
