// One room: what was said, what goes on, and a place to write.

import { get, part, Problem, run, session } from "../api.js";
import { connected, onEvent, onMissed, onRoom } from "../live.js";
import { fullName, nameOf, names } from "../names.js";
import { loadRooms, markRead, openRoom, rememberRoom } from "../state.js";
import {
  Button,
  ErrorBox,
  html,
  Loading,
  say,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useSignal,
  useState,
  Visible,
} from "../ui.js";
import { visibleText } from "../visible.js";
import { Composer } from "./composer.js";
import { History } from "./history.js";
import { outbox, outgoing, send, settle } from "./outbox.js";
import { Panel } from "./panel.js";
import { Named, senderOf } from "./sender.js";
import { EMPTY, heard, PAGE, unseen, withMessages, withPage } from "./timeline.js";

const TYPING = 4000;
const COVERED = "(max-width: 60rem)"; // where a panel lies over the room, and not beside it
const WAITS = [1000, 2000, 4000, 8000, 15_000];

/** Whether a room that could not be opened may open yet: the server was not there, or was asked too much. */
const mayOpen = (problem) => !(problem instanceof Problem) || problem.status === 0 || problem.status === 429 || problem.status >= 500;

export function Room({ name, navigate, query }) {
  const [facts, setFacts] = useState(null);
  const [state, setState] = useState(EMPTY);
  const [problem, setProblem] = useState(null);
  const [ready, setReady] = useState(false);
  const [panel, setPanel] = useState("");
  const [out, setOut] = useState(false);
  const [replying, setReplying] = useState(null);
  const [personas, setPersonas] = useState([]);
  const [firstUnread, setFirstUnread] = useState(0);
  const [aim, setAim] = useState(null); // the message that an address leads to
  useSignal(names);
  const path = `/rooms/${part(name)}`;
  const latest = useRef(state);
  latest.current = state;
  const mentions = useMemo(() => new Set(Object.keys(facts?.members ?? {})), [Object.keys(facts?.members ?? {}).join()]);
  const sending = unseen(outgoing(useSignal(outbox), name), state.messages, session.value.user);

  const loadFacts = useCallback(async () => {
    const [room, found] = await Promise.all([get(path), get("/personas").catch(() => ({ items: [] }))]);
    setFacts(room);
    setPersonas(found.items.filter((one) => one.id in room.members));
    return room;
  }, [path]);

  const loadNewest = useCallback(async () => {
    const page = await get(`${path}/messages`, { limit: PAGE });
    setState((before) => {
      if (before.newer) return before; // the newest come when one goes there
      const taken = withMessages(before, page.items);
      return { ...taken, older: before.messages.length ? before.older : page.next };
    });
    return page.items.reduce((most, one) => Math.max(most, one.revision ?? 0), 0);
  }, [path]);

  const toNewest = async () => {
    const page = await get(`${path}/messages`, { limit: PAGE });
    setState((before) => withPage(before, page));
    await loadNewest(); // what came meanwhile
  };

  // Each address that names a message leads there, also the same once more.
  useEffect(() => {
    if (!ready || !query?.at) return undefined;
    let gone = false;
    const go = async () => {
      try {
        if (!latest.current.messages.some((one) => one.id === query.at)) {
          const page = await get(`${path}/messages`, { limit: PAGE, around: query.at });
          if (!gone) setState((before) => withPage(before, page));
        }
        if (!gone) setAim({ id: query.at });
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
    let leave = () => {};
    let gone = false;
    let again = 0;
    let tries = 0;
    let opening = false;
    openRoom.set(name);
    markRead(name);
    const begin = async () => {
      clearTimeout(again);
      again = 0;
      opening = true;
      try {
        const [room, revision] = await Promise.all([loadFacts(), loadNewest()]);
        if (gone) return;
        setFirstUnread(room.unread > 0 ? (room.read ?? 0) : -1);
        rememberRoom(name);
        leave = onRoom(name, listen, revision);
        setProblem(null);
        setReady(true);
      } catch (error) {
        if (gone) return;
        setProblem(error);
        if (!mayOpen(error)) return;
        const wait = Math.max(WAITS[Math.min(tries, WAITS.length - 1)], (error.retryAfter ?? 0) * 1000);
        tries += 1;
        again = setTimeout(begin, wait);
      } finally {
        opening = false;
      }
    };
    const listen = (kind, data) => {
      if (kind === "error") {
        const taken = data.code === "not_permitted" || data.code === "not_found";
        setOut(taken);
        if (taken) setPanel("");
        setProblem(new Problem({ title: taken ? "This room is closed to you now" : "This room cannot be followed", ...data }));
        loadRooms().catch(() => {});
      }
      if (kind === "ready") setOut(false);
      if (kind === "ready" && data?.whole === false) loadNewest().catch(() => {});
      if (kind === "ready") setState((before) => ({ ...before, typing: {}, drafts: [], thinking: {}, here: data?.here ?? before.here }));
      if (kind === "message" && data.sender !== session.value.user && !latest.current.messages.some((one) => one.id === data.id))
        say(`${visibleText(senderOf(data))}: ${visibleText(data.text).slice(0, 300)}`);
      setState((before) => heard(before, kind, data));
    };
    begin();
    const others = [
      connected.subscribe((now) => now === "live" && again && !opening && begin()),
      onMissed(() => loadFacts().catch(() => {})),
      onEvent("room:", ({ data }) => data.room === name && loadFacts().catch(() => {})),
      onEvent("persona:", () => loadFacts().catch(() => {})),
    ];
    return () => {
      gone = true;
      openRoom.set("");
      clearTimeout(again);
      leave();
      others.forEach((one) => one());
    };
  }, [name]);

  useEffect(() => {
    document.title = `${visibleText(facts?.title ?? name)} · Doorward`;
  }, [facts?.title]);

  useReadMark(name, state, ready, facts?.read ?? 0);

  useEffect(() => settle(name, new Set(state.messages.map((one) => one.id))), [state.messages, sending]);

  const say_ = async (text, attachments) => {
    const after = latest.current.messages.at(-1)?.position ?? 0;
    setProblem(null);
    const said = await send(name, { text, attachments, replyTo: replying?.id ?? "", after });
    setReplying(null);
    if (said?.note) setProblem(new Problem({ title: "No decision", detail: said.note }));
  };

  if (problem && !facts)
    return html`<section class="page"><h1 id="page-title" tabindex="-1"><${Visible} text=${name} /></h1><${ErrorBox} problem=${problem} /></section>`;
  if (!facts) return html`<${Loading} label="Opening the room…" />`;
  return html`<section class="page plain room" aria-labelledby="page-title">
    <${Head} facts=${facts} here=${state.here} panel=${panel} setPanel=${setPanel} out=${out} />
    <div class="room-body">
      <div class="room-main">
        <${History}
          path=${path} facts=${facts} state=${state} sending=${sending} setState=${setState} ready=${ready} mentions=${mentions}
          firstUnread=${firstUnread} onReply=${setReplying} aim=${aim} toNewest=${toNewest} />
        <${Activity} state=${state} setState=${setState} name=${name} />
        ${problem && html`<div class="room-problem"><${ErrorBox} problem=${problem} /><${Button} kind="small quiet" onClick=${() => setProblem(null)}>Close</${Button}></div>`}
        <${Suggestions} personas=${personas} messages=${[...state.messages, ...sending]} send=${say_} archived=${facts.archived || out} direct=${facts.direct} members=${facts.kinds} />
        ${facts.archived || out
          ? html`<p class="note composer-closed">${out ? "You hear nothing more of this room, and say nothing in it." : "This room is archived: it can be read, and nothing is said or run in it."}</p>`
          : html`<${Composer} path=${path} members=${facts} replying=${replying} onUnreply=${() => setReplying(null)} send=${say_} />`}
      </div>
      ${panel && html`<${Panel} kind=${panel} facts=${facts} personas=${personas} here=${state.here} onClose=${() => setPanel("")} onFound=${() => matchMedia(COVERED).matches && setPanel("")} reload=${loadFacts} path=${path} navigate=${navigate} />`}
    </div>
  </section>`;
}

function Head({ facts, here, panel, setPanel, out }) {
  const toggle = (kind) => setPanel(panel === kind ? "" : kind);
  const count = Object.keys(facts.members).length;
  const pressed = (kind) => (panel === kind ? "true" : "false");
  return html`<header class="room-head">
    <div class="room-titles">
      <h1 id="page-title" tabindex="-1"><${Visible} text=${facts.title || facts.room} /></h1>
      ${facts.topic && html`<p class="quiet" title=${visibleText(facts.topic)}><${Visible} text=${facts.topic} /></p>`}
      <p class="quiet">Recipe <a href=${`/console/recipes/${part(facts.recipe)}`}>${facts.recipe}</a></p>
    </div>
    ${!out && html`<div class="actions">
      <${Button} kind="small quiet" aria-pressed=${pressed("search")} data-opens-search onClick=${() => toggle("search")}>Search</${Button}>
      <${Button} kind="small quiet" aria-pressed=${pressed("members")} onClick=${() => toggle("members")}>
        <span>${count} ${count === 1 ? "member" : "members"}${here?.length ? html`<span class="here-count">, ${here.length} here</span>` : ""}</span>
      </${Button}>
      <${Button} kind="small quiet" aria-pressed=${pressed("settings")} aria-label="Room settings" onClick=${() => toggle("settings")}><span><span class="room-word">Room </span><span>settings</span></span></${Button}>
    </div>`}
  </header>`;
}

// One line of fixed height, so that nothing moves when somebody begins or stops to write.
function Activity({ state, setState, name }) {
  const [stopping, setStopping] = useState("");
  const typing = Object.keys(state.typing).filter((one) => one !== session.value.user);
  useEffect(() => {
    if (!typing.length) return undefined;
    const timer = setTimeout(() => {
      const since = Date.now() - TYPING;
      setState((before) => ({ ...before, typing: Object.fromEntries(Object.entries(before.typing).filter(([, at]) => at > since)) }));
    }, TYPING);
    return () => clearTimeout(timer);
  }, [typing.join()]);
  const stop = async (persona) => {
    setStopping(persona);
    try {
      await run("persona/stop", { id: persona, name });
    } catch {
      // That it was over already is just what was wanted.
    } finally {
      setStopping("");
    }
  };
  const busy = Object.entries(state.thinking);
  const words = { thinking: "is thinking", waiting: "waits for a person's word" };
  return html`<div class="activity" role="status">
    ${busy.map(
      ([persona, what]) => html`<span class="thinking" key=${persona}>
        <span class="spinner" aria-hidden="true"></span><span><${Named} id=${persona} /></span> ${words[what] ?? what}
        <${Button} kind="small quiet" busy=${stopping === persona} onClick=${() => stop(persona)}>Stop<span class="unseen"> ${visibleText(nameOf(persona))}</span></${Button}>
      </span>`,
    )}
    ${typing.length > 0 && html`<span class="quiet"><${Visible} text=${typing.slice(0, 3).map(fullName).join(", ")} /> ${typing.length === 1 ? "writes" : "write"}…</span>`}
  </div>`;
}

function Suggestions({ personas, messages, send, archived, direct, members }) {
  if (archived || messages.filter((one) => (one.kind ?? "human") === "human").length > 4) return null;
  const said = new Set(messages.map((one) => one.text.replace(/^@\S+ /, "")));
  const all = personas
    .flatMap((one) => (one.suggestions ?? []).map((text) => ({ persona: one, text })))
    .filter(({ text }) => !said.has(text))
    .slice(0, 6);
  if (!all.length) return null;
  const alone = direct || Object.values(members ?? {}).filter((kind) => kind === "ai").length === 1;
  return html`<div class="suggestions" role="group" aria-label="Questions you could ask">
    ${all.map(({ persona, text }) => html`<button type="button" class="chip" onClick=${() => send(alone ? text : `@${persona.id} ${text}`, [])}><${Visible} text=${text} /></button>`)}
  </div>`;
}

// What is shown in front of a person counts as read, and the server keeps how far. Of several pages the one says so that
// the person has before them, once things are quiet; and none says what the server knows, or what one said oneself.
function useReadMark(name, state, ready, read) {
  const marked = useRef(0);
  marked.current = Math.max(marked.current, read);
  const last = state.messages.findLast((one) => one.sender !== session.value.user)?.position ?? 0;
  useEffect(() => {
    if (!ready || last <= marked.current) return undefined;
    const mark = () => {
      if (last <= marked.current || document.visibilityState !== "visible" || !document.hasFocus()) return;
      marked.current = last;
      markRead(name);
      run("room/mark", { name, position: last }).catch(() => {});
    };
    const timer = setTimeout(mark, 1000);
    const back = () => setTimeout(mark, 400);
    document.addEventListener("visibilitychange", back);
    addEventListener("focus", back);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", back);
      removeEventListener("focus", back);
    };
  }, [last, ready]);
}
