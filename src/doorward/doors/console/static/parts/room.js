// @ts-check
// One room: its messages, what members are doing, and the message field.

import { encode, get, Problem, run, session } from "../lib/api.js";
import { escapeInvisible } from "../lib/escape-invisible.js";
import { connection, followRoom, onEvent, onMissed } from "../lib/live.js";
import { fullName, nameOf, names, senderName } from "../lib/names.js";
import { outbox, selectRoom, sendMessage, settleRoom } from "../lib/outbox.js";
import { isTemporary, retryDelay } from "../lib/retry.js";
import { loadRooms, markRead, openRoom, rememberRoom } from "../lib/store.js";
import { applyNotice, EMPTY, mergeMessages, PAGE, replacePage, selectUnsent } from "../lib/timeline.js";
import { Composer } from "./composer.js";
import { MemberName } from "./member.js";
import { MessageList } from "./message-list.js";
import { announce, Button, createLazy, ErrorBox, html, Loading, SafeText, useCallback, useEffect, useMemo, useRef, useSignal, useState, useTitle } from "./ui.js";

const RoomPanel = createLazy(async () => (await import("./room-panel.js")).RoomPanel);

const TYPING_TIME = 4000;
const NARROW = "(max-width: 60rem)"; // where the panel covers the room

/** @param {{name: string, navigate: Navigate, query?: Record<string, string>}} props */
export function RoomView({ name, navigate, query }) {
  const [facts, setFacts] = useState(/** @type {Room | null} */ (null));
  const [state, setState] = useState(EMPTY);
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [ready, setReady] = useState(false);
  const [panel, setPanel] = useState("");
  const [removed, setRemoved] = useState(false); // the user is no longer a member
  const [replying, setReplying] = useState(/** @type {Message | null} */ (null));
  const [personas, setPersonas] = useState(/** @type {Persona[]} */ ([]));
  const [firstUnread, setFirstUnread] = useState(0);
  const [target, setTarget] = useState(/** @type {{id: string} | null} */ (null)); // the message that the address names
  useSignal(names);
  const path = `/rooms/${encode(name)}`;
  const latest = useRef(state);
  latest.current = state;
  const memberIds = Object.keys(facts?.members ?? {});
  const mentions = useMemo(() => new Set(memberIds), [memberIds.join()]);
  const sending = selectUnsent(selectRoom(useSignal(outbox), name), state.messages, session.value?.user ?? "");

  const loadFacts = useCallback(async () => {
    const [room, found] = await Promise.all([get(path), get("/personas").catch(() => ({ items: [] }))]);
    setFacts(room);
    setPersonas(found.items.filter((one) => one.id in room.members));
    return room;
  }, [path]);

  const loadNewest = useCallback(async () => {
    const page = await get(`${path}/messages`, { limit: PAGE });
    setState((before) => {
      if (before.newer) return before; // the newest messages load when the user goes there
      const merged = mergeMessages(before, page.items);
      return { ...merged, older: before.messages.length ? before.older : page.next };
    });
    return page.items.reduce((most, one) => Math.max(most, one.revision ?? 0), 0);
  }, [path]);

  const toNewest = async () => {
    const page = await get(`${path}/messages`, { limit: PAGE });
    setState((before) => replacePage(before, page));
    await loadNewest(); // messages that arrived in the meantime
  };

  // An address that names a message scrolls to it, also when it is opened again.
  useEffect(() => {
    if (!ready || !query?.at) return undefined;
    let gone = false;
    const go = async () => {
      try {
        if (!latest.current.messages.some((one) => one.id === query.at)) {
          const page = await get(`${path}/messages`, { limit: PAGE, around: query.at });
          if (!gone) setState((before) => replacePage(before, page));
        }
        if (!gone) setTarget({ id: query.at });
      } catch (error) {
        if (!gone) setProblem(error);
      }
    };
    go();
    return () => {
      gone = true;
    };
  }, [ready, query]);

  useEffect(() => {
    let unfollow = () => {};
    let gone = false;
    let retryTimer = 0;
    let tries = 0;
    let opening = false;
    openRoom.set(name);
    markRead(name);
    const open = async () => {
      clearTimeout(retryTimer);
      retryTimer = 0;
      opening = true;
      try {
        const [room, revision] = await Promise.all([loadFacts(), loadNewest()]);
        if (gone) return;
        setFirstUnread(room.unread > 0 ? (room.read ?? 0) : -1);
        rememberRoom(name);
        unfollow = followRoom(name, onNotice, revision);
        setProblem(null);
        setReady(true);
      } catch (error) {
        if (gone) return;
        const retrying = isTemporary(error);
        setProblem(Object.assign(error, { retrying }));
        if (retrying) retryTimer = setTimeout(open, retryDelay(error, tries++));
      } finally {
        opening = false;
      }
    };
    const onNotice = (/** @type {string} */ kind, /** @type {any} */ data) => {
      if (kind === "error") {
        const out = data.code === "not_permitted" || data.code === "not_found";
        setRemoved(out);
        if (out) setPanel("");
        setProblem(new Problem({ title: out ? "You are no longer a member of this room" : "This room cannot be followed", ...data }));
        loadRooms().catch(() => {});
      }
      if (kind === "ready") {
        setRemoved(false);
        if (data?.whole === false) loadNewest().catch(() => {});
        setState((before) => ({ ...before, typing: {}, drafts: [], thinking: {}, here: data?.here ?? before.here }));
      }
      if (kind === "message" && data.sender !== session.value?.user && !latest.current.messages.some((one) => one.id === data.id))
        announce(`${escapeInvisible(senderName(data))}: ${escapeInvisible(data.text).slice(0, 300)}`);
      setState((before) => applyNotice(before, kind, data));
    };
    open();
    const reloadFacts = () => {
      loadFacts().catch(() => {});
    };
    const unsubscribe = [
      connection.subscribe((now) => now === "live" && retryTimer && !opening && open()),
      onMissed(reloadFacts),
      onEvent("room:", ({ data }) => data.room === name && reloadFacts()),
      onEvent("persona:", reloadFacts),
      onEvent("recipe:", reloadFacts),
    ];
    return () => {
      gone = true;
      openRoom.set("");
      clearTimeout(retryTimer);
      unfollow();
      unsubscribe.forEach((one) => one());
    };
  }, [name]);

  useTitle(facts?.title ?? name);
  useReadMark(name, state, ready, facts?.read ?? 0);

  useEffect(() => settleRoom(name, new Set(state.messages.map((one) => one.id))), [state.messages, sending]);

  const send = async (/** @type {string} */ text, /** @type {OutboxEntry["attachments"]} */ attachments) => {
    const after = latest.current.messages.at(-1)?.position ?? 0;
    setProblem(null);
    const said = await sendMessage(name, { text, attachments, replyTo: replying?.id ?? "", after });
    setReplying(null);
    if (said?.note) setProblem(new Problem({ title: "No decision", detail: said.note }));
  };

  if (problem && !facts)
    return html`<section class="page"><h1 id="page-title" tabindex="-1"><${SafeText} text=${name} /></h1><${ErrorBox} problem=${problem} /></section>`;
  if (!facts) return html`<${Loading} label="Opening room…" />`;
  const closed = facts.archived || removed;
  return html`<section class="page plain room" aria-labelledby="page-title">
    <${RoomHeader} facts=${facts} here=${state.here} panel=${panel} setPanel=${setPanel} removed=${removed} />
    <div class="room-body">
      <div class="room-main">
        <${MessageList}
          path=${path} facts=${facts} state=${state} sending=${sending} setState=${setState} ready=${ready} mentions=${mentions}
          firstUnread=${firstUnread} onReply=${setReplying} target=${target} toNewest=${toNewest} />
        <${Activity} state=${state} setState=${setState} name=${name} />
        ${problem && html`<div class="room-problem"><${ErrorBox} problem=${problem} /><${Button} kind="small quiet" onClick=${() => setProblem(null)}>Close</${Button}></div>`}
        ${!closed && html`<${Suggestions} personas=${personas} messages=${[...state.messages, ...sending]} send=${send} facts=${facts} />`}
        ${closed
          ? html`<p class="note composer-closed">${removed ? "You cannot send messages here." : "This room is archived and read-only."}</p>`
          : html`<${Composer} path=${path} facts=${facts} replying=${replying} onCancelReply=${() => setReplying(null)} send=${send} />`}
      </div>
      ${panel && html`<${RoomPanel} kind=${panel} facts=${facts} personas=${personas} here=${state.here} onClose=${() => setPanel("")} onFound=${() => matchMedia(NARROW).matches && setPanel("")} reload=${loadFacts} path=${path} navigate=${navigate} />`}
    </div>
  </section>`;
}

