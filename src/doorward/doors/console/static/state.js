// What the whole console shares: the rooms with what is unread in them, and how many approvals wait.

import { get, session } from "./api.js";
import { onEvent, onMissed } from "./live.js";
import { loadNames } from "./names.js";
import { notify } from "./notify.js";
import { senderOf } from "./room/sender.js";
import { signal } from "./signal.js";
import { say } from "./ui.js";
import { visibleText } from "./visible.js";

/** The rooms you are in: `[{room, title, topic, direct, unread, archived, members, kinds, recipe}]`, or null before it is known. */
export const rooms = signal(null);

/** The approvals that wait: `[{id, room, command, …}]`. */
export const waiting = signal([]);

/** The room that is shown at this moment, whose messages count as read. */
export const openRoom = signal("");

const LAST = () => `doorward-room/${session.value?.tenant}/${session.value?.user}`;

/** The room that one had open last in this browser is where one begins the next time. */
export function rememberRoom(room) {
  try {
    localStorage.setItem(LAST(), room);
  } catch {
    // Storage may be switched off; then one begins in the first room.
  }
}

/** Where one begins: the room that was open last, or `general`, or the first there is; "" where there is none. */
export function firstRoom(mine) {
  const names = mine.filter((one) => !one.archived).map((one) => one.room);
  let last = "";
  try {
    last = localStorage.getItem(LAST()) ?? "";
  } catch {
    // As above.
  }
  return [last, "general", names[0]].find((one) => names.includes(one)) ?? "";
}

let again = {};

/** Fetch anew, soon and once however many ask for it. */
function soon(name, fetch) {
  clearTimeout(again[name]);
  again[name] = setTimeout(() => fetch().catch(() => {}), 120);
}

export async function loadRooms() {
  const { items } = await get("/rooms", {});
  rooms.set(items.map((one) => ({ ...one, unread: one.room === openRoom.value ? 0 : (one.unread ?? 0) })));
}

export async function loadWaiting() {
  const { items } = await get("/approvals", { pending: true, limit: 500 });
  waiting.set(items);
}

/** Say that what is in a room was read. */
export function markRead(room) {
  if (!rooms.value) return;
  rooms.set(rooms.value.map((one) => (one.room === room ? { ...one, unread: 0 } : one)));
}

export function begin() {
  const all = () => {
    soon("rooms", loadRooms);
    soon("waiting", loadWaiting);
    soon("names", loadNames);
  };
  loadNames().catch(() => {});
  loadRooms().catch(() => {});
  loadWaiting().catch(() => {});
  const leave = [
    onMissed(all),
    ...["room:", "persona:"].map((prefix) =>
      onEvent(prefix, () => {
        soon("rooms", loadRooms);
        soon("names", loadNames);
      }),
    ),
    // One's other pages, or other programs of one's own, say how far one has read there.
    onEvent("execution:ended", ({ data }) => {
      if (data.command !== "room/mark" || data.caller !== session.value?.user) return;
      if (rooms.value?.some((one) => one.unread > 0)) soon("rooms", loadRooms);
    }),
    onEvent("chat:message-received", ({ data }) => heard(data)),
    onEvent("approval:", ({ event, data }) => {
      soon("waiting", loadWaiting);
      if (event !== "approval:requested") return;
      const words = `${visibleText(data.caller ?? "Somebody")} asks to run ${visibleText(data.command ?? "a command")}`;
      say(`An approval waits: ${words}`, true);
      notify("An approval waits", words, "/console/approvals", `approval-${data.approval ?? ""}`);
    }),
    onEvent("question:asked", ({ data }) => {
      const words = `The server ${visibleText(data.server)} asks something`;
      say(words, true);
      notify("A server asks", words, "/console/approvals", `question-${data.question}`);
    }),
  ];
  return () => leave.forEach((one) => one());
}

function heard(data) {
  if (data.room === openRoom.value && document.visibilityState === "visible") return;
  const found = rooms.value?.find((one) => one.room === data.room);
  if (!found || data.sender === session.value?.user) return;
  if (data.room !== openRoom.value)
    rooms.set(rooms.value.map((one) => (one === found ? { ...one, unread: (one.unread ?? 0) + 1 } : one)));
  notify(
    `${visibleText(senderOf(data))} in ${visibleText(found.title || found.room)}`,
    visibleText(data.text ?? ""),
    `/console/rooms/${encodeURIComponent(data.room)}`,
    `room-${data.room}`,
  );
}
