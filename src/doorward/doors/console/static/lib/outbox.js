// @ts-check
// Messages that this browser is sending. The outbox outlives the page of a room, so leaving the room loses nothing. It
// sends one message after the other, so a room receives them in order, and repeats with the same idempotency key, so
// nothing arrives twice.

import { createKey, encode, post, Problem, session } from "./api.js";
import { connection } from "./live.js";
import { createSignal } from "./signal.js";
import { openRoom } from "./store.js";

const RETRY_DELAYS = [1500, 3000, 6000, 15_000];
const MAX_STORAGE_TRIES = 5;

/** Oldest first. */
export const outbox = createSignal(/** @type {OutboxEntry[]} */ ([]));

const me = () => `${session.value?.tenant}/${session.value?.user}`;
/** Rooms to which a message is on its way. @type {Set<string>} */
const busy = new Set();
/** By room: the timer of the next attempt. @type {Map<string, number>} */
const timers = new Map();
/** By key: the caller that waits for the response. @type {Map<string, {resolve: (said: any) => void, reject: (problem: any) => void}>} */
const callers = new Map();

/** The entries of the current user for a room. @param {OutboxEntry[]} entries @param {string} room */
export const selectRoom = (entries, room) => entries.filter((one) => one.room === room && one.by === me());

const unsent = (/** @type {string} */ room) =>
  selectRoom(outbox.value, room).filter((one) => !one.message && !one.refused);

/**
 * Send a message. Returns the server's answer, or null when the message waits for another attempt. Throws when the
 * message is refused.
 *
 * @param {string} room
 * @param {{text: string, attachments?: OutboxEntry["attachments"], replyTo?: string, after?: number}} message
 */
export function sendMessage(room, { text, attachments = [], replyTo = "", after = 0 }) {
  const problem = timers.has(room) ? (unsent(room)[0]?.problem ?? null) : null;
  const entry = { key: createKey(), by: me(), room, text, attachments, replyTo, after, tries: 0, problem };
  outbox.set([...outbox.value, entry]);
  // Messages queue behind one that could not be sent.
  if (problem) return Promise.resolve(null);
  const answered = new Promise((resolve, reject) => callers.set(entry.key, { resolve, reject }));
  sendNext(room);
  return answered;
}

/** @param {string} key */
export function discardMessage(key) {
  resolveCaller(key, null);
  outbox.set(outbox.value.filter((one) => one.key !== key));
}

/** Remove the entries that the room shows as messages. @param {string} room @param {Set<string>} known ids of messages */
export function settleRoom(room, known) {
  const left = outbox.value.filter((one) => one.room !== room || !one.message || !known.has(one.message));
  if (left.length < outbox.value.length) outbox.set(left);
}

const change = (/** @type {string} */ key, /** @type {Partial<OutboxEntry>} */ facts) =>
  outbox.set(outbox.value.map((one) => (one.key === key ? { ...one, ...facts } : one)));

/** @param {string} key @param {any} said */
function resolveCaller(key, said) {
  callers.get(key)?.resolve(said);
  callers.delete(key);
}

/** Send the entries of a room, oldest first, until none is left or one does not arrive. @param {string} room */
async function sendNext(room) {
  if (busy.has(room)) return;
  busy.add(room);
  clearTimeout(timers.get(room));
  timers.delete(room);
  try {
    for (let next = unsent(room)[0]; next && (await attempt(next)); ) next = unsent(room)[0];
  } finally {
    busy.delete(room);
  }
}

/** Try to send an entry. Returns whether it is settled: it arrived, or it was refused for good. @param {OutboxEntry} entry */
async function attempt(entry) {
  const { key, room } = entry;
  change(key, { problem: null });
  const body = {
    text: entry.text,
    ...(entry.attachments.length ? { attachments: entry.attachments.map((one) => one.id) } : {}),
    ...(entry.replyTo ? { replyTo: entry.replyTo } : {}),
  };
  try {
    const said = await post(`/rooms/${encode(room)}/messages`, body, { headers: { "Idempotency-Key": key } });
    resolveCaller(key, said);
    // The stream delivers the message itself. If nobody has the room open, there is nothing left to show.
    if (openRoom.value === room) change(key, { message: said.message });
    else discardMessage(key);
    return true;
  } catch (problem) {
    if (mayArrive(problem, entry)) {
      postpone(entry, problem);
      return false;
    }
    const caller = callers.get(key);
    callers.delete(key);
    if (caller) {
      discardMessage(key);
      caller.reject(problem);
    } else change(key, { problem, refused: true });
    return true;
  }
}

/** Retry later, together with everything written after it. @param {OutboxEntry} entry @param {ProblemFacts} problem */
function postpone({ key, room, tries }, problem) {
  change(key, { tries: tries + 1 });
  for (const one of unsent(room)) {
    change(one.key, { problem });
    resolveCaller(one.key, null);
  }
  const delay = Math.max(RETRY_DELAYS[Math.min(tries, RETRY_DELAYS.length - 1)], (problem.retryAfter ?? 0) * 1000);
  timers.set(room, setTimeout(sendNext, delay, room));
}

/**
 * Whether another attempt may succeed: the message was lost and not refused, the sender is logged out for the moment, or
 * it was rate-limited and no caller waits for the response.
 *
 * @param {any} problem
 * @param {OutboxEntry} entry
 */
function mayArrive(problem, { key, tries }) {
  if (!(problem instanceof Problem)) return true;
  if (problem.status === 429) return !callers.has(key);
  if (problem.code === "not_kept") return tries < MAX_STORAGE_TRIES;
  return problem.status === 0 || problem.status === 401 || problem.status >= 500 || problem.code === "key_in_use";
}

connection.subscribe((state) => {
  if (state !== "live" && state !== "polling") return;
  for (const room of new Set(outbox.value.map((one) => one.room))) sendNext(room);
});
