// One room: what was said, what goes on, and a place to write.

import { get, newKey, part, post, Problem, run, session } from "../api.js";
import { onEvent, onMissed, onRoom } from "../live.js";
import { markRead, openRoom } from "../state.js";
import {
  Button,
  ErrorBox,
  html,
  Loading,
  say,
  useCallback,
  useEffect,
  useRef,
  useState,
  Visible,
} from "../ui.js";
import { visibleText } from "../visible.js";
import { Composer } from "./composer.js";
import { History } from "./history.js";
import { Panel } from "./panel.js";
import { EMPTY, heard, PAGE, withMessages } from "./timeline.js";

const TYPING = 4000;

export function Room({ name, navigate }) {
  const [facts, setFacts] = useState(null);
  const [state, setState] = useState(EMPTY);
  const [problem, setProblem] = useState(null);
  const [ready, setReady] = useState(false);
  const [panel, setPanel] = useState("");
  const [replying, setReplying] = useState(null);
  const [personas, setPersonas] = useState([]);
  const [firstUnread, setFirstUnread] = useState(0);
  const path = `/rooms/${part(name)}`;
  const latest = useRef(state);
  latest.current = state;

  const loadFacts = useCallback(async () => {
    const [room, found] = await Promise.all([get(path), get("/personas").catch(() => ({ items: [] }))]);
    setFacts(room);
    setPersonas(found.items.filter((one) => one.id in room.members));
    return room;
  }, [path]);

  const loadNewest = useCallback(async () => {
    const page = await get(`${path}/messages`, { limit: PAGE });
    setState((before) => {
      const taken = withMessages(before, page.items);
      return { ...taken, older: before.messages.length ? before.older : page.next };
    });
    return page.items.reduce((most, one) => Math.max(most, one.revision ?? 0), 0);
  }, [path]);

  useEffect(() => {
    let leave = () => {};
    let gone = false;
    openRoom.set(name);
    const begin = async () => {
      try {
        const [room, revision] = await Promise.all([loadFacts(), loadNewest()]);
        if (gone) return;
        setFirstUnread(room.unread > 0 ? (room.read ?? 0) : -1);
        leave = onRoom(name, listen, revision);
        setReady(true);
      } catch (error) {
        if (!gone) setProblem(error);
      }
    };
    const listen = (kind, data) => {
      if (kind === "error") setProblem(new Problem({ title: "This room cannot be followed", ...data }));
      if (kind === "ready" && data?.whole === false) loadNewest().catch(() => {});
      if (kind === "ready") setState((before) => ({ ...before, typing: {}, drafts: [], thinking: {}, here: data?.here ?? before.here }));
      if (kind === "message" && data.sender !== session.value.user && !latest.current.messages.some((one) => one.id === data.id))
        say(`${visibleText(data.sender)}: ${visibleText(data.text).slice(0, 300)}`);
      setState((before) => heard(before, kind, data));
    };
    begin();
    const others = [
      onMissed(() => loadFacts().catch(() => {})),
      onEvent("room:", ({ data }) => data.room === name && loadFacts().catch(() => {})),
      onEvent("persona:", () => loadFacts().catch(() => {})),
    ];
    return () => {
      gone = true;
      openRoom.set("");
      leave();
      others.forEach((one) => one());
    };
  }, [name]);

  useEffect(() => {
    document.title = `${visibleText(facts?.title ?? name)} · Doorward`;
  }, [facts?.title]);

  useReadMark(name, state, ready);

  const post_ = async (entry, again = false) => {
    setState((before) => ({
      ...before,
      sending: [...before.sending.filter((one) => one.key !== entry.key), { ...entry, problem: null }],
    }));
    try {
      const body = { text: entry.text };
      if (entry.attachments.length) body.attachments = entry.attachments.map((one) => one.id);
      if (entry.replyTo) body.replyTo = entry.replyTo;
      const said = await post(`${path}/messages`, body, { headers: { "Idempotency-Key": entry.key } });
      setState((before) => ({
        ...before,
        // The stream brings the message itself; where it was faster, nothing is left to show.
        sending: before.messages.some((one) => one.id === said.message)
          ? before.sending.filter((one) => one.key !== entry.key)
          : before.sending.map((one) => (one.key === entry.key ? { ...one, message: said.message } : one)),
      }));
      if (said.note) setProblem(new Problem({ title: "Nothing was decided", detail: said.note }));
      return true;
    } catch (error) {
      // What the server refused goes back to the composer; what did not arrive waits here and is sent again.
      const lost = !(error instanceof Problem) || error.status === 0 || error.status >= 500 || error.code === "key_in_use";
      const kept = { ...entry, problem: error, refused: !lost };
      setState((before) => ({
        ...before,
        sending: before.sending.flatMap((one) => (one.key !== entry.key ? [one] : lost || again ? [kept] : [])),
      }));
      if (lost || again) return true;
      throw error;
    }
  };

  const send = (text, attachments) =>
    post_({ key: newKey(), text, attachments, replyTo: replying?.id ?? "", at: Date.now() / 1000 }).then((sent) => {
      setReplying(null);
      return sent;
    });

  // After a drop, what did not arrive is sent again with the same key, so that it cannot come twice.
  useEffect(() => {
    const unsent = () => latest.current.sending.filter((one) => one.problem && !one.refused).forEach((one) => post_(one, true));
    const timer = setInterval(unsent, 4000);
    return () => clearInterval(timer);
  }, [path]);

  if (problem && !facts)
    return html`<section class="page"><h1 id="page-title" tabindex="-1"><${Visible} text=${name} /></h1><${ErrorBox} problem=${problem} /></section>`;
  if (!facts) return html`<${Loading} label="Opening the room…" />`;
  const mentions = new Set(Object.keys(facts.members));
  return html`<section class="page plain room" aria-labelledby="page-title">
    <${Head} facts=${facts} here=${state.here} panel=${panel} setPanel=${setPanel} />
    <div class="room-body">
      <div class="room-main">
        <${History}
          path=${path} facts=${facts} state=${state} setState=${setState} ready=${ready} mentions=${mentions}
          firstUnread=${firstUnread} onReply=${setReplying} />
        <${Activity} state=${state} setState=${setState} name=${name} />
        ${problem && html`<div class="room-problem"><${ErrorBox} problem=${problem} /><${Button} kind="small quiet" onClick=${() => setProblem(null)}>Close</${Button}></div>`}
        <${Suggestions} personas=${personas} state=${state} send=${send} archived=${facts.archived} direct=${facts.direct} members=${facts.kinds} />
        ${facts.archived
          ? html`<p class="note composer-closed">This room is archived: it can be read, and nothing is said or run in it.</p>`
          : html`<${Composer} path=${path} members=${facts} replying=${replying} onUnreply=${() => setReplying(null)} send=${send} />`}
      </div>
      ${panel && html`<${Panel} kind=${panel} facts=${facts} personas=${personas} here=${state.here} onClose=${() => setPanel("")} reload=${loadFacts} path=${path} navigate=${navigate} />`}
    </div>
  </section>`;
}

