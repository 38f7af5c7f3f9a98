// @ts-check
// Server-sent events, read with fetch: the browser's EventSource cannot send the CSRF header.

import { post, Problem, request } from "./api.js";

/** @typedef {(name: string, data: any, id: string) => void} OnEvent */

/**
 * Follow a stream. `onEvent` is called for each event, and `onEnd` once when the stream ends: with null when the server
 * ended it, else with the problem. Returns a function that stops following; nothing is called after that.
 *
 * @param {string} path
 * @param {{query?: Record<string, any>, last?: string, onEvent: OnEvent, onEnd: (problem: any) => void}} options
 */
export function followStream(path, { query, last = "", onEvent, onEnd }) {
  const abort = new AbortController();
  const headers = { Accept: "text/event-stream", ...(last && { "Last-Event-ID": last }) };
  const listen = async () => {
    const response = await request("GET", path, { query, headers, raw: true, signal: abort.signal });
    for await (const { name, data, id } of readEvents(response.body)) {
      if (abort.signal.aborted) return;
      onEvent(name, data && JSON.parse(data), id);
    }
  };
  listen().then(
    () => abort.signal.aborted || onEnd(null),
    (problem) => abort.signal.aborted || onEnd(problem),
  );
  return () => abort.abort();
}

/**
 * Run a command, or resume one with its ticket, and report progress. `onNotice` receives notices of the types started,
 * output, progress, logged and asked. Returns the outcome, and throws a Problem when the command is refused or fails.
 * Closing the page cancels the command.
 *
 * @param {string} command
 * @param {Record<string, any>} params
 * @param {{room?: string, ticket?: string}} [options]
 * @param {(notice: any) => void} [onNotice]
 */
export async function runStreaming(command, params, { room = "", ticket = "" } = {}, onNotice = () => {}) {
  const body = { ...(ticket ? { ticket } : { command, params }), ...(room ? { room } : {}) };
  const response = await post("/run", body, { headers: { Accept: "text/event-stream" }, raw: true });
  for await (const { name, data: text } of readEvents(response.body)) {
    const data = JSON.parse(text);
    if (name === "outcome") return checkOutcome(data.outcome);
    if (name === "error") throw new Problem(data);
    onNotice({ ...data, type: data.type ?? name });
  }
  throw new Problem({
    title: "Connection lost",
    detail: "The connection ended before the command did. See Executions for its outcome.",
    hint: "A command is cancelled when its caller disconnects.",
  });
}

/** @param {any} outcome */
function checkOutcome(outcome) {
  if (outcome.status === "done" || outcome.status === "parked") return outcome;
  throw new Problem({
    ...outcome,
    title: outcome.status === "refused" ? "Refused. Nothing ran" : "Failed",
    detail: outcome.message,
    outcome: outcome.status,
    status: 0,
  });
}

/** @param {ReadableStream<Uint8Array>} body */
async function* readEvents(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  /** @type {{name: string, data: string, id: string}[]} */
  const found = [];
  const parse = createFrameParser((name, data, id) => found.push({ name, data, id }));
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parse(decoder.decode(value, { stream: true }));
      yield* found.splice(0);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/**
 * Create a parser that takes the text of a stream in pieces of any size, and reports each event.
 *
 * @param {(name: string, data: string, id: string) => void} onEvent
 */
export function createFrameParser(onEvent) {
  let rest = "";
  const start = () => ({ name: "message", data: /** @type {string[]} */ ([]), id: "" });
  let event = start();
  const parseLine = (/** @type {string} */ text) => {
    if (!text) {
      if (event.data.length) onEvent(event.name, event.data.join("\n"), event.id);
      event = start();
      return;
    }
    const colon = text.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(text[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") event.name = value;
    else if (field === "id") event.id = value;
    else if (field === "data") event.data.push(value);
  };
  return (/** @type {string} */ piece) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) parseLine(line.endsWith("\r") ? line.slice(0, -1) : line);
  };
}
