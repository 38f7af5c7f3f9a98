// The few marks that people and models write, as nodes: bold, italic, code, links, lists, headings and quotes. What is
// no such mark stays text. A link leads to http or https only, and shows where it leads.

import { html, Visible } from "./ui.js";

const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*([\w+.#-]*)\s*$/;
const BULLET = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const HEADING = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const QUOTE = /^\s{0,3}>\s?(.*)$/;
const INLINE =
  /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\*\*(?=\S)([\s\S]*?\S)\*\*|(?<![\w*])\*(?=[^\s*])([^*\n]*?[^\s*])\*(?![\w*])|(?<![\w_])_(?=[^\s_])([^_\n]*?[^\s_])_(?![\w_])|\[([^\]\n]{1,500})\]\((https?:\/\/[^\s()<>]{1,2000})\)|(https?:\/\/[^\s<>"'`]{1,2000})/g;
const DEEPEST = 6;

/** A text with its marks. `mentions` are ids that stand out behind an @. */
export function Marked({ text, mentions }) {
  return html`<div class="marked">${blocks(String(text ?? "").split(/\r\n|\n|\r/), mentions)}</div>`;
}

function blocks(lines, mentions) {
  const out = [];
  let plain = [];
  const flush = () => {
    if (plain.length) out.push(html`<p>${joined(plain, mentions)}</p>`);
    plain = [];
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    if (fence) {
      flush();
      const body = [];
      const end = new RegExp(`^\\s{0,3}${fence[1][0]}{${fence[1].length},}\\s*$`);
      for (at += 1; at < lines.length && !end.test(lines[at]); at += 1) body.push(lines[at]);
      const label = fence[2] ? `Code, ${fence[2]}` : "Code";
      out.push(html`<pre class="code wrap" tabindex="0" role="group" aria-label=${label}><code><${Visible} text=${body.join("\n")} lines /></code></pre>`);
      continue;
    }
    const heading = HEADING.exec(line);
    if (heading) {
      flush();
      out.push(html`<p class="heading">${inline(heading[2], mentions)}</p>`);
    } else if (BULLET.test(line)) {
      flush();
      const items = [];
      let numbered = null;
      for (; at < lines.length; at += 1) {
        const item = BULLET.exec(lines[at]);
        if (!item) break;
        numbered ??= item[2] ? Number(item[2]) : 0;
        items.push(html`<li class=${item[1].length >= 2 ? "deeper" : ""}>${inline(item[3], mentions)}</li>`);
      }
      at -= 1;
      out.push(numbered ? html`<ol start=${numbered}>${items}</ol>` : html`<ul>${items}</ul>`);
    } else if (QUOTE.test(line)) {
      flush();
      const body = [];
      for (; at < lines.length && QUOTE.test(lines[at]); at += 1) body.push(QUOTE.exec(lines[at])[1]);
      at -= 1;
      out.push(html`<blockquote>${joined(body, mentions)}</blockquote>`);
    } else if (!line.trim()) flush();
    else plain.push(line);
  }
  flush();
  return out;
}

function joined(lines, mentions) {
  const out = [];
  lines.forEach((line, index) => {
    if (index) out.push(html`<br />`);
    out.push(inline(line, mentions));
  });
  return out;
}

function inline(text, mentions, depth = 0) {
  if (depth > DEEPEST) return html`<${Visible} text=${text} />`;
  const out = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, , code, bold, star, low, label, target, bare] = match;
    if (match.index > from) out.push(words(text.slice(from, match.index), mentions));
    from = match.index + whole.length;
    if (code !== undefined) out.push(html`<code><${Visible} text=${code} /></code>`);
    else if (bold !== undefined) out.push(html`<strong>${inline(bold, mentions, depth + 1)}</strong>`);
    else if (star !== undefined || low !== undefined) out.push(html`<em>${inline(star ?? low, mentions, depth + 1)}</em>`);
    else if (target !== undefined) out.push(link(target, label));
    else {
      const trailing = /[.,;:!?)\]]+$/.exec(bare)?.[0] ?? "";
      out.push(link(bare.slice(0, bare.length - trailing.length)), trailing);
    }
  }
  if (from < text.length) out.push(words(text.slice(from), mentions));
  return out;
}

function link(target, label) {
  let url;
  try {
    url = new URL(target);
  } catch {
    return html`<${Visible} text=${label ? `[${label}](${target})` : target} />`;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return html`<${Visible} text=${target} />`;
  const shown = label && label !== target ? html`<${Visible} text=${label} /> <span class="target">(<${Visible} text=${url.href} />)</span>` : html`<${Visible} text=${url.href} />`;
  return html`<a href=${url.href} target="_blank" rel="noopener noreferrer nofollow">${shown}</a>`;
}

function words(text, mentions) {
  if (!mentions?.size || !text.includes("@")) return html`<${Visible} text=${text} />`;
  return text.split(/(@[\w.-]+)/).map((one) => {
    const id = one.startsWith("@") ? one.slice(1).replace(/[.-]+$/, "") : "";
    if (!id || !mentions.has(id)) return html`<${Visible} text=${one} />`;
    return html`<span class="mention">@${id}</span>${one.slice(1 + id.length)}`;
  });
}
