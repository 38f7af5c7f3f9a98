// One call in other words: as a line for the terminal, as curl, and as AIs write it in a room.

const PLAIN = /^[A-Za-z0-9_./:@%+,=-]+$/;

/** A word as a POSIX shell takes it, whatever is in it. */
export function quoted(text) {
  if (text !== "" && PLAIN.test(text)) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** `doorward run data/list --collection=rooms`, as yourself. */
export function asRun(command, params, room) {
  const words = Object.entries(params).map(([name, value]) => quoted(`--${name}=${valueText(value)}`));
  return ["doorward run --as=me", `--room=${room ? quoted(room) : ""}`, command, ...words].join(" ");
}

/** A request with curl; the token is one's own to fill in. */
export function asCurl(command, params, room, origin) {
  const body = JSON.stringify({ command, params, ...(room ? { room } : {}) });
  return [
    `curl -X POST ${quoted(`${origin}/api/run`)}`,
    `-H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json'`,
    `-d ${quoted(body)}`,
  ].join(" \\\n  ");
}

/** `EXECUTE: data/list --collection=rooms`, as an AI writes it in a room. */
export function asExecute(command, params) {
  const words = Object.entries(params).map(([name, value]) => `--${name}=${inLine(value)}`);
  return [`EXECUTE: ${command}`, ...words].join(" ");
}

function valueText(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function inLine(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  return value !== "" && PLAIN.test(value) ? value : JSON.stringify(value);
}
