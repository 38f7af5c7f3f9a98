// What was said in a room: newest at the bottom, older ones as one scrolls up, and whoever is at the end stays there.

import { get, session } from "../api.js";
import { Button, Empty, ErrorBox, html, useEffect, useLayoutEffect, useMemo, useRef, useState, Visible } from "../ui.js";
import { Asking } from "./asking.js";
import { Draft, Said, Sending } from "./message.js";
import { discard } from "./outbox.js";
import { sameSender } from "./sender.js";
import { PAGE, withMessages } from "./timeline.js";

export function History({ path, facts, state, sending, setState, ready, mentions, firstUnread, onReply, aim, toNewest }) {
  const place = useRef(null);
  const atEnd = useRef(true);
  const height = useRef(null);
  const top = useRef(0);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const [behind, setBehind] = useState(0);
  const list = state.messages;
  const last = list.at(-1)?.id;

  const fetched = async (fetch) => {
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
  const older = () =>
    state.older &&
    fetched(async () => {
      const page = await get(`${path}/messages`, { limit: PAGE, before: state.older });
      if (!place.current) return; // one has gone on to another page meanwhile
      height.current = place.current.scrollHeight - place.current.scrollTop;
      setState((before) => ({ ...withMessages(before, page.items), older: page.next }));
    });
  const newer = () =>
    fetched(async () => {
      const page = await get(`${path}/messages`, { limit: PAGE, after: state.newer });
      atEnd.current = false;
      setState((before) => ({ ...withMessages(before, page.items), newer: page.newer }));
    });

  useLayoutEffect(() => {
    const box = place.current;
    if (height.current !== null) {
      box.scrollTop = box.scrollHeight - height.current;
      height.current = null;
    } else if (atEnd.current) {
      box.scrollTop = box.scrollHeight;
    }
  });
  useLayoutEffect(() => {
    const found = aim && document.getElementById(`m-${aim.id}`);
    if (!found) return;
    atEnd.current = false;
    found.scrollIntoView({ block: found.offsetHeight < place.current.clientHeight ? "center" : "start" });
    found.focus({ preventScroll: true });
  }, [aim]);
  // What is loaded later (a picture, the facts of an approval) makes the history longer: whoever is at its end stays there.
  useEffect(() => {
    const box = place.current;
    const stay = new ResizeObserver(() => {
      if (atEnd.current) box.scrollTop = box.scrollHeight;
    });
    stay.observe(box);
    stay.observe(box.firstElementChild);
    // Whoever unfolds a message wants to read on there.
    const read = () => {
      atEnd.current = false;
    };
    box.addEventListener("unfolded", read);
    return () => {
      stay.disconnect();
      box.removeEventListener("unfolded", read);
    };
  }, []);
  // Whoever says something wants to see it, and what comes of it.
  const newest = sending.at(-1)?.key;
  useLayoutEffect(() => {
    if (newest) toEnd();
  }, [newest]);
  const seenBefore = useRef(last);
  useEffect(() => {
    if (seenBefore.current && last !== seenBefore.current && !atEnd.current) setBehind((count) => count + 1);
    seenBefore.current = last;
  }, [last]);

  const scrolled = () => {
    const box = place.current;
    if (!box) return;
    // One leaves the end by scrolling up; what comes below while the page itself scrolls there does not count as that.
    const near = box.scrollHeight - box.scrollTop - box.clientHeight < 60;
    atEnd.current = near || (atEnd.current && box.scrollTop >= top.current);
    top.current = box.scrollTop;
    if (atEnd.current && behind) setBehind(0);
    if (box.scrollTop < 200) older();
  };
  const toEnd = async () => {
    if (state.newer) await fetched(toNewest);
    atEnd.current = true;
    setBehind(0);
    if (place.current) place.current.scrollTop = place.current.scrollHeight;
  };
  const byId = useMemo(() => new Map(list.map((one) => [one.id, one])), [list]);
  const me = session.value.user;
  let previous = null;
  const move = (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step || !event.target.matches("article.said")) return;
    event.preventDefault();
    const articles = [...place.current.querySelectorAll("article.said")];
    articles[articles.indexOf(event.target) + step]?.focus();
  };
  return html`<div class="history-wrap">
    <div class="history" ref=${place} onScroll=${scrolled} onKeyDown=${move} tabindex="0" role="log" aria-live="off" aria-label="Messages"><div class="history-inside">
      ${state.older && html`<p class="more"><${Button} kind="small quiet" busy=${busy} onClick=${older}>${busy ? "Loading…" : "Older messages"}</${Button}></p>`}
      ${!state.older && ready && html`<p class="beginning quiet">This is the beginning of <${Visible} text=${facts.title || facts.room} />.</p>`}
      <${ErrorBox} problem=${problem} onRetry=${older} />
      ${ready && !list.length && !sending.length && html`<${Empty} title="Nothing was said here yet">Write the first message below.</${Empty}>`}
      ${list.map((one) => {
        const day = new Date(one.at).toDateString();
        const dayBefore = previous && new Date(previous.at).toDateString();
        const joined = previous && sameSender(previous, one) && day === dayBefore && !previous.deletedAt && new Date(one.at) - new Date(previous.at) < 300_000;
        const unread = firstUnread >= 0 && one.position > firstUnread && (!previous || previous.position <= firstUnread) && one.sender !== me;
        previous = one;
        return html`${day !== dayBefore && html`<p class="day" key=${`day-${day}`}><span>${new Date(one.at).toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long" })}</span></p>`}
          ${unread && html`<p class="unread-line" key="unread"><span>New since you were here</span></p>`}
          <${Said} key=${one.id} message=${one} joined=${joined && !unread} mine=${one.sender === me} path=${path} facts=${facts} mentions=${mentions}
            reach=${one.id === last} aimed=${one.id === aim?.id} answered=${one.replyTo ? byId.get(one.replyTo) ?? { id: one.replyTo } : null} onReply=${onReply} />`;
      })}
      ${sending.map((one) => html`<${Sending} key=${one.key} entry=${one} me=${me} onDiscard=${() => discard(one.key)} />`)}
      ${state.newer && html`<p class="more"><${Button} kind="small quiet" busy=${busy} onClick=${newer}>${busy ? "Loading…" : "Newer messages"}</${Button}></p>`}
      ${!state.newer && state.drafts.map((one) => html`<${Draft} key=${one.id} draft=${one} mentions=${mentions} />`)}
      ${ready && !state.newer && html`<${Asking} room=${facts.room} messages=${list} />`}
    </div></div>
    ${(behind > 0 || state.newer) && html`<${Button} kind="primary small to-end" onClick=${toEnd}>${state.newer ? "To the newest" : `${behind} new below`}</${Button}>`}
  </div>`;
}
