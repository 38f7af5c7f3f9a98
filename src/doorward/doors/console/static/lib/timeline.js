// @ts-check
// What a room shows, as one immutable value: messages in their order, drafts, and what members do.

/** Number of messages per request. */
export const PAGE = 40;

/** @type {Timeline} */
export const EMPTY = {
  messages: [],
  drafts: [],
  typing: {},
  thinking: {},
  here: null,
  older: null,
  newer: null,
  revision: 0,
};

/** @param {Message} one @param {Message} other */
const compare = (one, other) => (one.position ?? 0) - (other.position ?? 0) || (one.id < other.id ? -1 : 1);

/** Add messages. A known message is replaced by a newer revision. @param {Timeline} state @param {Message[]} messages */
export function mergeMessages(state, messages) {
  if (!messages.length) return state;
  const known = new Map(state.messages.map((one) => [one.id, one]));
  let revision = state.revision;
  for (const one of messages) {
    const before = known.get(one.id);
    if (!before || before.revision <= one.revision) known.set(one.id, one);
    revision = Math.max(revision, one.revision);
  }
  const senders = new Set(messages.map((one) => one.sender));
  return {
    ...state,
    revision,
    messages: [...known.values()].sort(compare),
    typing: Object.fromEntries(Object.entries(state.typing).filter(([member]) => !senders.has(member))),
  };
}

/**
 * Place things of a room between its messages by their time. Returns them by the id of the message before them; "" is the
 * beginning. Those that come after the shown messages are left out while newer messages are not loaded.
 *
 * @template {{createdAt: string}} T
 * @param {Pick<Timeline, "messages" | "newer">} state
 * @param {T[]} things
 */
export function placeBetween({ messages, newer }, things) {
  /** @type {Map<string, T[]>} */
  const places = new Map();
  for (const one of things) {
    const next = messages.findIndex((message) => Date.parse(message.at) > Date.parse(one.createdAt));
    if (next < 0 && newer) continue;
    const id = messages[(next < 0 ? messages.length : next) - 1]?.id ?? "";
    places.set(id, [...(places.get(id) ?? []), one]);
  }
  return places;
}

/** The address that shows a message in its room. @param {Pick<Message, "room" | "id">} message */
export const messageUrl = (message) =>
  `/console/rooms/${encodeURIComponent(message.room)}?at=${encodeURIComponent(message.id)}`;

/**
 * Replace the messages by a page of the room's history.
 *
 * @param {Timeline} state
 * @param {{items: Message[], next: string | null, newer: string | null}} page
 */
export const replacePage = (state, page) => ({
  ...mergeMessages({ ...state, messages: [] }, page.items),
  older: page.next,
  newer: page.newer,
});

/**
 * Outgoing messages that are not in the timeline yet. The stream may be faster than the response that names the message,
 * so a newer message of the same user with the same text counts as it.
 *
 * @param {OutboxEntry[]} entries
 * @param {Message[]} messages
 * @param {string} me
 */
export function selectUnsent(entries, messages, me) {
  const known = new Set(messages.map((one) => one.id));
  const taken = new Set(entries.map((one) => one.message));
  return entries.filter((entry) => {
    if (entry.message || entry.problem) return !entry.message || !known.has(entry.message);
    const same = messages.find(
      (one) => one.sender === me && one.position > entry.after && one.text === entry.text && !taken.has(one.id),
    );
    if (same) taken.add(same.id);
    return !same;
  });
}

/** Apply a notice of the room's stream. @param {Timeline} state @param {string} kind @param {any} data @returns {Timeline} */
export function applyNotice(state, kind, data) {
  if (kind === "message") return isInRange(state, data) ? mergeMessages(state, [data]) : state;
  if (kind === "draft") {
    const others = state.drafts.filter((one) => one.id !== data.id);
    return { ...state, drafts: data.done ? others : [...others, data] };
  }
  if (kind === "thinking") {
    const thinking = { ...state.thinking };
    if (data.state === "idle") delete thinking[data.persona];
    else thinking[data.persona] = data.state;
    return { ...state, thinking };
  }
  if (kind === "typing") return { ...state, typing: { ...state.typing, [data.member]: Date.now() } };
  if (kind === "presence") {
    const here = new Set(state.here ?? []);
    if (data.here) here.add(data.member);
    else here.delete(data.member);
    return { ...state, here: [...here] };
  }
  return state;
}

/** Whether a message continues what is shown. After an older page there is a gap up to the newest messages. */
function isInRange(/** @type {Timeline} */ state, /** @type {Message} */ message) {
  return !state.newer || message.position <= (state.messages.at(-1)?.position ?? 0);
}
