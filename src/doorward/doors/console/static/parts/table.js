// @ts-check
// A table whose rows can be opened.

import { html, useRef, useState } from "../vendor/preact.js";
import { SafeText } from "./text.js";

/**
 * Rows of data. With `onOpen`, rows open on click and on Enter, and arrow keys move between them.
 *
 * @param {{
 *   columns: Column[], rows: any[], keyOf?: (row: any) => any, onOpen?: (row: any) => void, caption?: string, empty?: any
 * }} props
 */
export function Table({ columns, rows, keyOf = (row) => row.id, onOpen, caption, empty }) {
  /** @type {import("../vendor/preact.js").Ref<HTMLTableSectionElement>} */
  const body = useRef(null);
  const [current, setCurrent] = useState(0);
  if (!rows.length) return empty ?? html`<div class="empty"><p class="empty-title">Nothing here yet</p></div>`;
  const focusRow = (/** @type {number} */ index) => /** @type {HTMLElement} */ (body.current.children[index])?.focus();
  const onRowKey = (event, /** @type {number} */ index) => {
    const to = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to !== undefined && !event.target.closest("input, select, textarea")) {
      event.preventDefault();
      const next = Math.max(0, Math.min(rows.length - 1, to));
      setCurrent(next);
      focusRow(next);
    } else if (event.key === "Enter" && onOpen && event.target === event.currentTarget) {
      onOpen(rows[index]);
    }
  };
  const onRowClick = (event, row) => {
    const control = event.target.closest("a, button, input, select, summary");
    if (onOpen && !control && !getSelection()?.toString()) onOpen(row);
  };
  const rowProps = (/** @type {number} */ index) =>
    onOpen
      ? {
          tabindex: index === Math.min(current, rows.length - 1) ? 0 : -1,
          onKeyDown: (event) => onRowKey(event, index),
          onClick: (event) => onRowClick(event, rows[index]),
          onFocus: () => setCurrent(index),
          class: "opens",
        }
      : {};
  const onTableKey = (event) => {
    if (!onOpen || event.target !== event.currentTarget || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
    event.preventDefault();
    focusRow(Math.min(current, rows.length - 1));
  };
  return html`<div class="table-wrap" role="region" aria-label=${caption ?? "Table"} tabindex="0" onKeyDown=${onTableKey}>
    <table>
      ${caption && html`<caption class="unseen">${caption}</caption>`}
      <thead>
        <tr>
          ${columns.map((one) => html`<th scope="col" class=${one.class ?? ""} key=${one.key}>${one.title}</th>`)}
        </tr>
      </thead>
      <tbody ref=${body}>
        ${rows.map(
          (row, index) =>
            html`<tr key=${keyOf(row)} ...${rowProps(index)}>
              ${columns.map(
                (one) =>
                  html`<td class=${one.class ?? ""} data-title=${one.title} key=${one.key}>
                    <div>${one.render ? one.render(row) : html`<${SafeText} text=${row[one.key] ?? ""} />`}</div>
                  </td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
