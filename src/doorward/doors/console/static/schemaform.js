// A form made from a JSON Schema. What a form cannot hold is written as JSON, and the whole can be, too.

import { readJson, valueOf } from "./reading.js";
import { draftOf, kindAt, MISSING, settled, ways, words } from "./schema.js";
import { Button, html, Prose, useState, Visible } from "./ui.js";

/** What a form holds: `{draft, set, json, problems, fill(params), read(), …}`; `read()` gives the value or null. */
export function useForm(schema, secret = []) {
  const begin = (value) => draftOf(schema, schema, "", secret, value ?? {});
  const [draft, setDraft] = useState(() => begin());
  const [json, setJson] = useState(null);
  const [problems, setProblems] = useState({});
  const fromJson = () => {
    let wrong = "";
    const value = readJson({ type: "object" }, json.trim() || "{}", (sentence) => {
      wrong = sentence;
      return MISSING;
    });
    return { value: wrong ? null : value, problems: wrong ? { "": wrong } : {} };
  };
  const found = () => (json !== null ? fromJson() : valueOf(schema, draft, schema, secret));
  return {
    schema,
    secret,
    draft,
    json,
    problems,
    set: (next) => {
      setDraft(next);
      if (Object.keys(problems).length) setProblems(valueOf(schema, next, schema, secret).problems);
    },
    setJson,
    fill: (value) => {
      setDraft(begin(value));
      if (json !== null) setJson(JSON.stringify(value, null, 2));
      setProblems({});
    },
    /** The value as it stands, for showing it elsewhere; what is wrong is left out. */
    peek: () => found().value ?? {},
    read: () => {
      const { value, problems: wrong } = found();
      setProblems(wrong);
      return Object.keys(wrong).length ? null : value;
    },
    turn: () => {
      if (json === null) {
        setJson(JSON.stringify(valueOf(schema, draft, schema, secret).value, null, 2));
        setProblems({});
        return;
      }
      const { value, problems: wrong } = fromJson();
      setProblems(wrong);
      if (value) {
        setDraft(begin(value));
        setJson(null);
      }
    },
  };
}

export function SchemaForm({ form, id = "form" }) {
  const { schema, draft, json, problems } = form;
  const names = Object.keys(settled(schema, schema).properties ?? {});
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
      <${Button} kind="quiet small" onClick=${form.turn}>Back to the form</${Button}>
    </div>`;
  return html`<div class="schema-form">
    ${names.length ? html`<${Fields} of=${{ form, root: schema, id }} schema=${settled(schema, schema)} draft=${draft}
      set=${form.set} path="" depth=${0} />` : html`<p class="quiet">It takes no parameters.</p>`}
    ${names.length > 0 && html`<${Button} kind="quiet small" onClick=${form.turn}>Write JSON instead</${Button}>`}
  </div>`;
}

function Fields({ of, schema, draft, set, path, depth }) {
  const required = schema.required ?? [];
  const all = Object.entries(schema.properties ?? {});
  const ordered = [...all.filter(([name]) => required.includes(name)),
    ...all.filter(([name]) => !required.includes(name))];
  return ordered.map(
    ([name, inner]) => html`<${One} key=${name} of=${of} schema=${inner} name=${name} label=${name}
      draft=${draft.fields[name]}
      set=${(next) => set({ ...draft, open: true, fields: { ...draft.fields, [name]: next } })}
      path=${path ? `${path}.${name}` : name} required=${required.includes(name)} depth=${depth + 1} />`,
  );
}

function One({ of, schema, name, label, draft, set, path, required, depth }) {
  const { root, form, id } = of;
  const { schema: beside, ways: all, nullable } = ways(schema, root);
  const one = { ...all[0], ...beside };
  const kind = kindAt(schema, root, name, form.secret, depth);
  const field = `${id}-${path}`;
  const error = form.problems[path];
  const told = [one.description && sentence(one.description), form.secret.includes(name) && "It is in no record.",
    note(one, kind, required)].filter(Boolean);
  const described = [told.length && `${field}-hint`, error && `${field}-error`].filter(Boolean).join(" ") || undefined;
  const shared = { id: field, "aria-describedby": described, "aria-invalid": error ? "true" : undefined,
    "aria-required": required ? "true" : undefined };
  const inside = { of, schema, one, all, name, draft, set, path, required, nullable, depth, shared, field };
  const grouped = ["list", "map", "object", "either"].includes(kind);
  const title = html`<${Visible} text=${label} />${required && html`<span class="needed"> needed</span>`}`;
  const rest = html`${told.length > 0 && html`<p class="hint" id=${`${field}-hint`}><${Prose} text=${told.join(" ")}
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

const sentence = (text) => (/[.!?…)]$/.test(text) ? text : `${text}.`);

/** Whether a default says more than that there is nothing. */
const tells = (value) => ![undefined, null, ""].includes(value) && !["[]", "{}"].includes(JSON.stringify(value));

function note(schema, kind, required) {
  const parts = [];
  if (kind === "integer" || kind === "number") {
    const [least, most] = [schema.minimum, schema.maximum];
    if (least !== undefined && most !== undefined) parts.push(`From ${least} to ${most}.`);
    else if (least !== undefined) parts.push(`At least ${least}.`);
    else if (most !== undefined) parts.push(`At most ${most}.`);
  }
  if (schema.format) parts.push(`Written as ${schema.format}.`);
  // No full stop behind it, which would look like a part of it.
  if (!required && tells(schema.default) && kind !== "boolean") parts.push(`By default: \`${words(schema.default)}\``);
  return parts.join(" ");
}

