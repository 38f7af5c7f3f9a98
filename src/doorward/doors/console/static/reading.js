// Drafts of a form, read into a value. What is left blank and not needed is left out, so that the command's own defaults hold.

import { draftOf, kindAt, MISSING, same, settled, ways } from "./schema.js";

/** `{value, problems}`: the value of a whole form, and what is wrong by the path of the field. */
export function valueOf(schema, draft, root, secret = []) {
  const problems = {};
  const value = readObject(settled(schema, root), draft, root, "", problems, secret, 0);
  return { value, problems };
}

function readObject(schema, draft, root, path, problems, secret, depth) {
  const value = {};
  const required = schema.required ?? [];
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const at = path ? `${path}.${name}` : name;
    const found = read(inner, draft.fields[name], root, at, problems, required.includes(name), name, secret, depth + 1);
    if (found !== MISSING) put(value, name, found);
  }
  return value;
}

/** Also a name such as __proto__ is only a name. */
function put(object, name, value) {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

function read(schema, draft, root, path, problems, required, name, secret, depth) {
  const { schema: beside, ways: all, nullable } = ways(schema, root);
  const one = { ...beside, ...all[0] };
  const wrong = (sentence) => {
    problems[path] = sentence;
    return MISSING;
  };
  const blank = () => (required ? (nullable ? null : wrong("This is needed.")) : MISSING);
  switch (kindAt(schema, root, name, secret, depth)) {
    case "either": {
      if (draft.chosen < 0) return required ? (nullable ? null : wrong("Choose one of the ways.")) : MISSING;
      const way = all[draft.chosen];
      const held = draft.drafts[draft.chosen] ?? draftOf(way, root, name, secret, MISSING, depth + 1);
      return read(way, held, root, path, problems, true, name, secret, depth + 1);
    }
    case "const":
      return all.length ? one.const : null;
    case "choice": {
      if (draft === "" || draft === "-1") return blank();
      const chosen = one.enum[Number(draft)];
      return !required && same(chosen, one.default) ? MISSING : chosen;
    }
    case "boolean": {
      if (draft === "") return required ? (nullable ? null : false) : MISSING;
      const chosen = draft === "true";
      return !required && "default" in one && one.default === chosen ? MISSING : chosen;
    }
    case "integer":
    case "number":
      return draft.trim() === "" ? blank() : readNumber(one, draft.trim(), wrong);
    case "text":
    case "secret":
      return draft === "" ? blank() : readText(one, draft, wrong);
    case "lines": // An empty file is a file; an empty name is none.
      return draft === "" && !required ? MISSING : readText(one, draft, wrong);
    case "list": {
      if (!draft.length && !required) return MISSING;
      const items = draft.map((item, at) => read(one.items, item, root, `${path}.${at}`, problems, true, name, secret,
        depth + 1));
      if (one.minItems !== undefined &&
        items.length < one.minItems) return wrong(`At least ${one.minItems} are needed; there are ${items.length}.`);
      if (one.maxItems !== undefined &&
        items.length > one.maxItems) return wrong(`At most ${one.maxItems} are taken; there are ${items.length}.`);
      return items.map((item) => (item === MISSING ? null : item));
    }
    case "map": {
      if (!draft.length && !required) return MISSING;
      const value = {};
      draft.forEach((entry, at) => {
        const place = `${path}.${at}`;
        if (entry.key === "") problems[place] = "Give it a name.";
        else if (Object.hasOwn(value, entry.key)) problems[place] = `There is a ${entry.key} already.`;
        const item = read(one.additionalProperties, entry.draft, root, place, problems, true, "", [], depth + 1);
        put(value, entry.key, item === MISSING ? null : item);
      });
      return value;
    }
    case "object":
      if (!required && !draft.open) return MISSING;
      return readObject(one, draft.fields ? draft : draftOf(schema, root, name, secret, {}, depth), root, path,
        problems, secret, depth);
    default:
      return draft.trim() === "" ? blank() : readJson(one, draft, wrong);
  }
}

function readNumber(schema, text, wrong) {
  const value = Number(text);
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ||
    !Number.isFinite(value)) return wrong(`Write a number, such as 10; given ${text.slice(0, 40)}.`);
  if (schema.type === "integer" && !Number.isInteger(value)) return wrong(`Write a whole number; given ${text.slice(0,
    40)}.`);
  if (Number.isInteger(value) &&
    !Number.isSafeInteger(value)) return wrong("A browser cannot hold this number exactly; ask by `doorward run` instead.");
  if (schema.minimum !== undefined &&
    value < schema.minimum) return wrong(`At least ${schema.minimum}; given ${value}.`);
  if (schema.maximum !== undefined &&
    value > schema.maximum) return wrong(`At most ${schema.maximum}; given ${value}.`);
  if (schema.exclusiveMinimum !== undefined &&
    value <= schema.exclusiveMinimum) return wrong(`More than ${schema.exclusiveMinimum}; given ${value}.`);
  if (schema.exclusiveMaximum !== undefined &&
    value >= schema.exclusiveMaximum) return wrong(`Less than ${schema.exclusiveMaximum}; given ${value}.`);
  return value;
}

function readText(schema, text, wrong) {
  const length = [...text].length;
  if (schema.minLength !== undefined && length < schema.minLength) return wrong(length
    ? `At least ${schema.minLength} characters; there are ${length}.` : "This is needed.");
  if (schema.maxLength !== undefined &&
    length > schema.maxLength) return wrong(`At most ${schema.maxLength} characters; there are ${length}.`);
  return text;
}

/** What was typed as JSON; of an object or a list at least that is checked. */
export function readJson(schema, text, wrong) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return wrong(`This is no JSON: ${error.message}.`);
  }
  if (schema.type === "object" && (value === null || typeof value !== "object" ||
    Array.isArray(value))) return wrong('Write an object, such as {"name": "value"}.');
  if (schema.type === "array" && !Array.isArray(value)) return wrong('Write a list, such as ["one", "two"].');
  return value;
}
