// What a command gave: a list as a table, a text as text, and anything else as JSON.

import { Code, Copy, html, Table, useState, Visible } from "./ui.js";

const MOST_COLUMNS = 8;
const MOST_ROWS = 200;

export function Result({ result, label = "Result" }) {
  if (result === null || result === undefined) return html`<p class="quiet">It gave nothing back.</p>`;
  if (typeof result === "string") return html`<${Code} label=${label}>${result}</${Code}>`;
  const items = Array.isArray(result) ? result : result.items;
  if (!Array.isArray(items)) return html`<${Facts} result=${result} label=${label} />`;
  const beside = Array.isArray(result) ? {}
    : Object.fromEntries(Object.entries(result).filter(([key, value]) => key !== "items" && value !== null));
  return html`<${List} items=${items} label=${label} />${Object.keys(beside).length > 0 &&
    html`<${Facts} result=${beside} label="Beside the list" />`}`;
}

function List({ items, label }) {
  const [whole, setWhole] = useState(false);
  if (!items.length) return html`<p class="quiet">The list is empty.</p>`;
  const plain = (one) => one !== null && typeof one === "object" && !Array.isArray(one);
  if (!items.every(plain))
    return html`<ol class="result-list">${items.slice(0, MOST_ROWS).map((one, at) => html`<li key=${at}><${Value}
      of=${one} /></li>`)}</ol>`;
  const names = [...new Set(items.flatMap((one) => Object.keys(one)))];
  const columns = (whole ? names : names.slice(0, MOST_COLUMNS)).map((key) => ({ key, title: key,
    render: (row) => html`<${Value} of=${row[key]} />` }));
  const rows = items.slice(0, MOST_ROWS).map((one, at) => ({ at, ...one }));
  return html`<${Table} caption=${label} columns=${columns} rows=${rows} keyOf=${(row) => rows.indexOf(row)} />
    <p class="quiet">
      ${items.length} ${items.length === 1 ? "item" : "items"}${items.length > rows.length
        ? `, of which ${rows.length} are shown` : ""}.
      ${!whole && names.length > MOST_COLUMNS && html` <button type="button" class="button quiet small"
        onClick=${() => setWhole(true)}>Show all ${names.length} columns</button>`}
      ${" "}<${Copy} text=${JSON.stringify(items, null, 2)} label="Copy as JSON" />
    </p>`;
}

function Facts({ result, label }) {
  const long = Object.values(result).filter((one) => typeof one === "string" && one.includes("\n"));
  if (!long.length) return html`<${Code} value=${result} label=${label} />`;
  return html`<dl class="result-facts">
    ${Object.entries(result).map(([key, one]) => html`<div key=${key}><dt><${Visible} text=${key}
      /></dt><dd>${typeof one === "string" && one.includes("\n") ? html`<${Code} label=${key}>${one}</${Code}>`
        : html`<${Value} of=${one} />`}</dd></div>`)}
  </dl>`;
}

function Value({ of }) {
  if (of === null || of === undefined || of === "") return html`<span class="quiet">–</span>`;
  if (typeof of === "string") return html`<${Visible} text=${of.length > 400 ? `${of.slice(0, 400)}…` : of} lines />`;
  if (typeof of === "boolean") return of ? "yes" : "no";
  if (typeof of === "number") return String(of);
  const text = JSON.stringify(of);
  return html`<code><${Visible} text=${text.length > 300 ? `${text.slice(0, 300)}…` : text} /></code>`;
}
