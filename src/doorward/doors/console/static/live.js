// What happens, as it happens: one stream for the whole tab, which goes on where it was after a drop or a restart.

import { refresh, session } from "./api.js";
import { follow } from "./eventstream.js";
import { signal } from "./signal.js";
import { canAgree, takePlace, whileShown } from "./streamplace.js";

/** In words for people: "live", "reconnecting", "resting" (a hidden tab), "looking" (no place for a stream), "off". */
export const connected = signal("off");

const ROOM = "room-";
const WAITS = [300, 700, 1500, 3000, 5000];
const BEFORE_REST = 10_000;
const BEFORE_LOOKING = 500;
const LOOKING = 5000;
const SILENCE = 25_000;

const listeners = new Set();
const missed = new Set();
let following = null;
let source = null;
let happened = "";
let revision = "";
let failures = 0;
let timer = 0;
let watchdog = 0;
let started = false;
let ending = null;
let letGo = null;
let notifier = null;
let placed = false;

/** Be told of events whose name begins with `prefix` (all with ""): `fn({id, event, at, data})`. Returns what ends it. */
export function onEvent(prefix, fn) {
  const entry = { prefix, fn };
  listeners.add(entry);
  return () => listeners.delete(entry);
}

/** Be told when there was more than is kept, so that what a page shows must be fetched anew. Returns what ends it. */
export function onMissed(fn) {
  missed.add(fn);
  return () => missed.delete(fn);
}

/** Follow a room from a revision on: `fn(kind, data)` with kind message, typing, presence, draft, thinking, … */
export function onRoom(room, fn, since = "") {
  const mine = { room, fn };
  following = mine;
  revision = String(since);
  reconnect();
  return () => {
    if (following !== mine) return;
    following = null;
    revision = "";
    reconnect();
  };
}

export function start() {
  if (started) return;
  started = true;
  document.addEventListener("visibilitychange", visible);
  addEventListener("online", reconnect);
  ending = whileShown(() => {
    connect();
    return away;
  });
}

export function stop() {
  started = false;
  document.removeEventListener("visibilitychange", visible);
  removeEventListener("online", reconnect);
  ending?.();
  ending = null;
  happened = "";
  connected.set("off");
}

function close() {
  clearTimeout(timer);
  clearTimeout(watchdog);
  source?.();
  source = null;
}

// Let go of everything that other tabs may want: the stream, its place, and that of the one who notifies.
function away() {
  close();
  letGo?.();
  notifier?.();
  letGo = null;
  notifier = null;
  placed = false;
}

function reconnect() {
  if (!started) return;
  failures = 0;
  // Whatever asks for it in the same moment (one room left, the next entered) costs one connection.
  close();
  timer = setTimeout(connect, 0);
}

function connect() {
  close();
  if (!started || !session.value?.loggedIn) return;
  if (document.visibilityState === "hidden" && !notifier) {
    rest();
  } else if (placed) {
    listen();
  } else {
    timer = setTimeout(look, BEFORE_LOOKING);
    letGo ??= takePlace("stream", () => {
      placed = true;
      close();
      listen();
    });
  }
}

function listen() {
  const since = happened || revision ? `${happened}/${following ? revision : ""}` : "";
  source = follow("/console/stream", { query: { room: following?.room }, last: since, heard, ended: lost });
  alive();
}

// Other tabs have all the streams that this browser may open: look every few seconds, until one of them lets go.
function look() {
  connected.set("looking");
  for (const fn of [...missed]) guarded(fn);
  if (following) guarded(following.fn, "ready", { whole: false });
  timer = setTimeout(look, LOOKING);
}

function heard(name, data, id) {
  alive();
  if (id) [happened, revision] = id.split("/");
  if (name === "ready") {
    failures = 0;
    connected.set("live");
    if (data.missed) for (const fn of [...missed]) fn();
  } else if (name === "happened") {
    for (const { prefix, fn } of [...listeners]) if (data.event.startsWith(prefix)) guarded(fn, data);
  } else if (name === "end") {
    lost();
  } else if (name.startsWith(ROOM) && following) {
    guarded(following.fn, name.slice(ROOM.length), data);
  }
}

// The server says something at least every ten seconds. A connection that says nothing for longer is dead, as after a
// laptop slept, also where nobody tells the browser.
function alive() {
  clearTimeout(watchdog);
  watchdog = setTimeout(lost, SILENCE);
}

function lost() {
  close();
  if (!started) return;
  connected.set("reconnecting");
  const wait = WAITS[Math.min(failures, WAITS.length - 1)];
  failures += 1;
  timer = setTimeout(again, wait * (0.75 + Math.random() / 2));
}

async function again() {
  try {
    if (!(await refresh()).loggedIn) return;
    connect();
  } catch {
    lost();
  }
}

function guarded(fn, ...given) {
  try {
    fn(...given);
  } catch (error) {
    console.error("A listener failed", error);
  }
}

// Browsers open few connections to one server, so hidden tabs let go of theirs; one of them stays to notify.
function visible() {
  clearTimeout(timer);
  if (document.visibilityState === "hidden") {
    timer = setTimeout(rest, BEFORE_REST);
    return;
  }
  notifier?.();
  notifier = null;
  if (source === null) reconnect();
}

function rest() {
  if (document.visibilityState === "visible") return;
  away();
  connected.set("resting");
  if (canAgree()) notifier = takePlace("notify", connect);
}
