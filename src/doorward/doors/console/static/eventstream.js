// Server-sent events, read by fetch: what browsers have for them cannot send the header that the console's page shows.

import { request } from "./api.js";

/** Follow a stream: `heard(name, data, id)` for each event, and `ended(problem)` once when it is over, with null for a
 * problem where the server ended it. Returns what lets go of it, after which neither is called. */
export function follow(path, { query, last = "", heard, ended }) {
  const abort = new AbortController();
  const headers = { Accept: "text/event-stream", ...(last && { "Last-Event-ID": last }) };
  const listen = async () => {
    const answer = await request("GET", path, { query, headers, raw: true, signal: abort.signal });
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    const take = frames((name, data, id) => abort.signal.aborted || heard(name, data && JSON.parse(data), id));
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      take(decoder.decode(value, { stream: true }));
    }
  };
  listen().then(
    () => abort.signal.aborted || ended(null),
    (problem) => abort.signal.aborted || ended(problem),
  );
  return () => abort.abort();
}

/** What takes a stream's text in pieces, cut wherever, and tells of each event in it. */
export function frames(heard) {
  let rest = "";
  let event = { name: "message", data: [], id: "" };
  const line = (text) => {
    if (!text) {
      if (event.data.length) heard(event.name, event.data.join("\n"), event.id);
      event = { name: "message", data: [], id: "" };
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
  return (piece) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    for (const one of lines) line(one.endsWith("\r") ? one.slice(0, -1) : one);
  };
}