function Head({ facts, here, panel, setPanel }) {
  const toggle = (kind) => setPanel(panel === kind ? "" : kind);
  const count = Object.keys(facts.members).length;
  const pressed = (kind) => (panel === kind ? "true" : "false");
  return html`<header class="room-head">
    <div class="room-titles">
      <h1 id="page-title" tabindex="-1"><${Visible} text=${facts.title || facts.room} /></h1>
      <p class="quiet">${facts.topic ? html`<${Visible} text=${facts.topic} />` : html`Recipe <a href=${`/console/recipes/${encodeURIComponent(facts.recipe)}`}>${facts.recipe}</a>`}</p>
    </div>
    <div class="actions">
      <${Button} kind="small quiet" aria-pressed=${pressed("search")} onClick=${() => toggle("search")}>Search</${Button}>
      <${Button} kind="small quiet" aria-pressed=${pressed("members")} onClick=${() => toggle("members")}>
        <span>${count} ${count === 1 ? "member" : "members"}${here?.length ? html`<span class="here-count">, ${here.length} here</span>` : ""}</span>
      </${Button}>
      <${Button} kind="small quiet" aria-pressed=${pressed("settings")} onClick=${() => toggle("settings")}>Room settings</${Button}>
    </div>
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
        <span class="spinner" aria-hidden="true"></span><strong><${Visible} text=${persona} /></strong> ${words[what] ?? what}
        <${Button} kind="small quiet" busy=${stopping === persona} onClick=${() => stop(persona)}>Stop<span class="unseen"> ${persona}</span></${Button}>
      </span>`,
    )}
    ${typing.length > 0 && html`<span class="quiet"><${Visible} text=${typing.slice(0, 3).join(", ")} /> ${typing.length === 1 ? "writes" : "write"}…</span>`}
  </div>`;
}

function Suggestions({ personas, state, send, archived, direct, members }) {
  const asked = state.messages.filter((one) => one.kind === "human").length + state.sending.length;
  if (archived || asked > 4) return null;
  const said = new Set(state.messages.map((one) => one.text.replace(/^@\S+ /, "")));
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

// What is shown in front of a person counts as read; the server keeps how far.
function useReadMark(name, state, ready) {
  const marked = useRef(0);
  const last = state.messages.at(-1);
  useEffect(() => {
    const mark = () => {
      if (!ready || !last || document.visibilityState !== "visible" || marked.current >= last.position) return;
      marked.current = last.position;
      markRead(name);
      run("room/mark", { name, position: last.position }).catch(() => {});
    };
    const timer = setTimeout(mark, marked.current ? 2000 : 400);
    document.addEventListener("visibilitychange", mark);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", mark);
    };
  }, [last?.id, ready]);
}
