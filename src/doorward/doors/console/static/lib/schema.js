// @ts-check
// JSON Schema as a form. A draft holds what has been typed so far; form-values.js reads it into a value. The server
// validates everything again: this only helps to fill in the form.

const MULTILINE = /^(content|text|sql|script|body|prompt|message|oldString|newString|instructions|bio)$/i;
const LONG_TEXT = 10_000;
const SECRET = /^(password|current|passcode|secret|token|apiKey|api_key)$/;
const MAX_CHAIN = 12;
const MAX_DEPTH = 6;
/** Stands for a value that is not given. */
export const MISSING = Symbol("missing");

/**
 * Follow a schema's reference and merge its `allOf`. Nothing outside the document is ever fetched.
 *
 * @param {any} schema
 * @param {Schema} root
 * @param {number} [depth]
 * @returns {Schema}
 */
export function resolveSchema(schema, root, depth = 0) {
  if (schema === true || schema === undefined || schema === null) return {};
  if (schema === false) return { const: null, impossible: true };
  if (depth > MAX_CHAIN) return {};
  /** @type {Schema} */
  let found = schema;
  if (typeof schema.$ref === "string") {
    const { $ref, ...common } = schema;
    found = { ...resolveSchema(followRef(root, $ref), root, depth + 1), ...common };
  }
  if (Array.isArray(found.allOf)) {
    const { allOf, ...common } = found;
    found = allOf.map((one) => resolveSchema(one, root, depth + 1)).reduce(mergeSchemas, common);
  }
  return found;
}

/** @param {Schema} root @param {string} ref */
function followRef(root, ref) {
  if (!ref.startsWith("#")) return {};
  let at = root;
  for (const part of ref.slice(1).split("/").filter(Boolean)) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (at === null || typeof at !== "object" || !Object.hasOwn(at, name)) return {};
    at = at[name];
  }
  return at;
}

/** @param {Schema} one @param {Schema} other @returns {Schema} */
function mergeSchemas(one, other) {
  return {
    ...other,
    ...one,
    properties: { ...other.properties, ...one.properties },
    required: [...new Set([...(other.required ?? []), ...(one.required ?? [])])],
  };
}

/**
 * The alternative schemas of a value without null, and whether null is one of them.
 *
 * @param {any} schema
 * @param {Schema} root
 */
export function listAlternatives(schema, root) {
  const whole = resolveSchema(schema, root);
  const { anyOf, oneOf, ...common } = whole;
  const given = anyOf ?? oneOf;
  /** @type {Schema[]} */
  const found = given
    ? given.map((/** @type {any} */ one) => resolveSchema(one, root))
    : Array.isArray(whole.type)
      ? whole.type.map((/** @type {string} */ type) => ({ ...common, type }))
      : [whole];
  const isNull = (/** @type {Schema} */ one) => one.type === "null" || (Object.hasOwn(one, "const") && one.const === null && !one.impossible);
  return { schema: common, alternatives: found.filter((one) => !isNull(one)), nullable: found.some(isNull) };
}

/**
 * How a form shows a field: text, lines, secret, number, integer, boolean, choice, const, list, object, map, either or json.
 *
 * @param {any} schema
 * @param {Schema} root
 * @param {string} [name]
 * @param {string[]} [secret] names of secret parameters
 * @returns {string}
 */
export function fieldKind(schema, root, name = "", secret = []) {
  const found = listAlternatives(schema, root);
  if (found.alternatives.length > 1) return "either";
  const one = found.alternatives[0] ?? { const: null };
  if (Object.hasOwn(one, "const")) return "const";
  if (Array.isArray(one.enum)) return "choice";
  if (one.type === "boolean") return "boolean";
  if (one.type === "integer" || one.type === "number") return one.type;
  if (one.type === "string") {
    if (secret.includes(name) || SECRET.test(name) || one.format === "password" || one.writeOnly) return "secret";
    return MULTILINE.test(name) || (one.maxLength ?? 0) >= LONG_TEXT || one.contentMediaType ? "lines" : "text";
  }
  if (one.type === "array") return Array.isArray(one.prefixItems) ? "json" : "list";
  if (one.type === "object" || one.properties) {
    if (one.properties && Object.keys(one.properties).length) return "object";
    return one.additionalProperties && typeof one.additionalProperties === "object" && isSimple(one.additionalProperties,
      root)
      ? "map"
      : "json";
  }
  return "json";
}

