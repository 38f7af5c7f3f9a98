// @ts-check
// The result of a command: a list as a table, text as text, anything else as JSON.

import { shorten } from "../lib/format.js";
import { ProgramText } from "./program-text.js";
import { Code, CopyButton, html, SafeText, Table, useState } from "./ui.js";

const MAX_COLUMNS = 8;
const MAX_ROWS = 200;

/** @param {{result: any, label?: string}} props */
export function Result({ result, label = "Result" }) {
  if (result === null || result === undefined) return html`<p class="quiet">No result.</p>`;
  if (typeof result === "string") return html`<${Code} label=${label}>${result}</${Code}>`;
  const items = Array.isArray(result) ? result : result.items;
  if (!Array.isArray(items)) return html`<${ResultObject} result=${result} label=${label} />`;
  const rest = Array.isArray(result)
    ? {}
    : Object.fromEntries(Object.entries(result).filter(([key, value]) => key !== "items" && value !== null));
  return html`<${ResultList} items=${items} label=${label} />${Object.keys(rest).length > 0 &&
  html`<${ResultObject} result=${rest} label="Other fields" />`}`;
}

/** @param {{items: any[], label: string}} props */
function ResultList({ items, label }) {
  const [all, setAll] = useState(false);
  if (!items.length) return html`<p class="quiet">No items.</p>`;
  if (!items.every((one) => one !== null && typeof one === "object" && !Array.isArray(one)))
    return html`<ol class="result-list">
      ${items.slice(0, MAX_ROWS).map((one, at) => html`<li key=${at}><${ResultValue} of=${one} /></li>`)}
    </ol>`;
  const names = [...new Set(items.flatMap((one) => Object.keys(one)))];
  const columns = (all ? names : names.slice(0, MAX_COLUMNS)).map((key) => ({
    key,
    title: key,
    render: (row) => html`<${ResultValue} of=${row[key]} />`,
  }));
  const rows = items.slice(0, MAX_ROWS).map((one, at) => ({ at, ...one }));
  return html`<${Table} caption=${label} columns=${columns} rows=${rows} keyOf=${(row) => rows.indexOf(row)} />
    <p class="quiet">
      ${items.length > rows.length ? `First ${rows.length} of ` : ""}${items.length} ${items.length === 1 ? "item" : "items"}.
      ${!all &&
      names.length > MAX_COLUMNS &&
      html` <button type="button" class="button quiet small" onClick=${() => setAll(true)}>Show all ${names.length} columns</button>`}
      ${" "}<${CopyButton} text=${JSON.stringify(items, null, 2)} label="Copy as JSON" />
    </p>`;
}

/** @param {{result: Record<string, any>, label: string}} props */
function ResultObject({ result, label }) {
  const isLong = (/** @type {any} */ one) => typeof one === "string" && one.includes("\n");
  if (!Object.values(result).some(isLong)) return html`<${Code} value=${result} label=${label} />`;
  return html`<dl class="result-facts">
    ${Object.entries(result).map(
      ([key, one]) => html`<div key=${key}>
        <dt><${SafeText} text=${key} /></dt>
        <dd>${isLong(one) ? html`<${LongText} name=${key} text=${one} />` : html`<${ResultValue} of=${one} />`}</dd>
      </div>`,
    )}
  </dl>`;
}

/** A field of several lines. Those of programs have colours. @param {{name: string, text: string}} props */
function LongText({ name, text }) {
  if (name !== "stdout" && name !== "stderr") return html`<${Code} label=${name}>${text}</${Code}>`;
  return html`<pre class="code wrap" tabindex="0" role="group" aria-label=${name}><code><${ProgramText} text=${text} /></code></pre>`;
}

/** @param {{of: any}} props */
function ResultValue({ of }) {
  if (of === null || of === undefined || of === "") return html`<span class="quiet">–</span>`;
  if (typeof of === "string") return html`<${SafeText} text=${shorten(of, 400)} lines />`;
  if (typeof of === "boolean") return of ? "yes" : "no";
  if (typeof of === "number") return String(of);
  return html`<code><${SafeText} text=${shorten(JSON.stringify(of), 300)} /></code>`;
}
