// @ts-check
// Client of the REST API. It only talks to the server that delivered the page, and takes no address from the address bar
// or from content.

import { createSignal } from "./signal.js";

/** The current session, or null before it is known. */
export const session = createSignal(/** @type {Session | null} */ (null));

/** An error response of the server, in the server's words. */
export class Problem extends Error {
  /** @param {ProblemFacts} facts */
  constructor(facts) {
    super(facts.detail || facts.title);
    this.name = "Problem";
    this.status = facts.status ?? 0;
    this.code = facts.code ?? "unreachable";
    this.title = facts.title ?? "";
    this.detail = facts.detail ?? "";
    this.hint = facts.hint?.startsWith("Parameters: ") ? "" : (facts.hint ?? ""); // that hint is for the terminal
    this.rule = facts.rule ?? "";
    this.call = facts.call ?? "";
    this.outcome = facts.outcome ?? "";
    this.effect = facts.effect ?? "";
    this.result = facts.result ?? null;
    this.retryAfter = facts.retryAfter ?? null;
    this.retrying = facts.retrying ?? false;
  }
}

/**
 * Send one request. Returns the JSON of the response, or the Response itself with `raw`. Throws a Problem.
 *
 * @param {string} method
 * @param {string} path
 * @param {RequestOptions} [options]
 */
export async function request(method, path, options = {}) {
  return parseResponse(await send(method, path, options), options.raw ?? false);
}

/** @typedef {Omit<RequestOptions, "query" | "body">} Options */

/** @type {(path: string, query?: Record<string, any>, options?: Options) => Promise<any>} */
export const get = (path, query, options) => request("GET", path, { ...options, query });
/** @type {(path: string, body?: any, options?: Options) => Promise<any>} */
export const post = (path, body, options) => request("POST", path, { ...options, body: body ?? {} });
/** @type {(path: string, body?: any, options?: Options) => Promise<any>} */
export const put = (path, body, options) => request("PUT", path, { ...options, body: body ?? {} });
/** @type {(path: string, body?: any, options?: Options) => Promise<any>} */
export const patch = (path, body, options) => request("PATCH", path, { ...options, body: body ?? {} });
/** @type {(path: string, query?: Record<string, any>, options?: Options) => Promise<any>} */
export const del = (path, query, options) => request("DELETE", path, { ...options, query });

/**
 * Run a command. Returns its outcome: done, or parked with a ticket. Throws a Problem when it is refused or fails.
 *
 * @param {string} command
 * @param {Record<string, any>} [params]
 * @param {{room?: string, dryRun?: boolean}} [options]
 */
export function run(command, params = {}, { room = "", dryRun = false } = {}) {
  return post("/run", { command, params, ...(room ? { room } : {}), ...(dryRun ? { dryRun } : {}) });
}

/** A random idempotency key, so that a request can be repeated safely. */
export function createKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Fetch the current session. */
export async function refreshSession() {
  const found = await parseResponse(await send("GET", "/console/session"), false);
  if (!found.loggedIn && (session.value?.loggedIn || session.value?.lost)) found.lost = true;
  session.set(found);
  return found;
}

/** @param {{code: string, instead?: boolean} | {user: string, password: string, tenant: string}} credentials */
export async function login(credentials) {
  const { csrf, ...found } = await post("/console/login", credentials).catch((problem) => {
    if (problem.status === 401) problem.title = "Login failed";
    throw problem;
  });
  storeCsrfToken(csrf);
  session.set(found);
  return found;
}

/** @type {Set<() => void>} */
const logoutListeners = new Set();

/** Call `fn` when the user logs out, in this tab or in another one. A session that expires is no logout. @param {() => void} fn */
export function onLogout(fn) {
  logoutListeners.add(fn);
}

export async function logout() {
  await post("/console/logout", {});
  storeCsrfToken("");
  for (const fn of logoutListeners) fn();
  if (session.value) session.set({ ...session.value, loggedIn: false, lost: false });
}

/** Encode one segment of a path. @param {string | number} text */
export const encode = (text) => encodeURIComponent(String(text));

// The CSRF token accompanies the cookie in every request. Browsers send a cookie to every port of a host, but storage
// belongs to one origin.
const CSRF_KEY = "doorward-proof";
let csrfFallback = "";

/** The CSRF token. Storage is read every time, because another tab may have logged in. */
function csrfToken() {
  try {
    return localStorage.getItem(CSRF_KEY) ?? csrfFallback;
  } catch {
    return csrfFallback;
  }
}

/** @param {string} token */
function storeCsrfToken(token) {
  csrfFallback = token;
  try {
    if (token) localStorage.setItem(CSRF_KEY, token);
    else localStorage.removeItem(CSRF_KEY);
  } catch {
    // Storage may be disabled. The session then lasts as long as the page is open.
  }
}

/** Call `fn` when another tab logs in or out. Returns a function that unsubscribes. @param {() => void} fn */
export function onOtherLogin(fn) {
  const changed = (/** @type {StorageEvent} */ event) => {
    if (event.key !== CSRF_KEY && event.key !== null) return;
    if (event.newValue === null) for (const one of logoutListeners) one();
    fn();
  };
  addEventListener("storage", changed);
  return () => removeEventListener("storage", changed);
}

/** A URL below /api, with its query. */
function buildUrl(/** @type {string} */ path, /** @type {Record<string, any>} */ query = {}) {
  const whole = path.startsWith("/api/") ? path : `/api${path}`;
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    search.set(name, typeof value === "object" ? JSON.stringify(value) : String(value));
  }
  const text = search.toString();
  return text ? `${whole}?${text}` : whole;
}

/** @param {string} method @param {string} path @param {RequestOptions} [options] */
async function send(method, path, { query, body, headers, signal } = {}) {
  /** @type {Record<string, string>} */
  const sent = { Accept: "application/json", ...headers };
  let content;
  if (body instanceof Blob) {
    content = body;
  } else if (body !== undefined) {
    content = typeof body === "string" ? body : JSON.stringify(body);
    sent["Content-Type"] ??= "application/json";
  }
  if (csrfToken()) sent["Doorward-CSRF"] = csrfToken();
  try {
    return await fetch(buildUrl(path, query), {
      method,
      headers: sent,
      body: content,
      signal,
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({
      title: "Doorward is not responding",
      detail: "The server cannot be reached.",
      hint: "If Doorward was stopped, start it with: doorward up",
    });
  }
}

/** @param {Response} response @param {boolean} raw */
async function parseResponse(response, raw) {
  if (response.ok) {
    if (raw) return response;
    const text = await response.text();
    return text ? JSON.parse(text) : null;
  }
  const problem = await parseProblem(response);
  if (response.status === 401 && session.value?.loggedIn) session.set({ ...session.value, loggedIn: false, lost: true });
  throw problem;
}

/** @param {Response} response */
async function parseProblem(response) {
  try {
    return new Problem(await response.json());
  } catch {
    return new Problem({ status: response.status, title: "Unreadable response", detail: `HTTP ${response.status}` });
  }
}