/** @param {any} schema @param {Schema} root */
function isSimple(schema, root) {
  return ["text", "number", "integer", "boolean", "choice", "lines"].includes(fieldKind(schema, root));
}

/**
 * The same at a depth inside a form. Very deep fields are edited as JSON, because a schema may contain itself.
 *
 * @param {any} schema
 * @param {Schema} root
 * @param {string} name
 * @param {string[]} secret
 * @param {number} depth
 */
export function fieldKindAt(schema, root, name, secret, depth) {
  return depth > MAX_DEPTH ? "json" : fieldKind(schema, root, name, secret);
}

/**
 * Create the draft of an empty field, or of `value`. The inside of an object or alternative is drafted when it is opened,
 * because a schema may contain itself.
 *
 * @param {any} schema
 * @param {Schema} root
 * @param {string} [name]
 * @param {string[]} [secret]
 * @param {any} [value]
 * @param {number} [depth]
 * @returns {any}
 */
export function createDraft(schema, root, name = "", secret = [], value = MISSING, depth = 0) {
  const kind = fieldKindAt(schema, root, name, secret, depth);
  const { schema: common, alternatives: all } = listAlternatives(schema, root);
  const one = { ...common, ...all[0] };
  const given = value !== MISSING && value !== null;
  switch (kind) {
    case "either": {
      const fits = given ? all.findIndex((one) => matchesSchema(one, value, root)) : -1;
      const drafts = all.map((alternative, at) => (at === fits ? createDraft(alternative, root, name, secret, value, depth + 1) : null));
      return { chosen: fits, drafts };
    }
    case "const":
      return null;
    case "choice":
      return indexText(one.enum, given ? value : (one.default ?? MISSING));
    case "boolean":
      return given || typeof one.default === "boolean" ? String((given ? value : one.default) === true) : "";
    case "list":
      return given && Array.isArray(value) ? value.map((item) => createDraft(one.items, root, name, secret, item,
        depth + 1)) : [];
    case "map":
      return given
        ? Object.entries(value).map(([key, item]) => ({ key, draft: createDraft(one.additionalProperties, root, "", [],
          item, depth + 1) }))
        : [];
    case "object": {
      if (!given && depth > 0) return { open: false, fields: null };
      const held = given && typeof value === "object" ? value : {};
      /** @type {Record<string, any>} */
      const fields = {};
      for (const [key, inner] of Object.entries(one.properties)) {
        const item = Object.hasOwn(held, key) ? held[key] : MISSING;
        fields[key] = createDraft(inner, root, key, secret, item, depth + 1);
      }
      return { open: given, fields };
    }
    case "json":
      return given ? JSON.stringify(value, null, 2) : "";
    default:
      return given ? String(value) : "";
  }
}

/** The index of a value, as the text that a select holds. @param {any[]} among @param {any} value */
function indexText(among, value) {
  const found = value === MISSING ? -1 : among.findIndex((item) => isEqual(item, value));
  return found < 0 ? "" : String(found);
}

/** @param {any} one @param {any} other */
export function isEqual(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/**
 * Whether a value roughly matches a schema: enough to tell the alternatives of a field apart.
 *
 * @param {any} schema
 * @param {any} value
 * @param {Schema} root
 * @returns {boolean}
 */
export function matchesSchema(schema, value, root) {
  return listAlternatives(schema, root).alternatives.some((one) => {
    if (Object.hasOwn(one, "const")) return isEqual(one.const, value);
    if (Array.isArray(one.enum)) return one.enum.some((/** @type {any} */ item) => isEqual(item, value));
    switch (one.type) {
      case "string":
      case "boolean":
        return typeof value === one.type;
      case "integer":
        return Number.isInteger(value);
      case "number":
        return typeof value === "number";
      case "array":
        return Array.isArray(value) && (!one.items || value.every((item) => matchesSchema(one.items, item, root)));
      case "object":
        return (
          value !== null &&
          typeof value === "object" &&
          !Array.isArray(value) &&
          (one.required ?? []).every((/** @type {string} */ key) => Object.hasOwn(value, key)) &&
          Object.entries(one.properties ?? {}).every(
            ([key, inner]) => !Object.hasOwn(value, key) || matchesSchema(inner, value[key], root),
          )
        );
      default:
        return true;
    }
  });
}

/** A short text for a value, such as a default. @param {any} value */
export function describeValue(value) {
  if (value === null || value === undefined) return "none";
  if (value === "") return "empty";
  if (typeof value === "boolean") return value ? "yes" : "no";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
