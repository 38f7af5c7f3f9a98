// @ts-check
// Parsing of lists and tables in messages. Anyone can write to everyone's page, so every line is read once and nothing
// grows beyond the text.

const ITEM = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const TAB = 4;
const NESTING = 2; // how much further an item of an inner list is indented
const MAX_DEPTH = 6;

/**
 * @typedef {{lines: string[], lists: MarkupList[]}} MarkupItem
 * @typedef {{ordered: boolean, start: number, items: MarkupItem[]}} MarkupList
 * @typedef {"" | "left" | "center" | "right"} Alignment
 * @typedef {{align: Alignment[], head: string[], rows: string[][]}} MarkupTable
 */

const indentOf = (/** @type {string} */ blank) => blank.replaceAll("\t", " ".repeat(TAB)).length;

export const isListItem = (/** @type {string} */ line) => ITEM.test(line);

/**
 * Parse the list that starts at a line. An item further in starts a list inside the item before it, and an indented line
 * continues its item. Returns the list and the number of the line after it.
 *
 * @param {string[]} lines
 * @param {number} at
 * @returns {{list: MarkupList, next: number}}
 */
export function parseList(lines, at) {
  /** The open lists, outermost first. @type {{indent: number, list: MarkupList}[]} */
  const open = [];
  /** @type {MarkupItem | undefined} */
  let item;
  let next = at;
  for (let now = at; now < lines.length; now += 1) {
    const found = ITEM.exec(lines[now]);
    if (!found) {
      if (!lines[now].trim()) continue; // the list may go on after a blank line
      if (!item || now > next || !/^\s{2,}/.test(lines[now])) break;
      item.lines.push(lines[now].trim());
      next = now + 1;
      continue;
    }
    const indent = indentOf(found[1]);
    const ordered = found[2] !== undefined;
    while (open.length > 1 && indent < open[open.length - 1].indent) open.pop();
    const level = open.at(-1);
    const inner = item && level && indent >= level.indent + NESTING && open.length < MAX_DEPTH;
    if (inner || !level || level.list.ordered !== ordered) {
      if (level && !inner && open.length === 1) break; // another kind of list begins
      if (level && !inner) open.pop();
      const list = { ordered, start: Number(found[2] ?? 0), items: [] };
      open.at(-1)?.list.items.at(-1)?.lists.push(list);
      open.push({ indent, list });
    }
    item = { lines: [found[3]], lists: [] };
    open[open.length - 1].list.items.push(item);
    next = now + 1;
  }
  return { list: open[0].list, next };
}

/**
 * Parse the table that starts at a line: a row of titles, a row of dashes with as many cells, and rows. Returns null when
 * there is none.
 *
 * @param {string[]} lines
 * @param {number} at
 * @returns {{table: MarkupTable, next: number} | null}
 */
export function parseTable(lines, at) {
  if (!lines[at].includes("|") || !/^[\s|:-]+$/.test(lines[at + 1] ?? "")) return null;
  const head = splitRow(lines[at]);
  const marks = splitRow(lines[at + 1]);
  if (head.length !== marks.length || !marks.every((one) => /^:?-+:?$/.test(one))) return null;
  const rows = [];
  let next = at + 2;
  for (; next < lines.length && lines[next].includes("|"); next += 1) rows.push(splitRow(lines[next]).slice(0, head.length));
  return { table: { align: marks.map(readAlignment), head, rows }, next };
}

/** @param {string} mark @returns {Alignment} */
function readAlignment(mark) {
  if (mark.endsWith(":")) return mark.startsWith(":") ? "center" : "right";
  return mark.startsWith(":") ? "left" : "";
}

/** Split a row at its bars. A bar after a backslash belongs to its cell. @param {string} line */
function splitRow(line) {
  const row = line.trim();
  const cells = [];
  let cell = "";
  for (let at = row.startsWith("|") ? 1 : 0; at < row.length; at += 1) {
    if (row[at] === "\\" && row[at + 1] === "|") {
      cell += "|";
      at += 1;
    } else if (row[at] === "|") {
      cells.push(cell.trim());
      cell = "";
    } else cell += row[at];
  }
  if (cell.trim() || !row.endsWith("|")) cells.push(cell.trim());
  return cells;
}
