// The few marks that people and models write, as nodes: bold, italic, code, links, lists, headings and quotes. What is
// no such mark stays text. A link leads to http or https only, and shows where it leads.

import { marks } from "./marks.js";
import { html, Visible } from "./ui.js";

const FENCE = /^\s{0,3}(`{3,}|~{3,})(.*)$/;
const LANGUAGE = /^[\w+.#-]*$/;
const BULLET = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const HEADING = /^\s{0,3}(#{1,6})\s+(.*)$/;
const QUOTE = /^\s{0,3}>\s?(.*)$/;
const DEEPEST = 6;
const LONGEST = 10_000;

/** A text with its marks. `mentions` are ids that stand out behind an @. What is very long is shown as it is. */
export function Marked({ text, mentions }) {
  const whole = String(text ?? "");
  if (whole.length > LONGEST) return html`<div class="marked long"><${Visible} text=${whole} lines /></div>`;
  return html`<div class="marked">${blocks(whole.split(/\r\n|\n|\r/), mentions)}</div>`;
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
    const language = fence?.[2].trim();
    if (fence && LANGUAGE.test(language)) {
      flush();
      const body = [];
      const end = new RegExp(`^\\s{0,3}${fence[1][0]}{${fence[1].length},}\\s*$`);
      for (at += 1; at < lines.length && !end.test(lines[at]); at += 1) body.push(lines[at]);
      const label = language ? `Code, ${language}` : "Code";
      out.push(html`<pre class="code wrap" tabindex="0" role="group" aria-label=${label}><code><${Visible} text=${body.join("\n")} lines /></code></pre>`);
      continue;
    }
    const heading = HEADING.exec(line);
    if (heading) {
      flush();
      out.push(html`<p class="heading">${inline(heading[2].trim(), mentions)}</p>`);
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
  return marks(text).map((one) => {
    if (typeof one === "string") return words(one, mentions);
    if (one.code !== undefined) return html`<code><${Visible} text=${one.code} /></code>`;
    if (one.bold !== undefined) return html`<strong>${inline(one.bold, mentions, depth + 1)}</strong>`;
    if (one.soft !== undefined) return html`<em>${inline(one.soft, mentions, depth + 1)}</em>`;
    return link(one.link, one.label);
  });
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
