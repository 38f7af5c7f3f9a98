// What this browser sends to rooms, until the server has said that it has it. It is kept here and not by the page of a room,
// so that leaving the room loses nothing; it is sent one after the other, so that a room gets it in the order in which it
// was written; and sent again with the same key, so that nothing comes twice.

import { newKey, part, post, Problem, session } from "../api.js";
import { connected } from "../live.js";
import { signal } from "../signal.js";
import { openRoom } from "../state.js";

const WAITS = [1500, 3000, 6000, 15_000];
const MOST_UNKEPT = 5;

/** `[{key, by, room, text, attachments, replyTo, after, tries, problem, refused, message}]`, oldest first. */
export const outbox = signal([]);

const me = () => `${session.value?.tenant}/${session.value?.user}`;
const busy = new Set(); // rooms to which something is on its way
const timers = new Map(); // by room: when what is held up there is tried again
const callers = new Map(); // by key: whoever waits for the answer to what they just wrote

/** What one's own entries for a room are. */
export const outgoing = (entries, room) => entries.filter((one) => one.room === room && one.by === me());

const unsent = (room) => outgoing(outbox.value, room).filter((one) => !one.message && !one.refused);

/** Say something. Gives the server's answer, or null where it did not arrive and is sent again; throws what was refused. */
export function send(room, { text, attachments = [], replyTo = "", after = 0 }) {
  const problem = timers.has(room) ? (unsent(room)[0]?.problem ?? null) : null;
  const entry = { key: newKey(), by: me(), room, text, attachments, replyTo, after, tries: 0, problem };
  outbox.set([...outbox.value, entry]);
  // Behind something that is held up, it waits its turn.
  if (problem) return Promise.resolve(null);
  const answered = new Promise((done, failed) => callers.set(entry.key, { done, failed }));
  sendNext(room);
  return answered;
}

export function discard(key) {
  answer(key, null);
  outbox.set(outbox.value.filter((one) => one.key !== key));
}

/** Let go of what a room's page shows as a message by now. */
export function settle(room, known) {
  const left = outbox.value.filter((one) => one.room !== room || !known.has(one.message));
  if (left.length < outbox.value.length) outbox.set(left);
}

const change = (key, facts) => outbox.set(outbox.value.map((one) => (one.key === key ? { ...one, ...facts } : one)));

function answer(key, said) {
  callers.get(key)?.done(said);
  callers.delete(key);
}

/** Send what is there for a room, oldest first, until nothing is left or something does not arrive. */
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

/** Try to send one. Whether it is over with it: it arrived, or was refused for good. */
async function attempt(entry) {
  const { key, room } = entry;
  change(key, { problem: null });
  const body = { text: entry.text };
  if (entry.attachments.length) body.attachments = entry.attachments.map((one) => one.id);
  if (entry.replyTo) body.replyTo = entry.replyTo;
  try {
    const said = await post(`/rooms/${part(room)}/messages`, body, { headers: { "Idempotency-Key": key } });
    answer(key, said);
    // The room's stream brings the message itself; where nobody looks at the room, nothing is left to show.
    if (openRoom.value === room) change(key, { message: said.message });
    else discard(key);
    return true;
  } catch (problem) {
    if (mayArrive(problem, entry)) {
      hold(entry, problem);
      return false;
    }
    const caller = callers.get(key);
    callers.delete(key);
    if (caller) {
      discard(key);
      caller.failed(problem);
    } else change(key, { problem, refused: true });
    return true;
  }
}

/** Wait before it is tried again, and all that was written after it with it. */
function hold({ key, room, tries }, problem) {
  change(key, { tries: tries + 1 });
  for (const one of unsent(room)) {
    change(one.key, { problem });
    answer(one.key, null);
  }
  const wait = Math.max(WAITS[Math.min(tries, WAITS.length - 1)], (problem.retryAfter ?? 0) * 1000);
  timers.set(room, setTimeout(sendNext, wait, room));
}

/** Whether it may yet arrive: it was not refused, but lost; its sender is logged out for the moment; or nobody is there any
 * more to be told that it came too fast. */
function mayArrive(problem, { key, tries }) {
  if (!(problem instanceof Problem)) return true;
  if (problem.status === 429) return !callers.has(key);
  if (problem.code === "not_kept") return tries < MOST_UNKEPT;
  return problem.status === 0 || problem.status === 401 || problem.status >= 500 || problem.code === "key_in_use";
}

connected.subscribe((state) => {
  if (state === "live" || state === "looking") for (const room of new Set(outbox.value.map((one) => one.room))) sendNext(room);
});
