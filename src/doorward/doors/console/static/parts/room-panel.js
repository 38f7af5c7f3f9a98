// @ts-check
// The panel beside a room: its members, search and settings.

import { del, encode, get, put, run, session } from "../lib/api.js";
import { buildExcerpt } from "../lib/format.js";
import { fullName } from "../lib/names.js";
import { loadRooms } from "../lib/store.js";
import { messageUrl } from "../lib/timeline.js";
import { Avatar, MemberName, Sender } from "./member.js";
import { fetchMemberIds } from "./room-dialogs.js";
import {
  Badge,
  Button,
  Confirm,
  createLazy,
  describeKind,
  Dialog,
  Empty,
  ErrorBox,
  Field,
  html,
  Loading,
  MoreButton,
  restoreFocus,
  SafeText,
  Time,
  useLayoutEffect,
  useLoad,
  useRef,
  useState,
} from "./ui.js";

/** @typedef {{facts: Room, personas: Persona[], here: string[] | null, reload: () => Promise<any>, path: string, navigate: Navigate}} PanelProps */

const DraftList = createLazy(async () => (await import("./room-drafts.js")).DraftList);

const TITLES = { drafts: "Drafts", members: "Members", search: "Search", settings: "Room settings" };

/** @param {PanelProps & {kind: keyof typeof TITLES, onClose: () => void, onFound: () => void}} props */
export function RoomPanel({ kind, onClose, ...rest }) {
  /** @type {import("./ui.js").ElementRef} */
  const element = useRef(null);
  const before = useRef(/** @type {HTMLElement | undefined} */ (undefined)); // had the focus when the panel opened
  useLayoutEffect(() => {
    const [panel, focused] = [element.current, /** @type {HTMLElement} */ (document.activeElement)];
    if (!panel.contains(focused)) before.current = focused;
    (/** @type {HTMLElement | null} */ (panel.querySelector("[type=search]")) ?? panel).focus();
  }, [kind]);
  useLayoutEffect(() => {
    const panel = element.current;
    return () => {
      if (document.activeElement === document.body || panel.contains(document.activeElement)) restoreFocus(before.current ?? null);
    };
  }, []);
  const onKey = (event) => event.key === "Escape" && !event.target.closest("dialog") && onClose();
  return html`<aside class="panel" aria-label=${TITLES[kind]} tabindex="-1" ref=${element} onKeyDown=${onKey}>
    <header><h2>${TITLES[kind]}</h2><${Button} kind="plain icon" aria-label="Close" onClick=${onClose}>✕</${Button}></header>
    ${kind === "drafts" && html`<${DraftList} room=${rest.facts.room} />`}
    ${kind === "members" && html`<${Members} ...${rest} />`}
    ${kind === "search" && html`<${Search} ...${rest} />`}
    ${kind === "settings" && html`<${Settings} ...${rest} />`}
  </aside>`;
}

/** Why the user may not change this room; "" when they may. The gate decides again. @param {Room} facts */
function explainReadOnly(facts) {
  const { user = "", access = "" } = session.value ?? {};
  if (access === "root") return "";
  if (!["owner", "admin"].includes(facts.members[user])) return "Only owners and admins of this room can change it.";
  return access === "full" ? "" : `Changing a room needs full access. You have ${access}.`;
}

