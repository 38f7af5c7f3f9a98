// The console is a client of the REST door and nothing else. It speaks to the server that it came from, and takes no
// address from anywhere: neither from the address bar nor from what somebody wrote.

import { keepProof, proof } from "./proof.js";
import { signal } from "./signal.js";

/** Who is logged in: `{loggedIn, user, name, tenant, access, version, …}`, or null before it is known. */
export const session = signal(null);

/** What the server said no to, in its own words. */
export class Problem extends Error {
  constructor(facts) {
    super(facts.detail || facts.title);
    this.name = "Problem";
    this.status = facts.status ?? 0;
    this.code = facts.code ?? "unreachable";
    this.title = facts.title ?? "";
    this.detail = facts.detail ?? "";
    this.hint = facts.hint?.startsWith("Parameters: ") ? "" : (facts.hint ?? ""); // how to write it in a terminal
    this.rule = facts.rule ?? "";
    this.call = facts.call ?? "";
    this.outcome = facts.outcome ?? "";
    this.effect = facts.effect ?? "";
    this.result = facts.result ?? null;
    this.retryAfter = facts.retryAfter ?? null;
  }
}

/** Ask once. Gives the answer's JSON (or the Response itself with `raw`); throws a Problem. */
export async function request(method, path, { query, body, headers = {}, raw = false, signal: abort } = {}) {
  return read(await sent(method, path, query, body, headers, abort), raw);
}

export const get = (path, query, options) => request("GET", path, { ...options, query });
export const post = (path, body, options) => request("POST", path, { ...options, body: body ?? {} });
export const put = (path, body, options) => request("PUT", path, { ...options, body: body ?? {} });
export const patch = (path, body, options) => request("PATCH", path, { ...options, body: body ?? {} });
export const del = (path, query, options) => request("DELETE", path, { ...options, query });

/** Run a command and get its whole outcome: done, or parked with a ticket. What is refused or fails is thrown. */
export function run(command, params = {}, { room = "", dryRun = false, ticket = "", key = "", signal: abort } = {}) {
  const body = ticket ? { ticket } : { command, params };
  if (room) body.room = room;
  if (dryRun) body.dryRun = true;
  return post("/run", body, { headers: key ? { "Idempotency-Key": key } : {}, signal: abort });
}

/** A key that makes it safe to ask again. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Ask who is logged in. */
export async function refresh() {
  const found = await read(await sent("GET", "/console/session"), false);
  if (!found.loggedIn && (session.value?.loggedIn || session.value?.lost)) found.lost = true;
  session.set(found);
  return found;
}

export async function login(given) {
  const { csrf, ...found } = await post("/console/login", given).catch((problem) => {
    if (problem.status === 401) problem.title = "You were not let in";
    throw problem;
  });
  keepProof(csrf);
  session.set(found);
  return found;
}

export async function logout() {
  await post("/console/logout", {});
  keepProof("");
  session.set({ ...session.value, loggedIn: false, lost: false });
}

/** A part of a path, safe whatever is in it. */
export const part = (text) => encodeURIComponent(String(text));

/** A path below /api with its query. */
function address(path, query) {
  const whole = path.startsWith("/api/") ? path : `/api${path}`;
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined || value === null || value === "") continue;
    search.set(name, typeof value === "object" ? JSON.stringify(value) : String(value));
  }
  const text = search.toString();
  return text ? `${whole}?${text}` : whole;
}

async function sent(method, path, query, body, headers, abort) {
  const given = { Accept: "application/json", ...headers };
  let content;
  if (body instanceof Blob) {
    content = body;
  } else if (body !== undefined) {
    content = typeof body === "string" ? body : JSON.stringify(body);
    given["Content-Type"] ??= "application/json";
  }
  if (proof()) given["Doorward-CSRF"] = proof();
  const options = { method, headers: given, body: content, signal: abort, credentials: "same-origin", cache: "no-store" };
  try {
    return await fetch(address(path, query), { ...options, redirect: "error", referrerPolicy: "no-referrer" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({
      title: "The server does not answer",
      detail: "Doorward cannot be reached at the moment; the page tries again by itself.",
      hint: "If it was stopped, start it with: doorward up",
    });
  }
}

async function read(answer, raw) {
  if (answer.ok) {
    if (raw) return answer;
    const text = await answer.text();
    return text ? JSON.parse(text) : null;
  }
  const problem = await problemOf(answer);
  if (answer.status === 401 && session.value?.loggedIn) session.set({ ...session.value, loggedIn: false, lost: true });
  throw problem;
}

async function problemOf(answer) {
  try {
    return new Problem(await answer.json());
  } catch {
    return new Problem({ status: answer.status, title: "The answer cannot be read", detail: `HTTP ${answer.status}` });
  }
}
