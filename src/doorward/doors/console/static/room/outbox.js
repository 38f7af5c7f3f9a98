// What this browser sends to rooms, until the server has said that it has it. It is kept here and not by the page of a room,
// so that leaving the room loses nothing, and is sent again with the same key, so that nothing comes twice.

import { newKey, part, post, Problem, session } from "../api.js";
import { connected } from "../live.js";
import { signal } from "../signal.js";
import { openRoom } from "../state.js";

const WAITS = [1500, 3000, 6000, 15_000];

/** `[{key, by, room, text, attachments, replyTo, after, tries, problem, refused, message}]`, oldest first. */
export const outbox = signal([]);

const me = () => `${session.value?.tenant}/${session.value?.user}`;
const timers = new Map();

/** What one's own entries for a room are. */
export const outgoing = (entries, room) => entries.filter((one) => one.room === room && one.by === me());

/** Say something. Gives the server's answer, or null where it did not arrive and is sent again; throws what was refused. */
export function send(room, { text, attachments = [], replyTo = "", after = 0 }) {
  const entry = { key: newKey(), by: me(), room, text, attachments, replyTo, after, tries: 0, problem: null };
  outbox.set([...outbox.value, entry]);
  return attempt(entry.key);
}

export function discard(key) {
  clearTimeout(timers.get(key));
  timers.delete(key);
  outbox.set(outbox.value.filter((one) => one.key !== key));
}

/** Let go of what a room's page shows as a message by now. */
export function settle(room, known) {
  const left = outbox.value.filter((one) => one.room !== room || !known.has(one.message));
  if (left.length < outbox.value.length) outbox.set(left);
}

const change = (key, facts) => outbox.set(outbox.value.map((one) => (one.key === key ? { ...one, ...facts } : one)));

async function attempt(key) {
  clearTimeout(timers.get(key));
  const entry = outbox.value.find((one) => one.key === key);
  if (!entry || entry.message || entry.refused || entry.by !== me()) return null;
  change(key, { problem: null });
  const body = { text: entry.text };
  if (entry.attachments.length) body.attachments = entry.attachments.map((one) => one.id);
  if (entry.replyTo) body.replyTo = entry.replyTo;
  try {
    const said = await post(`/rooms/${part(entry.room)}/messages`, body, { headers: { "Idempotency-Key": key } });
    // The room's stream brings the message itself; where nobody looks at the room, nothing is left to show.
    if (openRoom.value === entry.room) change(key, { message: said.message });
    else discard(key);
    return said;
  } catch (problem) {
    if (arrives(problem)) {
      change(key, { problem, tries: entry.tries + 1 });
      timers.set(key, setTimeout(attempt, WAITS[Math.min(entry.tries, WAITS.length - 1)], key));
      return null;
    }
    if (!entry.tries) {
      discard(key);
      throw problem;
    }
    change(key, { problem, refused: true });
    return null;
  }
}

/** Whether it may yet arrive: it was not refused, but lost, or its sender is logged out for the moment. */
const arrives = (problem) =>
  !(problem instanceof Problem) || problem.status === 0 || problem.status === 401 || problem.status >= 500 || problem.code === "key_in_use";

connected.subscribe((state) => {
  if (state === "live" || state === "looking") for (const one of outbox.value) if (one.problem && !one.refused) attempt(one.key);
});
