// @ts-check
// The messages of a room, newest at the bottom. Scrolling up loads older ones; a reader at the end stays at the end.

import { get, session } from "../lib/api.js";
import { isSameSender } from "../lib/names.js";
import { discardMessage } from "../lib/outbox.js";
import { mergeMessages, PAGE, placeBetween } from "../lib/timeline.js";
import { UnattachedApproval, useUnattached } from "./call-card.js";
import { DraftMessage, MessageView, OutgoingMessage } from "./message.js";
import { Button, Empty, ErrorBox, html, SafeText, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./ui.js";

const JOIN_TIME = 300_000; // messages of one sender within this time are shown as one

/**
 * @param {{
 *   path: string, facts: Room, state: Timeline, sending: OutboxEntry[], setState: import("../vendor/preact.js").Update<Timeline>,
 *   ready: boolean, mentions: Set<string>, firstUnread: number, onReply: (message: Message) => void,
 *   target: {id: string} | null, toNewest: () => Promise<void>
 * }} props `target` is the message that the address names
 */
export function MessageList({ path, facts, state, sending, setState, ready, mentions, firstUnread, onReply, target, toNewest }) {
  /** @type {import("./ui.js").ElementRef} */
  const element = useRef(null);
  const atEnd = useRef(true);
  const heightBelow = useRef(/** @type {number | undefined} */ (undefined)); // to keep the position when older messages appear
  const lastTop = useRef(0);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [unseen, setUnseen] = useState(0);
  const list = state.messages;
  const last = list.at(-1)?.id;

  const load = async (/** @type {() => Promise<void>} */ fetch) => {
    if (busy) return;
    setBusy(true);
    try {
      await fetch();
      setProblem(null);
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const loadOlder = () =>
    state.older &&
    load(async () => {
      const page = await get(`${path}/messages`, { limit: PAGE, before: state.older });
      if (!element.current) return; // the user has left the room
      heightBelow.current = element.current.scrollHeight - element.current.scrollTop;
      setState((before) => ({ ...mergeMessages(before, page.items), older: page.next }));
    });
  const loadNewer = () =>
    load(async () => {
      const page = await get(`${path}/messages`, { limit: PAGE, after: state.newer });
      atEnd.current = false;
      setState((before) => ({ ...mergeMessages(before, page.items), newer: page.newer }));
    });

  useLayoutEffect(() => {
    const box = element.current;
    if (heightBelow.current !== undefined) {
      box.scrollTop = box.scrollHeight - heightBelow.current;
      heightBelow.current = undefined;
    } else if (atEnd.current) {
      box.scrollTop = box.scrollHeight;
    }
  });
  useLayoutEffect(() => {
    const found = target && document.getElementById(`m-${target.id}`);
    if (!found) return;
    atEnd.current = false;
    found.scrollIntoView({ block: found.offsetHeight < element.current.clientHeight ? "center" : "start" });
    found.focus({ preventScroll: true });
  }, [target]);
  // Content that loads later (an image, an approval) makes the list longer. A reader at the end stays there.
  useEffect(() => {
    const box = element.current;
    const observer = new ResizeObserver(() => {
      if (atEnd.current) box.scrollTop = box.scrollHeight;
    });
    observer.observe(box);
    if (box.firstElementChild) observer.observe(box.firstElementChild);
    // Expanding a message means reading it.
    const stay = () => {
      atEnd.current = false;
    };
    box.addEventListener("unfolded", stay);
    return () => {
      observer.disconnect();
      box.removeEventListener("unfolded", stay);
    };
  }, []);
  // Sending a message scrolls to it.
  const newest = sending.at(-1)?.key;
  useLayoutEffect(() => {
    if (newest) scrollToEnd();
  }, [newest]);
  const lastSeen = useRef(last);
  useEffect(() => {
    if (lastSeen.current && last !== lastSeen.current && !atEnd.current) setUnseen((count) => count + 1);
    lastSeen.current = last;
  }, [last]);

  const onScroll = () => {
    const box = element.current;
    if (!box) return;
    // Only scrolling up leaves the end. New content below, while the page itself scrolls there, does not.
    const near = box.scrollHeight - box.scrollTop - box.clientHeight < 60;
    atEnd.current = near || (atEnd.current && box.scrollTop >= lastTop.current);
    lastTop.current = box.scrollTop;
    if (atEnd.current && unseen) setUnseen(0);
    if (box.scrollTop < 200) loadOlder();
  };
  const scrollToEnd = async () => {
    if (state.newer) await load(toNewest);
    atEnd.current = true;
    setUnseen(0);
    if (element.current) element.current.scrollTop = element.current.scrollHeight;
  };
  const onKey = (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step || !event.target.matches("article.said")) return;
    event.preventDefault();
    /** @type {HTMLElement[]} */
    const articles = [...element.current.querySelectorAll("article.said")].map((one) => /** @type {HTMLElement} */ (one));
    articles[articles.indexOf(event.target) + step]?.focus();
  };
  const byId = useMemo(() => new Map(list.map((one) => [one.id, one])), [list]);
  const me = session.value?.user ?? "";
  const approvals = useUnattached(facts.room, list);
  const places = placeBetween(state, ready ? approvals.decided : []);
  const showApprovals = (/** @type {{id: string}[]} */ some) => some.map(({ id }) => html`<${UnattachedApproval} key=${id} id=${id} />`);
  // One list with keys: what moves in it keeps its state.
  const rows = [
    ...showApprovals(places.get("") ?? []),
    ...list.flatMap((one, index) => {
      const previous = list[index - 1];
      const day = new Date(one.at).toDateString();
      const previousDay = previous && new Date(previous.at).toDateString();
      const soon = previous && new Date(one.at).getTime() - new Date(previous.at).getTime() < JOIN_TIME;
      const joined = soon && isSameSender(previous, one) && day === previousDay && !previous.deletedAt && !places.has(previous.id);
      const unread = firstUnread >= 0 && one.position > firstUnread && (!previous || previous.position <= firstUnread) && one.sender !== me;
      return [
        day !== previousDay &&
          html`<p class="day" key=${`day-${day}`}><span>${new Date(one.at).toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long" })}</span></p>`,
        unread && html`<p class="unread-line" key="unread"><span>New messages</span></p>`,
        html`<${MessageView} key=${one.id} message=${one} joined=${joined && !unread} mine=${one.sender === me} path=${path} facts=${facts} mentions=${mentions}
          focusable=${one.id === last} targeted=${one.id === target?.id} original=${one.replyTo ? (byId.get(one.replyTo) ?? { id: one.replyTo }) : null} onReply=${onReply} />`,
        ...showApprovals(places.get(one.id) ?? []),
      ];
    }),
    ...sending.map((one) => html`<${OutgoingMessage} key=${one.key} entry=${one} me=${me} onDiscard=${() => discardMessage(one.key)} />`),
    state.newer && html`<p class="more" key="newer"><${Button} kind="small quiet" busy=${busy} onClick=${loadNewer}>${busy ? "Loading…" : "Newer messages"}</${Button}></p>`,
    ...(state.newer ? [] : state.drafts.map((one) => html`<${DraftMessage} key=${one.id} draft=${one} mentions=${mentions} />`)),
    ...(ready && !state.newer ? showApprovals(approvals.waiting) : []),
  ];
  return html`<div class="history-wrap">
    <div class="history" ref=${element} onScroll=${onScroll} onKeyDown=${onKey} tabindex="0" role="log" aria-live="off" aria-label="Messages"><div class="history-inside">
      ${state.older && html`<p class="more"><${Button} kind="small quiet" busy=${busy} onClick=${loadOlder}>${busy ? "Loading…" : "Older messages"}</${Button}></p>`}
      ${!state.older && ready && html`<p class="beginning quiet">This is the beginning of <${SafeText} text=${facts.title || facts.room} />.</p>`}
      <${ErrorBox} problem=${problem} onRetry=${loadOlder} />
      ${ready && !list.length && !sending.length && html`<${Empty} title="No messages yet">Write the first message below.</${Empty}>`}
      ${rows}
    </div></div>
    ${(unseen > 0 || state.newer) && html`<${Button} kind="primary small to-end" onClick=${scrollToEnd}>${state.newer ? "Jump to newest" : `${unseen} new`}</${Button}>`}
  </div>`;
}
