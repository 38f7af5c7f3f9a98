// @ts-check
// The event stream of a tab. It resumes where it was after a dropped connection or a restart of the server.

import { refreshSession, session } from "./api.js";
import { createSignal } from "./signal.js";
import { followStream } from "./sse.js";
import { acquireSlot, canShareSlots, whileShown } from "./stream-slots.js";

/** @typedef {"live" | "reconnecting" | "paused" | "polling" | "off"} Connection */

/** The state of the connection: `paused` is a hidden tab, `polling` a tab without a slot for a stream. */
export const connection = createSignal(/** @type {Connection} */ ("off"));

const ROOM_PREFIX = "room-";
const RETRY_DELAYS = [300, 700, 1500, 3000, 5000];
const PAUSE_DELAY = 10_000;
const POLL_DELAY = 500;
const POLL_INTERVAL = 5000;
const MAX_SILENCE = 25_000;

/** @type {Set<{prefix: string, fn: (event: ServerEvent) => void}>} */
const listeners = new Set();
/** @type {Set<() => void>} */
const missedListeners = new Set();
/** @type {{room: string, fn: (kind: string, data: any) => void} | null} */
let followed = null;
/** @type {(() => void) | null} */
let closeStream = null;
let lastEvent = "";
let lastRevision = "";
let failures = 0;
let timer = 0;
let watchdog = 0;
let started = false;
/** @type {(() => void) | null} */
let stopShowing = null;
/** @type {(() => void) | null} */
let releaseSlot = null;
/** @type {(() => void) | null} */
let releaseNotifier = null;
let hasSlot = false;

/**
 * Listen for events whose name begins with `prefix`; "" matches all. Returns a function that unsubscribes.
 *
 * @param {string} prefix
 * @param {(event: ServerEvent) => void} fn
 */
export function onEvent(prefix, fn) {
  const entry = { prefix, fn };
  listeners.add(entry);
  return () => {
    listeners.delete(entry);
  };
}

/**
 * Call `fn` when events were missed, so that pages load their data again. Returns a function that unsubscribes.
 *
 * @param {() => void} fn
 */
export function onMissed(fn) {
  missedListeners.add(fn);
  return () => {
    missedListeners.delete(fn);
  };
}

/**
 * Follow a room from a revision. `fn` receives notices of the kinds ready, message, typing, presence, draft, thinking and
 * error. Returns a function that stops following.
 *
 * @param {string} room
 * @param {(kind: string, data: any) => void} fn
 * @param {string | number} [since]
 */
export function followRoom(room, fn, since = "") {
  const mine = { room, fn };
  followed = mine;
  lastRevision = String(since);
  reconnect();
  return () => {
    if (followed !== mine) return;
    followed = null;
    lastRevision = "";
    reconnect();
  };
}

export function startLive() {
  if (started) return;
  started = true;
  document.addEventListener("visibilitychange", onVisibility);
  addEventListener("online", reconnect);
  stopShowing = whileShown(() => {
    connect();
    return releaseAll;
  });
}

export function stopLive() {
  started = false;
  document.removeEventListener("visibilitychange", onVisibility);
  removeEventListener("online", reconnect);
  stopShowing?.();
  stopShowing = null;
  lastEvent = "";
  connection.set("off");
}

function close() {
  clearTimeout(timer);
  clearTimeout(watchdog);
  closeStream?.();
  closeStream = null;
}

/** Release everything that other tabs may need: the stream, its slot and the slot of the notifying tab. */
function releaseAll() {
  close();
  releaseSlot?.();
  releaseNotifier?.();
  releaseSlot = null;
  releaseNotifier = null;
  hasSlot = false;
}

function reconnect() {
  if (!started) return;
  failures = 0;
  // Several requests at the same moment (one room left, the next opened) cost one connection.
  close();
  timer = setTimeout(connect, 0);
}

function connect() {
  close();
  if (!started || !session.value?.loggedIn) return;
  if (document.visibilityState === "hidden" && !releaseNotifier) {
    pause();
  } else if (hasSlot) {
    listen();
  } else {
    timer = setTimeout(poll, POLL_DELAY);
    releaseSlot ??= acquireSlot("stream", () => {
      hasSlot = true;
      close();
      listen();
    });
  }
}

function listen() {
  const last = lastEvent || lastRevision ? `${lastEvent}/${followed ? lastRevision : ""}` : "";
  closeStream = followStream("/console/stream", { query: { room: followed?.room }, last, onEvent: dispatch, onEnd: retry });
  watch();
}

/** Other tabs hold all slots: load everything every few seconds until one is free. */
function poll() {
  connection.set("polling");
  for (const fn of [...missedListeners]) callGuarded(fn);
  if (followed) callGuarded(followed.fn, "ready", { whole: false });
  timer = setTimeout(poll, POLL_INTERVAL);
}

/** @param {string} name @param {any} data @param {string} id */
function dispatch(name, data, id) {
  watch();
  if (id) [lastEvent, lastRevision] = id.split("/");
  if (name === "ready") {
    failures = 0;
    connection.set("live");
    if (data.missed) for (const fn of [...missedListeners]) fn();
  } else if (name === "happened") {
    for (const { prefix, fn } of [...listeners]) if (data.event.startsWith(prefix)) callGuarded(fn, data);
  } else if (name === "end") {
    retry();
  } else if (name.startsWith(ROOM_PREFIX) && followed) {
    callGuarded(followed.fn, name.slice(ROOM_PREFIX.length), data);
  }
}

/** The server sends something every ten seconds. A stream that is silent for longer is dead, for instance after sleep. */
function watch() {
  clearTimeout(watchdog);
  watchdog = setTimeout(retry, MAX_SILENCE);
}

function retry() {
  close();
  if (!started) return;
  connection.set("reconnecting");
  const delay = RETRY_DELAYS[Math.min(failures, RETRY_DELAYS.length - 1)];
  failures += 1;
  timer = setTimeout(reopen, delay * (0.75 + Math.random() / 2));
}

async function reopen() {
  try {
    if (!(await refreshSession()).loggedIn) return;
    connect();
  } catch {
    retry();
  }
}

/** @param {(...given: any[]) => void} fn @param {...any} given */
function callGuarded(fn, ...given) {
  try {
    fn(...given);
  } catch (error) {
    console.error("A listener failed", error);
  }
}

/** Hidden tabs release their stream after a while. One of them keeps a stream to show notifications. */
function onVisibility() {
  clearTimeout(timer);
  if (document.visibilityState === "hidden") {
    timer = setTimeout(pause, PAUSE_DELAY);
    return;
  }
  releaseNotifier?.();
  releaseNotifier = null;
  if (closeStream === null) reconnect();
}

function pause() {
  if (document.visibilityState === "visible") return;
  releaseAll();
  connection.set("paused");
  if (canShareSlots()) releaseNotifier = acquireSlot("notify", connect);
}
