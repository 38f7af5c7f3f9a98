// What a room shows, as one value: messages by id in their order, what is being sent, who writes, who thinks.

/** So many messages are fetched at once. */
export const PAGE = 40;

export const EMPTY = {
  messages: [],
  drafts: [],
  typing: {},
  thinking: {},
  here: null,
  older: null, // behind which message there are older ones
  newer: null, // behind which message there are newer ones: then these are not the newest of the room
  revision: 0,
};

const order = (one, other) => (one.position ?? 0) - (other.position ?? 0) || (one.id < other.id ? -1 : 1);

/** The state with messages taken in: a message that is there already is replaced when the new one is newer. */
export function withMessages(state, messages) {
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
    messages: [...known.values()].sort(order),
    typing: Object.fromEntries(Object.entries(state.typing).filter(([member]) => !senders.has(member))),
  };
}

/** The address at which a message is shown in its place. */
export const placeOf = (message) => `/console/rooms/${encodeURIComponent(message.room)}?at=${encodeURIComponent(message.id)}`;

/** The state with other messages instead: some page of the room's history. */
export const withPage = (state, page) => ({ ...withMessages({ ...state, messages: [] }, page.items), older: page.next, newer: page.newer });

/** What is being sent and is not among the messages yet. The stream can be faster than the answer that says which message
 * it became, so one of the same words that came since counts as it. */
export function unseen(sending, messages, me) {
  const known = new Set(messages.map((one) => one.id));
  const taken = new Set(sending.map((one) => one.message));
  return sending.filter((entry) => {
    if (entry.message || entry.problem) return !known.has(entry.message);
    const same = messages.find(
      (one) => one.sender === me && one.position > entry.after && one.text === entry.text && !taken.has(one.id),
    );
    if (same) taken.add(same.id);
    return !same;
  });
}

/** The state after a notice of the room's stream. */
export function heard(state, kind, data) {
  if (kind === "message") return isShown(state, data) ? withMessages(state, [data]) : state;
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

/** Whether a message belongs to what is shown: behind an older page there is a gap up to the newest. */
function isShown(state, message) {
  return !state.newer || message.position <= (state.messages.at(-1)?.position ?? 0);
}
