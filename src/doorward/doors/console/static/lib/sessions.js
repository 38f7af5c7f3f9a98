// @ts-check
// Browser sessions: readable names and their order.

/** @type {[RegExp, string][]} */
const BROWSERS = [
  [/Edg(?:e|A|iOS)?\/(\d+)/, "Edge"],
  [/OPR\/(\d+)/, "Opera"],
  [/(?:Firefox|FxiOS)\/(\d+)/, "Firefox"],
  [/HeadlessChrome\/(\d+)/, "Headless Chrome"],
  [/(?:Chrome|CriOS|Chromium)\/(\d+)/, "Chrome"],
  [/Version\/(\d+).*Safari\//, "Safari"],
];
/** @type {[RegExp, string][]} */
const SYSTEMS = [
  [/Android/, "Android"],
  [/iPhone|iPad|iPod/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux|X11/, "Linux"],
];

/** "Firefox 140 on Linux", from a User-Agent header; an unknown header is shortened. @param {string} agent */
export function describeBrowser(agent) {
  for (const [pattern, name] of BROWSERS) {
    const version = pattern.exec(agent)?.[1];
    if (!version) continue;
    const system = SYSTEMS.find(([one]) => one.test(agent));
    return `${name} ${version}${system ? ` on ${system[1]}` : ""}`;
  }
  return (agent || "Unknown browser").slice(0, 60);
}

/**
 * Sort sessions: the current one first, then the newest.
 *
 * @template {{id: string, createdAt: string}} T
 * @param {T[]} items
 * @param {string} current
 */
export function sortSessions(items, current) {
  const rank = (/** @type {T} */ one) => Number(one.id === current);
  return [...items].sort((a, b) => rank(b) - rank(a) || (a.createdAt < b.createdAt ? 1 : -1));
}
