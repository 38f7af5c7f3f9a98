// @ts-check
// Reads the draft of a form into a value. Blank optional fields are left out, so that the command's defaults apply.

import { createDraft, fieldKindAt, isEqual, listAlternatives, MISSING, resolveSchema } from "./schema.js";

/** @typedef {(sentence: string) => any} Fail reports what is wrong with a field, and returns MISSING */

/**
 * Read a whole form. `problems` says what is wrong, by the path of the field.
 *
 * @param {any} schema
 * @param {any} draft
 * @param {Schema} root
 * @param {string[]} [secret]
 * @returns {{value: any, problems: Record<string, string>}}
 */
export function readForm(schema, draft, root, secret = []) {
  /** @type {Record<string, string>} */
  const problems = {};
  const value = readObject(resolveSchema(schema, root), draft, root, "", problems, secret, 0);
  return { value, problems };
}

/**
 * @param {Schema} schema
 * @param {any} draft
 * @param {Schema} root
 * @param {string} path
 * @param {Record<string, string>} problems
 * @param {string[]} secret
 * @param {number} depth
 */
function readObject(schema, draft, root, path, problems, secret, depth) {
  const value = {};
  const required = schema.required ?? [];
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const at = path ? `${path}.${name}` : name;
    const found = readField(inner, draft.fields[name], root, at, problems, required.includes(name), name, secret, depth + 1);
    if (found !== MISSING) define(value, name, found);
  }
  return value;
}

/** Define a property, even one with a name such as __proto__. @param {object} object @param {string} name @param {any} value */
function define(object, name, value) {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * @param {any} schema
 * @param {any} draft
 * @param {Schema} root
 * @param {string} path
 * @param {Record<string, string>} problems
 * @param {boolean} required
 * @param {string} name
 * @param {string[]} secret
 * @param {number} depth
 * @returns {any}
 */
function readField(schema, draft, root, path, problems, required, name, secret, depth) {
  const { schema: common, alternatives: all, nullable } = listAlternatives(schema, root);
  const one = { ...common, ...all[0] };
  const fail = (/** @type {string} */ sentence) => {
    problems[path] = sentence;
    return MISSING;
  };
  const blank = () => (required ? (nullable ? null : fail("Required.")) : MISSING);
  switch (fieldKindAt(schema, root, name, secret, depth)) {
    case "either": {
      if (draft.chosen < 0) return required ? (nullable ? null : fail("Choose one.")) : MISSING;
      const chosen = all[draft.chosen];
      const held = draft.drafts[draft.chosen] ?? createDraft(chosen, root, name, secret, MISSING, depth + 1);
      return readField(chosen, held, root, path, problems, true, name, secret, depth + 1);
    }
    case "const":
      return all.length ? one.const : null;
    case "choice": {
      if (draft === "" || draft === "-1") return blank();
      const chosen = one.enum[Number(draft)];
      return !required && isEqual(chosen, one.default) ? MISSING : chosen;
    }
    case "boolean": {
      if (draft === "") return required ? (nullable ? null : false) : MISSING;
      const chosen = draft === "true";
      return !required && "default" in one && one.default === chosen ? MISSING : chosen;
    }
    case "integer":
    case "number":
      return draft.trim() === "" ? blank() : readNumber(one, draft.trim(), fail);
    case "text":
    case "secret":
      return draft === "" ? blank() : readText(one, draft, fail);
    case "lines": // An empty file is valid; an empty name is not.
      return draft === "" && !required ? MISSING : readText(one, draft, fail);
    case "list": {
      if (!draft.length && !required) return MISSING;
      const items = draft.map((/** @type {any} */ item, /** @type {number} */ at) => readField(one.items, item, root, `${path}.${at}`, problems, true, name, secret,
        depth + 1));
      if (one.minItems !== undefined &&
        items.length < one.minItems) return fail(`At least ${one.minItems} items; given ${items.length}.`);
      if (one.maxItems !== undefined &&
        items.length > one.maxItems) return fail(`At most ${one.maxItems} items; given ${items.length}.`);
      return items.map((/** @type {any} */ item) => (item === MISSING ? null : item));
    }
    case "map": {
      if (!draft.length && !required) return MISSING;
      /** @type {Record<string, any>} */
      const value = {};
      draft.forEach((/** @type {{key: string, draft: any}} */ entry, /** @type {number} */ at) => {
        const place = `${path}.${at}`;
        if (entry.key === "") problems[place] = "Enter a name.";
        else if (Object.hasOwn(value, entry.key)) problems[place] = `${entry.key} is already in the list.`;
        const item = readField(one.additionalProperties, entry.draft, root, place, problems, true, "", [], depth + 1);
        define(value, entry.key, item === MISSING ? null : item);
      });
      return value;
    }
    case "object":
      if (!required && !draft.open) return MISSING;
      return readObject(one, draft.fields ? draft : createDraft(schema, root, name, secret, {}, depth), root, path,
        problems, secret, depth);
    default:
      return draft.trim() === "" ? blank() : readJson(one, draft, fail);
  }
}

/** @param {Schema} schema @param {string} text @param {Fail} fail */
function readNumber(schema, text, fail) {
  const value = Number(text);
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ||
    !Number.isFinite(value)) return fail(`Enter a number, such as 10; given ${text.slice(0, 40)}.`);
  if (schema.type === "integer" && !Number.isInteger(value)) return fail(`Enter a whole number; given ${text.slice(0, 40)}.`);
  if (Number.isInteger(value) &&
    !Number.isSafeInteger(value)) return fail("Too large for a browser to hold exactly. Use `doorward run` instead.");
  if (schema.minimum !== undefined &&
    value < schema.minimum) return fail(`At least ${schema.minimum}; given ${value}.`);
  if (schema.maximum !== undefined &&
    value > schema.maximum) return fail(`At most ${schema.maximum}; given ${value}.`);
  if (schema.exclusiveMinimum !== undefined &&
    value <= schema.exclusiveMinimum) return fail(`More than ${schema.exclusiveMinimum}; given ${value}.`);
  if (schema.exclusiveMaximum !== undefined &&
    value >= schema.exclusiveMaximum) return fail(`Less than ${schema.exclusiveMaximum}; given ${value}.`);
  return value;
}

/** @param {Schema} schema @param {string} text @param {Fail} fail */
function readText(schema, text, fail) {
  const length = [...text].length;
  if (schema.minLength !== undefined && length < schema.minLength) return fail(length
    ? `At least ${schema.minLength} characters; given ${length}.` : "Required.");
  if (schema.maxLength !== undefined &&
    length > schema.maxLength) return fail(`At most ${schema.maxLength} characters; given ${length}.`);
  return text;
}

/**
 * Parse JSON, and check that it is an object or a list if the schema says so.
 *
 * @param {Schema} schema
 * @param {string} text
 * @param {Fail} fail
 */
export function readJson(schema, text, fail) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return fail(`Invalid JSON: ${error.message}.`);
  }
  if (schema.type === "object" && (value === null || typeof value !== "object" ||
    Array.isArray(value))) return fail('Enter an object, such as {"name": "value"}.');
  if (schema.type === "array" && !Array.isArray(value)) return fail('Enter a list, such as ["one", "two"].');
  return value;
}