function Control({ kind, check, one, draft, set, required, nullable, shared }) {
  const typed = (event) => set(event.target.value);
  const plain = { ...shared, autocomplete: "off", spellcheck: false, autocapitalize: "none" };
  switch (kind) {
    case "const":
      return html`<p id=${shared.id}><code>${words(one.const)}</code></p>`;
    case "boolean":
      return check
        ? html`<input type="checkbox" ...${shared} checked=${draft === "true"}
          onChange=${(event) => set(String(event.target.checked))} />`
        : html`<select ...${shared} value=${draft} onChange=${typed}>
            <option value="">${nullable && required ? "none" : "leave out"}</option>
            <option value="true">yes</option>
            <option value="false">no</option>
          </select>`;
    case "choice":
      return html`<select ...${shared} value=${draft} onChange=${typed}>
        ${(draft === "" || !required) && html`<option value="">${required ? "choose" : "leave out"}</option>`}
        ${one.enum.map((item, at) => html`<option value=${String(at)}>${words(item)}</option>`)}
      </select>`;
    case "secret":
      return html`<input type="password" ...${shared} autocomplete="new-password" value=${draft} onInput=${typed} />`;
    case "lines":
      return html`<textarea ...${plain} class="mono" rows=${Math.min(16, Math.max(3, draft.split("\n").length + 1))}
        value=${draft} onInput=${typed}></textarea>`;
    case "json":
      return html`<textarea ...${plain} class="mono" rows=${Math.min(16, Math.max(2, draft.split("\n").length + 1))}
        value=${draft} onInput=${typed}
        placeholder=${one.type === "array" ? "[]  as JSON" : one.type === "object" ? '{}  as JSON'
          : "any JSON"}></textarea>`;
    default:
      return html`<input type="text" ...${plain} inputmode=${kind === "integer" ? "numeric" : kind === "number"
        ? "decimal" : undefined} value=${draft} onInput=${typed} />`;
  }
}

function Group(props) {
  const { kind, of, one, all, name, draft, set, path, required, depth, field, schema } = props;
  const { root, form } = of;
  const fresh = (inner, key) => draftOf(inner, root, key, form.secret, MISSING, depth + 1);
  if (kind === "either") {
    const choose = (event) => {
      const chosen = Number(event.target.value);
      const drafts = [...draft.drafts];
      if (chosen >= 0) drafts[chosen] ??= fresh(all[chosen], name);
      set({ chosen, drafts });
    };
    return html`<select aria-label=${`How ${name} is given`} value=${String(draft.chosen)} onChange=${choose}>
        <option value="-1">${required ? "choose" : "leave out"}</option>
        ${all.map((way, at) => html`<option value=${String(at)}>${wayName(way, root)}</option>`)}
      </select>
      ${draft.chosen >= 0 &&
      html`<${One} of=${of} schema=${all[draft.chosen]} name=${name} label=${wayName(all[draft.chosen], root)}
        draft=${draft.drafts[draft.chosen]}
        set=${(next) => set({ ...draft, drafts: draft.drafts.map((held, at) => (at === draft.chosen ? next : held)) })}
          path=${path} required=${true} depth=${depth + 1} />`}`;
  }
  if (kind === "object") {
    const held = draft.fields ? draft : draftOf(schema, root, name, form.secret, {}, depth);
    if (!required && !draft.open) return html`<${Button} kind="quiet small"
      onClick=${() => set({ ...held, open: true })}>Fill in ${name}</${Button}>`;
    return html`<${Fields} of=${of} schema=${one} draft=${held} set=${set} path=${path} depth=${depth} />
      ${!required && html`<${Button} kind="quiet small"
        onClick=${() => set({ ...held, open: false })}>Leave ${name} out</${Button}>`}`;
  }
  const inner = kind === "list" ? one.items : one.additionalProperties;
  const without = (at) => set(draft.filter((_, index) => index !== at));
  const changed = (at, next) => set(draft.map((item, index) => (index === at ? next : item)));
  return html`<ol class="plain-list items">
      ${draft.map((item, at) =>
        kind === "list"
          ? html`<li key=${at}>
              <${One} of=${of} schema=${inner} name=${name} label=${`${at + 1}`} draft=${item}
                set=${(next) => changed(at, next)} path=${`${path}.${at}`} required=${true} depth=${depth + 1} />
              <${Button} kind="quiet small" aria-label=${`Remove number ${at + 1} of ${name}`}
                onClick=${() => without(at)}>Remove</${Button}>
            </li>`
          : html`<li key=${at}>
              <div class="field">
                <label for=${`${field}-${at}-key`}>Name</label>
                <input id=${`${field}-${at}-key`} type="text" autocomplete="off" spellcheck=${false} value=${item.key}
                  onInput=${(event) => changed(at, { ...item, key: event.target.value })} />
              </div>
              <${One} of=${of} schema=${inner} name="" label="Value" draft=${item.draft} set=${(next) => changed(at,
                { ...item, draft: next })} path=${`${path}.${at}`} required=${true} depth=${depth + 1} />
              <${Button} kind="quiet small" aria-label=${`Remove ${item.key || `number ${at + 1}`} of ${name}`}
                onClick=${() => without(at)}>Remove</${Button}>
            </li>`,
      )}
    </ol>
    <${Button} kind="quiet small" onClick=${() => set([...draft, kind === "list" ? fresh(inner, name) : { key: "",
      draft: fresh(inner, "") }])}>Add ${draft.length ? "another" : "one"}</${Button}>`;
}

const KINDS = { text: "a text", lines: "a text", secret: "a secret", number: "a number", integer: "a whole number",
  boolean: "yes or no", choice: "one of a few", list: "a list", object: "an object", map: "names and values",
    json: "JSON" };

function wayName(way, root) {
  const kind = kindAt(way, root, "", [], 0);
  return way.title ?? (kind === "const" ? words(way.const) : (KINDS[kind] ?? "another way"));
}
