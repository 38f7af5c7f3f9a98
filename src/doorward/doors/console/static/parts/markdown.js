// @ts-check
// The markup of messages as nodes: bold, italic, code, links, lists, tables, headings and quotes. Everything else stays
// text. A link leads to http or https only, and shows where it leads.

import { parseInline } from "../lib/markup.js";
import { isListItem, parseList, parseTable } from "../lib/markup-blocks.js";
import { html, SafeText } from "./ui.js";

const FENCE = /^\s{0,3}(`{3,}|~{3,})(.*)$/;
const LANGUAGE = /^[\w+.#-]*$/;
const HEADING = /^\s{0,3}(#{1,6})\s+(.*)$/;
const QUOTE = /^\s{0,3}>\s?(.*)$/;
const MAX_DEPTH = 6;
const MAX_LENGTH = 10_000;

/** @typedef {Set<string> | undefined} Mentions */

/**
 * A text with its markup. `mentions` are the member ids to highlight. A very long text is shown without markup.
 *
 * @param {{text: string, mentions?: Set<string>}} props
 */
export function Markdown({ text, mentions }) {
  const whole = String(text ?? "");
  if (whole.length > MAX_LENGTH) return html`<div class="marked long"><${SafeText} text=${whole} lines /></div>`;
  return html`<div class="marked">${renderBlocks(whole.split(/\r\n|\n|\r/), mentions)}</div>`;
}

/** @param {string[]} lines @param {Mentions} mentions */
function renderBlocks(lines, mentions) {
  /** @type {object[]} */
  const blocks = [];
  /** @type {string[]} */
  let plain = [];
  const flush = () => {
    if (plain.length) blocks.push(html`<p>${renderLines(plain, mentions)}</p>`);
    plain = [];
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    const language = fence?.[2].trim() ?? "";
    if (fence && LANGUAGE.test(language)) {
      flush();
      const body = [];
      const end = new RegExp(`^\\s{0,3}${fence[1][0]}{${fence[1].length},}\\s*$`);
      for (at += 1; at < lines.length && !end.test(lines[at]); at += 1) body.push(lines[at]);
      const label = language ? `Code, ${language}` : "Code";
      blocks.push(html`<pre class="code wrap" tabindex="0" role="group" aria-label=${label}><code><${SafeText} text=${body.join("\n")} lines /></code></pre>`);
      continue;
    }
    const heading = HEADING.exec(line);
    const found = parseTable(lines, at);
    if (found) {
      flush();
      blocks.push(renderTable(found.table, mentions));
      at = found.next - 1;
    } else if (heading) {
      flush();
      blocks.push(html`<p class="heading">${renderInline(heading[2].trim(), mentions)}</p>`);
    } else if (isListItem(line)) {
      flush();
      const { list, next } = parseList(lines, at);
      blocks.push(renderList(list, mentions));
      at = next - 1;
    } else if (QUOTE.test(line)) {
      flush();
      const body = [];
      for (; at < lines.length && QUOTE.test(lines[at]); at += 1) body.push(QUOTE.exec(lines[at])?.[1] ?? "");
      at -= 1;
      blocks.push(html`<blockquote>${renderLines(body, mentions)}</blockquote>`);
    } else if (!line.trim()) flush();
    else plain.push(line);
  }
  flush();
  return blocks;
}

/** @param {import("../lib/markup-blocks.js").MarkupList} list @param {Mentions} mentions @returns {object} */
function renderList(list, mentions) {
  const items = list.items.map(
    (one) => html`<li>${renderLines(one.lines, mentions)}${one.lists.map((inner) => renderList(inner, mentions))}</li>`,
  );
  return list.ordered ? html`<ol start=${list.start}>${items}</ol>` : html`<ul>${items}</ul>`;
}

/** A table, which scrolls by itself where it is too wide. @param {import("../lib/markup-blocks.js").MarkupTable} table @param {Mentions} mentions */
function renderTable({ align, head, rows }, mentions) {
  return html`<div class="marked-table" tabindex="0" role="group" aria-label="Table"><table>
    <thead><tr>${head.map((one, at) => html`<th scope="col" class=${align[at]}>${renderInline(one, mentions)}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((one, at) => html`<td class=${align[at]}>${renderInline(one, mentions)}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

/** @param {string[]} lines @param {Mentions} mentions */
function renderLines(lines, mentions) {
  return lines.flatMap((line, index) => [...(index ? [html`<br />`] : []), renderInline(line, mentions)]);
}

/** @param {string} text @param {Mentions} mentions @returns {any} */
function renderInline(text, mentions, depth = 0) {
  if (depth > MAX_DEPTH) return html`<${SafeText} text=${text} />`;
  return parseInline(text).map((one) => {
    if (typeof one === "string") return renderMentions(one, mentions);
    if (one.code !== undefined) return html`<code><${SafeText} text=${one.code} /></code>`;
    if (one.bold !== undefined) return html`<strong>${renderInline(one.bold, mentions, depth + 1)}</strong>`;
    if (one.italic !== undefined) return html`<em>${renderInline(one.italic, mentions, depth + 1)}</em>`;
    return renderLink(one.link ?? "", one.label ?? "");
  });
}

/** @param {string} target @param {string} label */
function renderLink(target, label) {
  let url;
  try {
    url = new URL(target);
  } catch {
    return html`<${SafeText} text=${label ? `[${label}](${target})` : target} />`;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return html`<${SafeText} text=${target} />`;
  const shown =
    label && label !== target
      ? html`<${SafeText} text=${label} /> <span class="target">(<${SafeText} text=${url.href} />)</span>`
      : html`<${SafeText} text=${url.href} />`;
  return html`<a href=${url.href} target="_blank" rel="noopener noreferrer nofollow">${shown}</a>`;
}

/** @param {string} text @param {Mentions} mentions */
function renderMentions(text, mentions) {
  if (!mentions?.size || !text.includes("@")) return html`<${SafeText} text=${text} />`;
  return text.split(/(@[\w.-]+)/).map((one) => {
    const id = one.startsWith("@") ? one.slice(1).replace(/[.-]+$/, "") : "";
    if (!id || !mentions.has(id)) return html`<${SafeText} text=${one} />`;
    return html`<span class="mention">@${id}</span>${one.slice(1 + id.length)}`;
  });
}
