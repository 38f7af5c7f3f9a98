// @ts-check
// Buttons and labelled form fields.

import { html, useState } from "../vendor/preact.js";

/** `kind` is primary, danger, quiet or plain. A `busy` button ignores clicks but keeps the focus. */
export function Button({ kind = "", busy = false, children, buttonRef, type = "button", disabled, onClick, ...rest }) {
  return html`<button
    type=${type}
    class=${`button ${kind}`}
    disabled=${disabled}
    aria-disabled=${busy ? "true" : undefined}
    aria-busy=${busy ? "true" : undefined}
    ref=${buttonRef}
    onClick=${busy ? (event) => event.preventDefault() : onClick}
    ...${rest}
  >
    ${children}
  </button>`;
}

let fields = 0;

/** A label with its control: an input with the other properties, a select with `options`, or `children(id, describedBy)`. */
export function Field({ label, hint, error, children, type = "text", options, rows, inputRef, quietLabel, ...input }) {
  const [id] = useState(() => `field-${++fields}`);
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ") || undefined;
  const shared = { id, "aria-describedby": described, "aria-invalid": error ? "true" : undefined, ...input };
  let control;
  if (typeof children === "function") control = children(id, described);
  else if (options)
    control = html`<select ...${shared} ref=${inputRef}>
      ${options.map((one) => {
        const [value, text] = Array.isArray(one) ? one : [one, one];
        return html`<option value=${value} selected=${String(value) === String(input.value)}>${text}</option>`;
      })}
    </select>`;
  else if (type === "textarea") control = html`<textarea rows=${rows ?? 4} ...${shared} ref=${inputRef}></textarea>`;
  else control = html`<input type=${type} ...${shared} ref=${inputRef} />`;
  return html`<div class=${`field ${type === "checkbox" ? "check" : ""}`}>
    <label for=${id} class=${quietLabel ? "unseen" : ""}>${label}</label>
    ${control}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${error && html`<p class="field-error" id=${`${id}-error`}>${error}</p>`}
  </div>`;
}
