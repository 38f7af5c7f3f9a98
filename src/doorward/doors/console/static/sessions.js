// Sessions of browsers, as people tell them apart.

const BROWSERS = [
  [/Edg(?:e|A|iOS)?\/(\d+)/, "Edge"],
  [/OPR\/(\d+)/, "Opera"],
  [/(?:Firefox|FxiOS)\/(\d+)/, "Firefox"],
  [/HeadlessChrome\/(\d+)/, "Chrome without a window"],
  [/(?:Chrome|CriOS|Chromium)\/(\d+)/, "Chrome"],
  [/Version\/(\d+).*Safari\//, "Safari"],
];
const SYSTEMS = [
  [/Android/, "Android"],
  [/iPhone|iPad|iPod/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS X|Macintosh/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux|X11/, "Linux"],
];

/** "Firefox 140 on Linux", of what a browser says of itself; its own words where they say nothing of this kind. */
export function browserName(agent) {
  const [pattern, name] = BROWSERS.find(([one]) => one.test(agent)) ?? [];
  if (!name) return (agent || "an unknown browser").slice(0, 60);
  const system = SYSTEMS.find(([one]) => one.test(agent));
  return `${name} ${pattern.exec(agent)[1]}${system ? ` on ${system[1]}` : ""}`;
}

/** This session first, then the newest. */
export function sorted(items, mine) {
  return [...items].sort((a, b) => (b.id === mine) - (a.id === mine) || (a.createdAt < b.createdAt ? 1 : -1));
}
