// @ts-check
// A form generated from a JSON Schema. A field that a form cannot show is edited as JSON, and so can the whole form be.

import { readForm, readJson } from "../lib/form-values.js";
import { createDraft, describeValue, fieldKindAt, listAlternatives, MISSING, resolveSchema } from "../lib/schema.js";
import { Button, html, Prose, SafeText, useState } from "./ui.js";

/**
 * The state of a form. `read()` returns the value, or null and sets `problems`.
 *
 * @param {Schema} schema
 * @param {string[]} [secret] names of secret parameters
 */
export function useForm(schema, secret = []) {
  const create = (/** @type {any} */ value) => createDraft(schema, schema, "", secret, value ?? {});
  const [draft, setDraft] = useState(() => create(undefined));
  const [json, setJson] = useState(/** @type {string | null} */ (null));
  const [problems, setProblems] = useState(/** @type {Record<string, string>} */ ({}));
  const readText = (/** @type {string} */ text) => {
    let wrong = "";
    const value = readJson({ type: "object" }, text.trim() || "{}", (sentence) => {
      wrong = sentence;
      return MISSING;
    });
    /** @type {Record<string, string>} */
    const problems = wrong ? { "": wrong } : {};
    return { value: wrong ? null : value, problems };
  };
  const readValue = () => (json !== null ? readText(json) : readForm(schema, draft, schema, secret));
  return {
    schema,
    secret,
    draft,
    json,
    problems,
    set: (next) => {
      setDraft(next);
      if (Object.keys(problems).length) setProblems(readForm(schema, next, schema, secret).problems);
    },
    setJson,
    fill: (value) => {
      setDraft(create(value));
      if (json !== null) setJson(JSON.stringify(value, null, 2));
      setProblems({});
    },
    /** The current value, without invalid fields. */
    peek: () => readValue().value ?? {},
    read: () => {
      const { value, problems: wrong } = readValue();
      setProblems(wrong);
      return Object.keys(wrong).length ? null : value;
    },
    /** Switch between the form and JSON. */
    toggleJson: () => {
      if (json === null) {
        setJson(JSON.stringify(readForm(schema, draft, schema, secret).value, null, 2));
        setProblems({});
        return;
      }
      const { value, problems: wrong } = readText(json);
      setProblems(wrong);
      if (value) {
        setDraft(create(value));
        setJson(null);
      }
    },
  };
}

/** @typedef {ReturnType<typeof useForm>} Form */

/** @param {{form: Form, id?: string}} props */
export function SchemaForm({ form, id = "form" }) {
  const { schema, draft, json, problems } = form;
  const names = Object.keys(resolveSchema(schema, schema).properties ?? {});
  if (json !== null)
    return html`<div class="schema-form">
      <div class="field">
        <label for=${`${id}-json`}>Parameters as JSON</label>
        <textarea id=${`${id}-json`} class="mono" rows="10" spellcheck=${false} value=${json}
          onInput=${(event) => form.setJson(event.target.value)}
          aria-invalid=${problems[""] ? "true" : undefined} aria-describedby=${problems[""] ? `${id}-json-error`
            : undefined}></textarea>
        ${problems[""] && html`<p class="field-error" id=${`${id}-json-error`}>${problems[""]}</p>`}
      </div>
      <${Button} kind="quiet small" onClick=${form.toggleJson}>Edit as form</${Button}>
    </div>`;
  return html`<div class="schema-form">
    ${names.length ? html`<${Fields} of=${{ form, root: schema, id }} schema=${resolveSchema(schema, schema)} draft=${draft}
      set=${form.set} path="" depth=${0} />` : html`<p class="quiet">No parameters.</p>`}
    ${names.length > 0 && html`<${Button} kind="quiet small" onClick=${form.toggleJson}>Edit as JSON</${Button}>`}
  </div>`;
}

function Fields({ of, schema, draft, set, path, depth }) {
  const required = schema.required ?? [];
  const all = Object.entries(schema.properties ?? {});
  const ordered = [...all.filter(([name]) => required.includes(name)),
    ...all.filter(([name]) => !required.includes(name))];
  return ordered.map(
    ([name, inner]) => html`<${FormField} key=${name} of=${of} schema=${inner} name=${name} label=${name}
      draft=${draft.fields[name]}
      set=${(next) => set({ ...draft, open: true, fields: { ...draft.fields, [name]: next } })}
      path=${path ? `${path}.${name}` : name} required=${required.includes(name)} depth=${depth + 1} />`,
  );
}