function Members(/** @type {PanelProps} */ { facts, personas, here, reload, path, navigate }) {
  const [inviting, setInviting] = useState(false);
  const [removing, setRemoving] = useState("");
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const me = session.value?.user;
  const mayEdit = !explainReadOnly(facts);
  const bios = new Map(personas.map((one) => [one.id, one.bio]));
  const changeRole = (id) => async (event) => {
    try {
      await put(`${path}/members/${encode(id)}`, { role: event.target.value });
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
    reload();
  };
  const remove = async () => {
    await del(`${path}/members/${encode(removing)}`);
    await loadRooms();
    if (removing === me) navigate("/console/rooms");
    else await reload();
  };
  return html`<ul class="members">
      ${Object.entries(facts.members).map(([id, role]) => {
        const kind = facts.kinds?.[id] ?? "human";
        return html`<li key=${id}>
          <${Avatar} id=${id} kind=${kind} />
          <div class="member-words">
            <${MemberName} id=${id} /> ${kind !== "human" && html`<span class="kind-word">${describeKind(kind)}</span>`}
            ${here?.includes(id) && html`<${Badge} tone="good">here</${Badge}>`}
            ${bios.get(id) && html`<p class="quiet"><${SafeText} text=${bios.get(id)?.slice(0, 140)} /></p>`}
            ${mayEdit && kind === "human" && !facts.direct
              ? html`<label class="unseen" for=${`role-${id}`}>Role of ${id}</label><select id=${`role-${id}`} value=${role} onChange=${changeRole(id)}>
                  ${["owner", "admin", "member"].map((one) => html`<option value=${one} selected=${one === role}>${one}</option>`)}</select>`
              : html`<span class="quiet">${role}</span>`}
          </div>
          ${!facts.direct &&
          (mayEdit || id === me) &&
          html`<${Button} kind="small plain" onClick=${() => setRemoving(id)}>${id === me
            ? html`Leave<span class="unseen"> this room</span>`
            : html`Remove<span class="unseen"> ${id}</span>`}</${Button}>`}
        </li>`;
      })}
    </ul>
    <${ErrorBox} problem=${problem} />
    ${mayEdit && !facts.direct && html`<${Button} onClick=${() => setInviting(true)}>Invite…</${Button}>`}
    ${inviting && html`<${InviteDialog} facts=${facts} path=${path} reload=${reload} onClose=${() => setInviting(false)} />`}
    ${removing &&
    html`<${Confirm} title=${removing === me ? "Leave this room?" : `Remove ${fullName(removing)} from this room?`} action=${removing === me ? "Leave" : "Remove"}
      onClose=${() => setRemoving("")} onConfirm=${remove}>
      <p>${removing === me ? "You no longer see this room. Your messages stay." : "They no longer see this room. Their messages stay."}</p>
    </${Confirm}>`}`;
}

function InviteDialog({ facts, path, reload, onClose }) {
  const ids = useLoad(async () => (await fetchMemberIds((one) => one.active)).filter((id) => !(id in facts.members)));
  const [member, setMember] = useState("");
  const [role, setRole] = useState("member");
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [busy, setBusy] = useState(false);
  const invite = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await put(`${path}/members/${encode(member.trim())}`, { role });
      await reload();
      onClose();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="Invite to this room" onClose=${onClose}>
    <form onSubmit=${invite}>
      <${Field} label="Member" value=${member} onInput=${(event) => setMember(event.target.value)} list="invitable" required autocapitalize="none"
        hint="The id of a person, a persona, or an agent with a token." />
      <datalist id="invitable">${(ids.data ?? []).map((id) => html`<option value=${id}></option>`)}</datalist>
      <${Field} label="Role" options=${["member", "admin", "owner"]} value=${role} onChange=${(event) => setRole(event.target.value)} />
      <${ErrorBox} problem=${problem} />
      <div class="actions"><${Button} kind="primary" type="submit" busy=${busy}>Invite</${Button}></div>
    </form>
  </${Dialog}>`;
}

/** Messages by their words. Each result leads to its place in the room. */
function Search({ facts, onFound }) {
  const [words, setWords] = useState("");
  const [found, setFound] = useState(/** @type {{items: Message[], next: string, words: string} | null} */ (null));
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [busy, setBusy] = useState(false);
  const search = async (before = "") => {
    if (!words.trim()) return;
    setBusy(true);
    try {
      const { result } = await run("room/search", { words, name: facts.room, limit: 30, ...(before ? { before } : {}) });
      setFound((earlier) => ({ items: [...(before ? (earlier?.items ?? []) : []), ...result.items], next: result.next, words }));
      setProblem(null);
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const onSubmit = (event) => {
    event.preventDefault();
    search();
  };
  return html`<form role="search" onSubmit=${onSubmit}>
      <${Field} label="Search this room" type="search" value=${words} onInput=${(event) => setWords(event.target.value)} />
      <${Button} type="submit" busy=${busy}>Search</${Button}>
    </form>
    <${ErrorBox} problem=${problem} />
    ${found && !found.items.length && html`<${Empty} title="No messages found">Try fewer or other words.</${Empty}>`}
    <ul class="found" aria-live="polite">${found?.items.map(
      (one) => html`<li key=${one.id}><a href=${messageUrl(one)} onClick=${onFound}>
      <span class="said-head"><${Sender} message=${one} /> <span class="quiet"><${Time} at=${one.at} form="exact" /></span></span>
      <span class="found-text">${buildExcerpt(one.text, found.words).map((piece) =>
        typeof piece === "string" ? html`<${SafeText} text=${piece} lines />` : html`<mark><${SafeText} text=${piece.hit} /></mark>`,
      )}</span></a></li>`,
    )}</ul>
    <${MoreButton} more=${found?.next} busy=${busy} onMore=${() => search(found?.next)} />`;
}

function Settings(/** @type {PanelProps} */ { facts, reload, path, navigate }) {
  const [values, setValues] = useState({ title: facts.title ?? "", topic: facts.topic ?? "", recipe: facts.recipe });
  const recipes = useLoad(() => get("/recipes"));
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [saved, setSaved] = useState("");
  const [busy, setBusy] = useState(false);
  const [archiving, setArchiving] = useState(false);
  const change = (name) => (event) => setValues({ ...values, [name]: event.target.value });
  const reloadAll = () => Promise.all([reload(), loadRooms()]);
  const save = async (event) => {
    event.preventDefault();
    setBusy(true);
    setSaved("");
    try {
      if (values.title !== facts.title || values.topic !== facts.topic)
        await run("room/change", { name: facts.room, title: values.title, topic: values.topic });
      if (values.recipe !== facts.recipe) await put(`${path}/recipe`, { recipe: values.recipe });
      await reloadAll();
      setProblem(null);
      setSaved("Saved");
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const archive = async () => {
    await run("room/archive", { name: facts.room });
    await reloadAll();
    navigate("/console/rooms");
  };
  const reopen = async () => {
    try {
      await run("room/reopen", { name: facts.room });
      await reloadAll();
    } catch (error) {
      setProblem(error);
    }
  };
  const readOnly = explainReadOnly(facts);
  const recipeUrl = `/console/recipes/${encode(facts.recipe)}`;
  if (readOnly)
    return html`<dl class="facts">
        <dt>Name</dt><dd><code>${facts.room}</code></dd>
        ${facts.topic && html`<dt>Topic</dt><dd><${SafeText} text=${facts.topic} /></dd>`}
        <dt>Recipe</dt><dd><a href=${recipeUrl}>${facts.recipe}</a></dd>
        <${Workspace} folder=${facts.workspace} />
      </dl>
      <p class="quiet">${readOnly}</p>`;
  if (!recipes.data && !recipes.problem) return html`<${Loading} />`;
  const known = (recipes.data?.items ?? []).map((one) => one.recipeId ?? one.id);
  return html`${facts.workspace && html`<dl class="facts"><${Workspace} folder=${facts.workspace} /></dl>`}
    <form onSubmit=${save}>
      <${Field} label="Title" value=${values.title} onInput=${change("title")} maxlength="100" hint=${`Shown to people. Commands use the name, ${facts.room}.`} />
      <${Field} label="Topic" type="textarea" rows=${2} value=${values.topic} onInput=${change("topic")} maxlength="500" />
      <${Field} label="Recipe" options=${[...new Set([facts.recipe, ...known])]} value=${values.recipe} onChange=${change("recipe")} hint="What AIs and people may run in this room." />
      <p><a href=${recipeUrl}>Open the recipe ${facts.recipe}</a></p>
      <${ErrorBox} problem=${problem} />
      <div class="actions"><${Button} kind="primary" type="submit" busy=${busy}>Save</${Button}><span role="status">${saved}</span></div>
    </form>
    <hr />
    ${facts.archived
      ? html`<${Button} onClick=${reopen}>Reopen room</${Button}>`
      : html`<${Button} kind="danger" onClick=${() => setArchiving(true)}>Archive room…</${Button}>`}
    ${archiving &&
    html`<${Confirm} title="Archive this room?" action="Archive" onClose=${() => setArchiving(false)} onConfirm=${archive}>
      <p>The room becomes read-only until it is reopened.</p>
    </${Confirm}>`}`;
}

/** The folder that commands in the room work in, if it has one of its own. */
function Workspace(/** @type {{folder?: string}} */ { folder }) {
  return folder && html`<dt>Workspace</dt><dd><code><${SafeText} text=${folder} /></code></dd>`;
}