function RoomHeader({ facts, here, panel, setPanel, removed }) {
  const toggle = (/** @type {string} */ kind) => setPanel(panel === kind ? "" : kind);
  const count = Object.keys(facts.members).length;
  const pressed = (/** @type {string} */ kind) => (panel === kind ? "true" : "false");
  return html`<header class="room-head">
    <div class="room-titles">
      <h1 id="page-title" tabindex="-1"><${SafeText} text=${facts.title || facts.room} /></h1>
      ${facts.topic && html`<p class="quiet" title=${escapeInvisible(facts.topic)}><${SafeText} text=${facts.topic} /></p>`}
      <p class="quiet">Recipe <a href=${`/console/recipes/${encode(facts.recipe)}`}>${facts.recipe}</a></p>
      ${facts.observes && html`<p class="note" role="status"><strong>Observes only.</strong> The recipe refuses nothing and asks for nothing; it records what it would have done.</p>`}
    </div>
    ${!removed &&
    html`<div class="actions">
      ${facts.drafts && html`<${Button} kind="small quiet" aria-pressed=${pressed("drafts")} onClick=${() => toggle("drafts")}>Drafts</${Button}>`}
      <${Button} kind="small quiet" aria-pressed=${pressed("search")} data-opens-search onClick=${() => toggle("search")}>Search</${Button}>
      <${Button} kind="small quiet" aria-pressed=${pressed("members")} onClick=${() => toggle("members")}>
        <span>${count} ${count === 1 ? "member" : "members"}${here?.length ? html`<span class="here-count">, ${here.length} here</span>` : ""}</span>
      </${Button}>
      <${Button} kind="small quiet" aria-pressed=${pressed("settings")} aria-label="Room settings" onClick=${() => toggle("settings")}><span><span class="room-word">Room </span><span>settings</span></span></${Button}>
    </div>`}
  </header>`;
}

