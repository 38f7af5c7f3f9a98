// Files in words that fit on a line.

const LONGEST = 40;
const ENDING = 12;

/** A name that is shortened in its middle, so that its ending stays: that says what kind of file it is. */
export function shortName(name) {
  const all = [...name];
  if (all.length <= LONGEST) return name;
  return `${all.slice(0, LONGEST - ENDING - 1).join("")}…${all.slice(-ENDING).join("")}`;
}

/** How large a file is. */
export function sizeWords(size) {
  if (size < 1000) return `${size} ${size === 1 ? "byte" : "bytes"}`;
  return size < 1e6 ? `${Math.round(size / 1000)} kB` : `${(size / 1e6).toFixed(1)} MB`;
}

/** Why a file was not attached, in a sentence. */
export function notAttached(name, problem) {
  if (problem.code === "empty") return `${name} is empty, so it was not attached.`;
  const most = problem.status === 413 && /at most (\d+) bytes/.exec(problem.detail)?.[1];
  if (most) return `${name} is larger than ${Number((most / 1e6).toFixed(2))} MB, so it was not attached.`;
  return `${name} was not attached: ${problem.detail || problem.message}`;
}