function FormField({ of, schema, name, label, draft, set, path, required, depth }) {
  const { root, form, id } = of;
  const { schema: common, alternatives: all, nullable } = listAlternatives(schema, root);
  const one = { ...all[0], ...common };
  const kind = fieldKindAt(schema, root, name, form.secret, depth);
  const field = `${id}-${path}`;
  const error = form.problems[path];
  const hints = [one.description && endSentence(one.description), form.secret.includes(name) && "Not recorded.",
    describeLimits(one, kind, required)].filter(Boolean);
  const described = [hints.length && `${field}-hint`, error && `${field}-error`].filter(Boolean).join(" ") || undefined;
  const shared = { id: field, "aria-describedby": described, "aria-invalid": error ? "true" : undefined,
    "aria-required": required ? "true" : undefined };
  const inside = { of, schema, one, all, name, draft, set, path, required, nullable, depth, shared, field };
  const grouped = ["list", "map", "object", "either"].includes(kind);
  const title = html`<${SafeText} text=${label} />${required && html`<span class="needed"> required</span>`}`;
  const rest = html`${hints.length > 0 && html`<p class="hint" id=${`${field}-hint`}><${Prose} text=${hints.join(" ")}
    inline /></p>`}
    ${error && html`<p class="field-error" id=${`${field}-error`}>${error}</p>`}`;
  if (grouped)
    return html`<fieldset class="field group" aria-describedby=${described}>
      <legend>${title}</legend>
      ${rest}
      <${Group} kind=${kind} ...${inside} />
    </fieldset>`;
  const check = kind === "boolean" && !nullable;
  return html`<div class=${`field ${check ? "check" : ""}`}>
    <label for=${field}>${title}</label>
    <${Control} kind=${kind} check=${check} ...${inside} />
    ${rest}
  </div>`;
}

const endSentence = (/** @type {string} */ text) => (/[.!?…)]$/.test(text) ? text : `${text}.`);

/** Whether a default is worth showing. */
const isNotable = (/** @type {any} */ value) => ![undefined, null, ""].includes(value) && !["[]", "{}"].includes(JSON.stringify(value));

/** Range, format and default of a field. @param {Schema} schema @param {string} kind @param {boolean} required */
function describeLimits(schema, kind, required) {
  const parts = [];
  if (kind === "integer" || kind === "number") {
    const [least, most] = [schema.minimum, schema.maximum];
    if (least !== undefined && most !== undefined) parts.push(`From ${least} to ${most}.`);
    else if (least !== undefined) parts.push(`At least ${least}.`);
    else if (most !== undefined) parts.push(`At most ${most}.`);
  }
  if (schema.format) parts.push(`Format: ${schema.format}.`);
  // Without a full stop, which would look like part of the value.
  if (!required && isNotable(schema.default) && kind !== "boolean") parts.push(`Default: \`${describeValue(schema.default)}\``);
  return parts.join(" ");
}

function Control({ kind, check, one, draft, set, required, nullable, shared }) {
  const typed = (event) => set(event.target.value);
  const plain = { ...shared, autocomplete: "off", spellcheck: false, autocapitalize: "none" };
  switch (kind) {
    case "const":
      return html`<p id=${shared.id}><code>${describeValue(one.const)}</code></p>`;
    case "boolean":
      return check
        ? html`<input type="checkbox" ...${shared} checked=${draft === "true"}
          onChange=${(event) => set(String(event.target.checked))} />`
        : html`<select ...${shared} value=${draft} onChange=${typed}>
            <option value="">${nullable && required ? "none" : "not set"}</option>
            <option value="true">yes</option>
            <option value="false">no</option>
          </select>`;
    case "choice":
      return html`<select ...${shared} value=${draft} onChange=${typed}>
        ${(draft === "" || !required) && html`<option value="">${required ? "Choose…" : "not set"}</option>`}
        ${one.enum.map((item, at) => html`<option value=${String(at)}>${describeValue(item)}</option>`)}
      </select>`;
    case "secret":
      return html`<input type="password" ...${shared} autocomplete="new-password" value=${draft} onInput=${typed} />`;
    case "lines":
      return html`<textarea ...${plain} class="mono" rows=${Math.min(16, Math.max(3, draft.split("\n").length + 1))}
        value=${draft} onInput=${typed}></textarea>`;
    case "json":
      return html`<textarea ...${plain} class="mono" rows=${Math.min(16, Math.max(2, draft.split("\n").length + 1))}
        value=${draft} onInput=${typed}
        placeholder=${one.type === "array" ? "[] (JSON)" : one.type === "object" ? "{} (JSON)"
          : "JSON"}></textarea>`;
    default:
      return html`<input type="text" ...${plain} inputmode=${kind === "integer" ? "numeric" : kind === "number"
        ? "decimal" : undefined} value=${draft} onInput=${typed} />`;
  }
}