/** @type {Record<string, string>} */
const ACTIVITIES = { thinking: "is thinking", waiting: "is waiting for approval" };

/** Who is thinking or typing. The line has a fixed height, so that nothing moves. */
function Activity({ state, setState, name }) {
  const [stopping, setStopping] = useState("");
  const typing = Object.keys(state.typing).filter((one) => one !== session.value?.user);
  useEffect(() => {
    if (!typing.length) return undefined;
    const timer = setTimeout(() => {
      const since = Date.now() - TYPING_TIME;
      setState((before) => ({ ...before, typing: Object.fromEntries(Object.entries(before.typing).filter(([, at]) => at > since)) }));
    }, TYPING_TIME);
    return () => clearTimeout(timer);
  }, [typing.join()]);
  const stop = async (/** @type {string} */ persona) => {
    setStopping(persona);
    try {
      await run("persona/stop", { id: persona, name });
    } catch {
      // It has already stopped.
    } finally {
      setStopping("");
    }
  };
  return html`<div class="activity" role="status">
    ${Object.entries(state.thinking).map(
      ([persona, what]) => html`<span class="thinking" key=${persona}>
        <span class="spinner" aria-hidden="true"></span><span><${MemberName} id=${persona} /></span> ${ACTIVITIES[what] ?? what}
        <${Button} kind="small quiet" busy=${stopping === persona} onClick=${() => stop(persona)}>Stop<span class="unseen"> ${escapeInvisible(nameOf(persona))}</span></${Button}>
      </span>`,
    )}
    ${typing.length > 0 && html`<span class="quiet"><${SafeText} text=${typing.slice(0, 3).map(fullName).join(", ")} /> ${typing.length === 1 ? "is" : "are"} typing…</span>`}
  </div>`;
}

const MAX_SUGGESTIONS = 6;

/** Suggested questions, while the room has few messages of people. */
function Suggestions({ personas, messages, send, facts }) {
  if (messages.filter((one) => (one.kind ?? "human") === "human").length > 4) return null;
  const asked = new Set(messages.map((one) => one.text.replace(/^@\S+ /, "")));
  const all = personas
    .flatMap((one) => (one.suggestions ?? []).map((text) => ({ persona: one, text })))
    .filter(({ text }) => !asked.has(text))
    .slice(0, MAX_SUGGESTIONS);
  if (!all.length) return null;
  const single = facts.direct || Object.values(facts.kinds ?? {}).filter((kind) => kind === "ai").length === 1;
  return html`<div class="suggestions" role="group" aria-label="Suggested questions">
    ${all.map(({ persona, text }) => html`<button type="button" class="chip" onClick=${() => send(single ? text : `@${persona.id} ${text}`, [])}><${SafeText} text=${text} /></button>`)}
  </div>`;
}

/**
 * Messages that are in front of the user count as read, and the server stores how far. Only the page that has the focus
 * reports it, and only what the server does not know yet.
 *
 * @param {string} name
 * @param {Timeline} state
 * @param {boolean} ready
 * @param {number} read
 */
function useReadMark(name, state, ready, read) {
  const marked = useRef(0);
  marked.current = Math.max(marked.current, read);
  const last = state.messages.findLast((one) => one.sender !== session.value?.user)?.position ?? 0;
  useEffect(() => {
    if (!ready || last <= marked.current) return undefined;
    const mark = () => {
      if (last <= marked.current || document.visibilityState !== "visible" || !document.hasFocus()) return;
      marked.current = last;
      markRead(name);
      run("room/mark", { name, position: last }).catch(() => {});
    };
    const timer = setTimeout(mark, 1000);
    const markSoon = () => setTimeout(mark, 400);
    document.addEventListener("visibilitychange", markSoon);
    addEventListener("focus", markSoon);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", markSoon);
      removeEventListener("focus", markSoon);
    };
  }, [last, ready]);
}
