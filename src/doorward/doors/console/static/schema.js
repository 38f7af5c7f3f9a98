// What a JSON Schema asks for, as drafts that a form holds: a draft is what somebody has typed so far, and reading it
// gives a value, or says beside which field what is wrong. The server checks everything again; this only helps to type.

const MANY_LINES = /^(content|text|sql|script|body|prompt|message|oldString|newString|instructions|bio)$/i;
const LONG = 10_000;
const HIDDEN = /^(password|current|passcode|secret|token|apiKey|api_key)$/;
const LONGEST_CHAIN = 12;
const DEEPEST = 6;
export const MISSING = Symbol("missing");

/** A schema with its reference followed and `allOf` laid together. Nothing outside the document is ever fetched. */
export function settled(schema, root, depth = 0) {
  if (schema === true || schema === undefined || schema === null) return {};
  if (schema === false) return { const: null, impossible: true };
  if (depth > LONGEST_CHAIN) return {};
  let found = schema;
  if (typeof schema.$ref === "string") {
    const { $ref, ...beside } = schema;
    found = { ...settled(pointed(root, $ref), root, depth + 1), ...beside };
  }
  if (Array.isArray(found.allOf)) {
    const { allOf, ...beside } = found;
    found = allOf.map((one) => settled(one, root, depth + 1)).reduce(together, beside);
  }
  return found;
}

function pointed(root, ref) {
  if (!ref.startsWith("#")) return {};
  let at = root;
  for (const part of ref.slice(1).split("/").filter(Boolean)) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (at === null || typeof at !== "object" || !Object.hasOwn(at, name)) return {};
    at = at[name];
  }
  return at;
}

function together(one, other) {
  return {
    ...other,
    ...one,
    properties: { ...other.properties, ...one.properties },
    required: [...new Set([...(other.required ?? []), ...(one.required ?? [])])],
  };
}

/** The ways a value may look, without null, and whether null is one of them. */
export function ways(schema, root) {
  const whole = settled(schema, root);
  const { anyOf, oneOf, ...beside } = whole;
  const given = anyOf ?? oneOf;
  const found = given
    ? given.map((one) => settled(one, root))
    : Array.isArray(whole.type)
      ? whole.type.map((type) => ({ ...beside, type }))
      : [whole];
  const isNull = (one) => one.type === "null" || (Object.hasOwn(one, "const") && one.const === null && !one.impossible);
  return { schema: beside, ways: found.filter((one) => !isNull(one)), nullable: found.some(isNull) };
}

/** How a field is shown: text, lines, secret, number, integer, boolean, choice, const, list, object, map, either, json. */
export function kindOf(schema, root, name = "", secret = []) {
  const found = ways(schema, root);
  if (found.ways.length > 1) return "either";
  const one = found.ways[0] ?? { const: null };
  if (Object.hasOwn(one, "const")) return "const";
  if (Array.isArray(one.enum)) return "choice";
  if (one.type === "boolean") return "boolean";
  if (one.type === "integer" || one.type === "number") return one.type;
  if (one.type === "string") {
    if (secret.includes(name) || HIDDEN.test(name) || one.format === "password" || one.writeOnly) return "secret";
    return MANY_LINES.test(name) || (one.maxLength ?? 0) >= LONG || one.contentMediaType ? "lines" : "text";
  }
  if (one.type === "array") return Array.isArray(one.prefixItems) ? "json" : "list";
  if (one.type === "object" || one.properties) {
    if (one.properties && Object.keys(one.properties).length) return "object";
    return one.additionalProperties && typeof one.additionalProperties === "object" && plain(one.additionalProperties,
      root)
      ? "map"
      : "json";
  }
  return "json";
}

function plain(schema, root) {
  return ["text", "number", "integer", "boolean", "choice", "lines"].includes(kindOf(schema, root));
}

/** The same so many levels inside a form: what lies too deep is written as JSON, since a schema may contain itself. */
export function kindAt(schema, root, name, secret, depth) {
  return depth > DEEPEST ? "json" : kindOf(schema, root, name, secret);
}

/** The draft of a field that nobody has touched, or the one that stands for `value`.
 *
 * What is inside of an object or a way is drafted when somebody opens it, since a schema may contain itself. */
export function draftOf(schema, root, name = "", secret = [], value = MISSING, depth = 0) {
  const kind = kindAt(schema, root, name, secret, depth);
  const { schema: beside, ways: all } = ways(schema, root);
  const one = { ...beside, ...all[0] };
  const given = value !== MISSING && value !== null;
  switch (kind) {
    case "either": {
      const fits = given ? all.findIndex((way) => accepts(way, value, root)) : -1;
      const drafts = all.map((way, at) => (at === fits ? draftOf(way, root, name, secret, value, depth + 1) : null));
      return { chosen: fits, drafts };
    }
    case "const":
      return null;
    case "choice":
      return place(one.enum, given ? value : (one.default ?? MISSING));
    case "boolean":
      return given || typeof one.default === "boolean" ? String((given ? value : one.default) === true) : "";
    case "list":
      return given && Array.isArray(value) ? value.map((item) => draftOf(one.items, root, name, secret, item,
        depth + 1)) : [];
    case "map":
      return given
        ? Object.entries(value).map(([key, item]) => ({ key, draft: draftOf(one.additionalProperties, root, "", [],
          item, depth + 1) }))
        : [];
    case "object": {
      if (!given && depth > 0) return { open: false, fields: null };
      const held = given && typeof value === "object" ? value : {};
      const fields = {};
      for (const [key, inner] of Object.entries(one.properties)) {
        const item = Object.hasOwn(held, key) ? held[key] : MISSING;
        fields[key] = draftOf(inner, root, key, secret, item, depth + 1);
      }
      return { open: given, fields };
    }
    case "json":
      return given ? JSON.stringify(value, null, 2) : "";
    default:
      return given ? String(value) : "";
  }
}

/** Where a value stands among others, as a select holds it. */
function place(among, value) {
  const found = value === MISSING ? -1 : among.findIndex((item) => same(item, value));
  return found < 0 ? "" : String(found);
}

export function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Whether a value has the outer look of a schema; enough to tell the ways of a field apart. */
export function accepts(schema, value, root) {
  return ways(schema, root).ways.some((one) => {
    if (Object.hasOwn(one, "const")) return same(one.const, value);
    if (Array.isArray(one.enum)) return one.enum.some((item) => same(item, value));
    switch (one.type) {
      case "string":
      case "boolean":
        return typeof value === one.type;
      case "integer":
        return Number.isInteger(value);
      case "number":
        return typeof value === "number";
      case "array":
        return Array.isArray(value) && (!one.items || value.every((item) => accepts(one.items, item, root)));
      case "object":
        return (
          value !== null &&
          typeof value === "object" &&
          !Array.isArray(value) &&
          (one.required ?? []).every((key) => Object.hasOwn(value, key)) &&
          Object.entries(one.properties ?? {}).every(
            ([key, inner]) => !Object.hasOwn(value, key) || accepts(inner, value[key], root),
          )
        );
      default:
        return true;
    }
  });
}

/** A value in the words of JSON, such as a default, short enough to stand beside a field. */
export function words(value) {
  if (value === null || value === undefined) return "none";
  if (value === "") return "empty";
  if (typeof value === "boolean") return value ? "yes" : "no";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