function Group(props) {
  const { kind, of, one, all, name, draft, set, path, required, depth, field, schema } = props;
  const { root, form } = of;
  const fresh = (inner, key) => createDraft(inner, root, key, form.secret, MISSING, depth + 1);
  if (kind === "either") {
    const choose = (event) => {
      const chosen = Number(event.target.value);
      const drafts = [...draft.drafts];
      if (chosen >= 0) drafts[chosen] ??= fresh(all[chosen], name);
      set({ chosen, drafts });
    };
    return html`<select aria-label=${`Type of ${name}`} value=${String(draft.chosen)} onChange=${choose}>
        <option value="-1">${required ? "Choose…" : "not set"}</option>
        ${all.map((each, at) => html`<option value=${String(at)}>${describeAlternative(each, root)}</option>`)}
      </select>
      ${draft.chosen >= 0 &&
      html`<${FormField} of=${of} schema=${all[draft.chosen]} name=${name} label=${describeAlternative(all[draft.chosen], root)}
        draft=${draft.drafts[draft.chosen]}
        set=${(next) => set({ ...draft, drafts: draft.drafts.map((held, at) => (at === draft.chosen ? next : held)) })}
          path=${path} required=${true} depth=${depth + 1} />`}`;
  }
  if (kind === "object") {
    const held = draft.fields ? draft : createDraft(schema, root, name, form.secret, {}, depth);
    if (!required && !draft.open) return html`<${Button} kind="quiet small"
      onClick=${() => set({ ...held, open: true })}>Set ${name}</${Button}>`;
    return html`<${Fields} of=${of} schema=${one} draft=${held} set=${set} path=${path} depth=${depth} />
      ${!required && html`<${Button} kind="quiet small"
        onClick=${() => set({ ...held, open: false })}>Remove ${name}</${Button}>`}`;
  }
  const inner = kind === "list" ? one.items : one.additionalProperties;
  const without = (at) => set(draft.filter((_, index) => index !== at));
  const changed = (at, next) => set(draft.map((item, index) => (index === at ? next : item)));
  return html`<ol class="plain-list items">
      ${draft.map((item, at) =>
        kind === "list"
          ? html`<li key=${at}>
              <${FormField} of=${of} schema=${inner} name=${name} label=${`${at + 1}`} draft=${item}
                set=${(next) => changed(at, next)} path=${`${path}.${at}`} required=${true} depth=${depth + 1} />
              <${Button} kind="quiet small" aria-label=${`Remove item ${at + 1} of ${name}`}
                onClick=${() => without(at)}>Remove</${Button}>
            </li>`
          : html`<li key=${at}>
              <div class="field">
                <label for=${`${field}-${at}-key`}>Name</label>
                <input id=${`${field}-${at}-key`} type="text" autocomplete="off" spellcheck=${false} value=${item.key}
                  onInput=${(event) => changed(at, { ...item, key: event.target.value })} />
              </div>
              <${FormField} of=${of} schema=${inner} name="" label="Value" draft=${item.draft} set=${(next) => changed(at,
                { ...item, draft: next })} path=${`${path}.${at}`} required=${true} depth=${depth + 1} />
              <${Button} kind="quiet small" aria-label=${`Remove ${item.key || `item ${at + 1}`} of ${name}`}
                onClick=${() => without(at)}>Remove</${Button}>
            </li>`,
      )}
    </ol>
    <${Button} kind="quiet small" onClick=${() => set([...draft, kind === "list" ? fresh(inner, name) : { key: "",
      draft: fresh(inner, "") }])}>Add item</${Button}>`;
}

/** @type {Record<string, string>} */
const KINDS = {
  text: "text",
  lines: "text",
  secret: "secret",
  number: "number",
  integer: "whole number",
  boolean: "yes or no",
  choice: "choice",
  list: "list",
  object: "object",
  map: "names and values",
  json: "JSON",
};

/** @param {Schema} one @param {Schema} root */
function describeAlternative(one, root) {
  const kind = fieldKindAt(one, root, "", [], 0);
  return one.title ?? (kind === "const" ? describeValue(one.const) : (KINDS[kind] ?? kind));
}
