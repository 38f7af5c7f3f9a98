// @ts-check
// State that the whole console shares: the rooms with their unread counts, and the approvals that wait.

import { announce } from "./announce.js";
import { get, session } from "./api.js";
import { escapeInvisible } from "./escape-invisible.js";
import { onEvent, onMissed } from "./live.js";
import { loadNames, senderName } from "./names.js";
import { notify } from "./notifications.js";
import { isTemporary, retryDelay } from "./retry.js";
import { createSignal } from "./signal.js";

/** The rooms of the current user, or null before they are known. */
export const rooms = createSignal(/** @type {Room[] | null} */ (null));

/** The approvals that wait for a decision. */
export const pendingApprovals = createSignal(/** @type {Approval[]} */ ([]));

/** Those that wait for a decision of the current user. @param {Approval[]} approvals */
export const selectMine = (approvals) => approvals.filter((one) => one.waitsForYou);

/** The room that the page shows, whose messages count as read. */
export const openRoom = createSignal("");

const RELOAD_DELAY = 120;
const MIN_EXPIRY_CHECK = 3000;
const MAX_EXPIRY_CHECK = 60_000;
const lastRoomKey = () => `doorward-room/${session.value?.tenant}/${session.value?.user}`;

/** Remember the room that was open last in this browser. @param {string} room */
export function rememberRoom(room) {
  try {
    localStorage.setItem(lastRoomKey(), room);
  } catch {
    // Storage may be disabled. The console then starts in the first room.
  }
}

/** The room to start in: the last one that was open, `general`, or any other; "" when there is none. @param {Room[]} all */
export function chooseFirstRoom(all) {
  const open = all.filter((one) => !one.archived).map((one) => one.room);
  let last = "";
  try {
    last = localStorage.getItem(lastRoomKey()) ?? "";
  } catch {
    // As above.
  }
  return [last, "general", open[0]].find((one) => open.includes(one)) ?? "";
}

/** @type {Record<string, number>} */
const timers = {};

/**
 * Load soon, and once however often this is called. A load that failed for the moment is tried again.
 *
 * @param {string} name
 * @param {() => Promise<void>} load
 * @param {number} [delay]
 */
function loadSoon(name, load, delay = RELOAD_DELAY, tries = 0) {
  clearTimeout(timers[name]);
  const run = () =>
    load().catch((problem) => {
      if (isTemporary(problem)) loadSoon(name, load, retryDelay(problem, tries), tries + 1);
    });
  timers[name] = setTimeout(run, delay);
}

export async function loadRooms() {
  const { items } = await get("/rooms", {});
  rooms.set(items.map((/** @type {Room} */ one) => ({ ...one, unread: one.room === openRoom.value ? 0 : (one.unread ?? 0) })));
}

export async function loadPendingApprovals() {
  const { items } = await get("/approvals", { pending: true, limit: 500 });
  pendingApprovals.set(items);
}

/**
 * Load the pending approvals again when the first of them expires: no event reports that. The server's clock decides, and
 * this one may be ahead or behind.
 */
function watchExpiry() {
  clearTimeout(timers.expiry);
  if (!pendingApprovals.value.length) return;
  const left = Math.min(...pendingApprovals.value.map((one) => Date.parse(one.expiresAt))) - Date.now();
  const delay = left > 0 ? Math.min(left + RELOAD_DELAY, MAX_EXPIRY_CHECK) : MIN_EXPIRY_CHECK;
  timers.expiry = setTimeout(() => loadPendingApprovals().catch(watchExpiry), delay);
}

/** Set the unread count of a room to zero. @param {string} room */
export function markRead(room) {
  if (!rooms.value) return;
  rooms.set(rooms.value.map((one) => (one.room === room ? { ...one, unread: 0 } : one)));
}

/** Load the shared state and keep it up to date. Returns a function that stops that. */
export function startStore() {
  loadSoon("names", loadNames, 0);
  loadSoon("rooms", loadRooms, 0);
  loadSoon("approvals", loadPendingApprovals, 0);
  const reloadRooms = () => {
    loadSoon("rooms", loadRooms);
    loadSoon("names", loadNames);
  };
  const unsubscribe = [
    pendingApprovals.subscribe(watchExpiry),
    () => Object.values(timers).forEach((one) => clearTimeout(one)),
    () => pendingApprovals.set([]),
    onMissed(() => {
      reloadRooms();
      loadSoon("approvals", loadPendingApprovals);
    }),
    onEvent("room:", reloadRooms),
    onEvent("persona:", reloadRooms),
    // Other pages and programs of the same user report how far the user has read.
    onEvent("execution:ended", ({ data }) => {
      if (data.command !== "room/mark" || data.caller !== session.value?.user) return;
      if (rooms.value?.some((one) => one.unread > 0)) loadSoon("rooms", loadRooms);
    }),
    onEvent("chat:message-received", ({ data }) => receiveMessage(data)),
    onEvent("approval:", ({ event, data }) => {
      loadSoon("approvals", loadPendingApprovals);
      if (event !== "approval:requested") return;
      const text = `${escapeInvisible(data.caller ?? "An agent")} wants to run ${escapeInvisible(data.command ?? "a command")}`;
      announce(`Waiting for approval: ${text}`, true);
      notify("Waiting for approval", text, "/console/approvals", `approval-${data.approval ?? ""}`);
    }),
    onEvent("question:asked", ({ data }) => {
      const text = `The server ${escapeInvisible(data.server)} needs an answer`;
      announce(text, true);
      notify("Question from a server", text, "/console/approvals", `question-${data.question}`);
    }),
  ];
  return () => unsubscribe.forEach((one) => one());
}

/** Count and notify a new message, unless its room is in front of the user. @param {Message} message */
function receiveMessage(message) {
  if (message.room === openRoom.value && document.visibilityState === "visible") return;
  const found = rooms.value?.find((one) => one.room === message.room);
  if (!rooms.value || !found || message.sender === session.value?.user) return;
  if (message.room !== openRoom.value)
    rooms.set(rooms.value.map((one) => (one === found ? { ...one, unread: (one.unread ?? 0) + 1 } : one)));
  notify(
    `${escapeInvisible(senderName(message))} in ${escapeInvisible(found.title || found.room)}`,
    escapeInvisible(message.text ?? ""),
    `/console/rooms/${encodeURIComponent(message.room)}`,
    `room-${message.room}`,
  );
}
