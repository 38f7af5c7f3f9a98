// What came of a call, as people read it. Models are told the same in words of their own, which count and list.

const FOUND = /^Found (\d+) items:/;
const MATCHED = /\n\(\{"matched":(\d+)\}\)$/;

/** The summary on a card: one item is no items, and of nothing there is nothing to list. */
export function plainly(summary) {
  const count = Number(FOUND.exec(summary)?.[1] ?? -1);
  if (count < 0) return summary;
  const matched = Number(MATCHED.exec(summary)?.[1] ?? count);
  const listed = summary.replace(MATCHED, matched > count ? `\n${matched} match in all.` : "");
  if (count === 0 && !listed.includes("\n")) return "Found nothing.";
  return count === 1 ? listed.replace(FOUND, "Found 1 item:") : listed;
}
