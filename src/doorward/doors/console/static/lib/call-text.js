// @ts-check
// A call as text: for the terminal, for curl, and as AIs write it in a room.

const PLAIN = /^[A-Za-z0-9_./:@%+,=-]+$/;

/** Quote a word for a POSIX shell. @param {string} text */
function quote(text) {
  if (text !== "" && PLAIN.test(text)) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** @typedef {Record<string, any>} Params */

/** `doorward run data/list --collection=rooms`, as the current user. */
export function formatCli(/** @type {string} */ command, /** @type {Params} */ params, /** @type {string} */ room) {
  const words = Object.entries(params).map(([name, value]) => quote(`--${name}=${formatValue(value)}`));
  return ["doorward run --as=me", `--room=${room ? quote(room) : ""}`, command, ...words].join(" ");
}

/**
 * A request with curl. The token is a variable of the shell.
 *
 * @param {string} command
 * @param {Params} params
 * @param {string} room
 * @param {string} origin
 */
export function formatCurl(command, params, room, origin) {
  const body = JSON.stringify({ command, params, ...(room ? { room } : {}) });
  return [
    `curl -X POST ${quote(`${origin}/api/run`)}`,
    `-H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json'`,
    `-d ${quote(body)}`,
  ].join(" \\\n  ");
}

/** `EXECUTE: data/list --collection=rooms`, as an AI writes it in a room. */
export function formatExecute(/** @type {string} */ command, /** @type {Params} */ params) {
  const words = Object.entries(params).map(([name, value]) => {
    const plain = typeof value === "string" && PLAIN.test(value);
    return `--${name}=${plain ? value : JSON.stringify(value)}`;
  });
  return [`EXECUTE: ${command}`, ...words].join(" ");
}

const formatValue = (/** @type {any} */ value) => (typeof value === "string" ? value : JSON.stringify(value));
