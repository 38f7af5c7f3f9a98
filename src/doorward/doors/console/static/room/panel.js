// Beside a room: who is in it, what was said in it, and how it is set up.

import { del, get, part, put, run, session } from "../api.js";
import { Badge, Button, Confirm, Dialog, ErrorBox, Field, giveBack, html, Loading, useLayoutEffect, useLoad, useRef, useState, Visible } from "../ui.js";
import { loadRooms } from "../state.js";
import { fullName } from "../names.js";
import { Face } from "./message.js";
import { Search } from "./search.js";
import { Named } from "./sender.js";

export function Panel({ kind, onClose, ...rest }) {
  const place = useRef(null);
  const before = useRef(null); // what had the focus when it was opened
  useLayoutEffect(() => {
    const [panel, now] = [place.current, document.activeElement];
    if (!panel.contains(now)) before.current = now;
    (panel.querySelector("[type=search]") ?? panel).focus();
  }, [kind]);
  useLayoutEffect(() => {
    const panel = place.current;
    return () => {
      if (document.activeElement === document.body || panel.contains(document.activeElement)) giveBack(before.current);
    };
  }, []);
  const titles = { members: "Members", search: "Search", settings: "Room settings" };
  const key = (event) => event.key === "Escape" && !event.target.closest("dialog") && onClose();
  return html`<aside class="panel" aria-label=${titles[kind]} tabindex="-1" ref=${place} onKeyDown=${key}>
    <header><h2>${titles[kind]}</h2><${Button} kind="plain icon" aria-label="Close" onClick=${onClose}>✕</${Button}></header>
    ${kind === "members" && html`<${Members} ...${rest} />`}
    ${kind === "search" && html`<${Search} ...${rest} />`}
    ${kind === "settings" && html`<${Settings} ...${rest} />`}
  </aside>`;
}

/** Why one may not change this room; "" when one may. The gate has the last word. */
function refusalIn(facts) {
  const { user, access } = session.value;
  if (access === "root") return "";
  if (!["owner", "admin"].includes(facts.members[user])) return "Its owners and admins change this room.";
  return access === "full" ? "" : `Changing a room needs full access; you have ${access}.`;
}

function Members({ facts, personas, here, reload, path, navigate }) {
  const [inviting, setInviting] = useState(false);
  const [leaving, setLeaving] = useState(null);
  const [problem, setProblem] = useState(null);
  const me = session.value.user;
  const keeps = !refusalIn(facts);
  const names = new Map(personas.map((one) => [one.id, one]));
  const role = (id) => async (event) => {
    try {
      await put(`${path}/members/${part(id)}`, { role: event.target.value });
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
    reload();
  };
  return html`<ul class="members">
      ${Object.entries(facts.members).map(([id, has]) => {
        const kind = facts.kinds?.[id] ?? "human";
        const persona = names.get(id);
        return html`<li key=${id}>
          <${Face} id=${id} kind=${kind} />
          <div class="member-words">
            <${Named} id=${id} /> ${kind !== "human" && html`<span class="kind-word">${kind === "ai" ? "AI" : "program"}</span>`}
            ${here?.includes(id) && html`<${Badge} tone="good">here</${Badge}>`}
            ${persona?.bio && html`<p class="quiet"><${Visible} text=${persona.bio.slice(0, 140)} /></p>`}
            ${keeps && kind === "human" && !facts.direct
              ? html`<label class="unseen" for=${`role-${id}`}>Role of ${id}</label><select id=${`role-${id}`} value=${has} onChange=${role(id)}>
                  ${["owner", "admin", "member"].map((one) => html`<option value=${one} selected=${one === has}>${one}</option>`)}</select>`
              : html`<span class="quiet">${has}</span>`}
          </div>
          ${!facts.direct && (keeps || id === me) && html`<${Button} kind="small plain" onClick=${() => setLeaving(id)}>${id === me ? html`Leave<span class="unseen"> this room</span>` : html`Take out<span class="unseen"> ${id}</span>`}</${Button}>`}
        </li>`;
      })}
    </ul>
    <${ErrorBox} problem=${problem} />
    ${keeps && !facts.direct && html`<${Button} onClick=${() => setInviting(true)}>Invite somebody</${Button}>`}
    ${inviting && html`<${Invite} facts=${facts} path=${path} reload=${reload} onClose=${() => setInviting(false)} />`}
    ${leaving && html`<${Confirm} title=${leaving === me ? "Leave this room?" : `Take ${fullName(leaving)} out of this room?`} words=${leaving === me ? "Leave" : "Take out"}
      onClose=${() => setLeaving(null)}
      onYes=${async () => {
        await del(`${path}/members/${part(leaving)}`);
        await loadRooms();
        if (leaving === me) navigate("/console/rooms");
        else await reload();
      }}><p>What was said stays. Whoever is taken out hears nothing more.</p></${Confirm}>`}`;
}

function Invite({ facts, path, reload, onClose }) {
  const from = useLoad(async () => {
    const [users, personas] = await Promise.all([get("/users").catch(() => ({ items: [] })), get("/personas").catch(() => ({ items: [] }))]);
    const all = [...users.items.filter((one) => one.active).map((one) => one.id), ...personas.items.map((one) => one.id)];
    return [...new Set(all)].filter((id) => !(id in facts.members));
  });
  const [member, setMember] = useState("");
  const [role, setRole] = useState("member");
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const invite = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await put(`${path}/members/${part(member.trim())}`, { role });
      await reload();
      onClose();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="Invite somebody" onClose=${onClose}>
    <form onSubmit=${invite}>
      <${Field} label="Who" value=${member} onInput=${(event) => setMember(event.target.value)} list="invitable" required autocapitalize="none"
        hint="The id of a person, a persona, or an agent with a token." />
      <datalist id="invitable">${(from.data ?? []).map((id) => html`<option value=${id}></option>`)}</datalist>
      <${Field} label="Role" options=${["member", "admin", "owner"]} value=${role} onChange=${(event) => setRole(event.target.value)} />
      <${ErrorBox} problem=${problem} />
      <div class="actions"><${Button} kind="primary" type="submit" busy=${busy}>Invite</${Button}></div>
    </form>
  </${Dialog}>`;
}

function Settings({ facts, reload, path, navigate }) {
  const [given, setGiven] = useState({ title: facts.title ?? "", topic: facts.topic ?? "", recipe: facts.recipe });
  const recipes = useLoad(() => get("/recipes"));
  const [problem, setProblem] = useState(null);
  const [saved, setSaved] = useState("");
  const [busy, setBusy] = useState(false);
  const [archiving, setArchiving] = useState(false);
  const change = (name) => (event) => setGiven({ ...given, [name]: event.target.value });
  const save = async (event) => {
    event.preventDefault();
    setBusy(true);
    setSaved("");
    try {
      if (given.title !== facts.title || given.topic !== facts.topic)
        await run("room/change", { name: facts.room, title: given.title, topic: given.topic });
      if (given.recipe !== facts.recipe) await put(`${path}/recipe`, { recipe: given.recipe });
      await Promise.all([reload(), loadRooms()]);
      setProblem(null);
      setSaved("Saved.");
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const refusal = refusalIn(facts);
  if (refusal)
    return html`<dl class="facts">
        <dt>Name</dt><dd><code>${facts.room}</code></dd>
        ${facts.topic && html`<dt>Topic</dt><dd><${Visible} text=${facts.topic} /></dd>`}
        <dt>Recipe</dt><dd><a href=${`/console/recipes/${part(facts.recipe)}`}>${facts.recipe}</a></dd>
      </dl>
      <p class="quiet">${refusal}</p>`;
  if (!recipes.data && !recipes.problem) return html`<${Loading} />`;
  const known = (recipes.data?.items ?? []).map((one) => one.recipeId ?? one.id);
  const choices = [...new Set([facts.recipe, ...known])];
  return html`<form onSubmit=${save}>
      <${Field} label="Title" value=${given.title} onInput=${change("title")} maxlength="100" hint=${`People see it; the room is called by its name, ${facts.room}.`} />
      <${Field} label="Topic" type="textarea" rows=${2} value=${given.topic} onInput=${change("topic")} maxlength="500" />
      <${Field} label="Recipe" options=${choices} value=${given.recipe} onChange=${change("recipe")} hint="What AIs and people may run in this room." />
      <p><a href=${`/console/recipes/${part(facts.recipe)}`}>Look at the recipe ${facts.recipe}</a></p>
      <${ErrorBox} problem=${problem} />
      <div class="actions"><${Button} kind="primary" type="submit" busy=${busy}>Save</${Button}><span role="status">${saved}</span></div>
    </form>
    <hr />
    ${facts.archived
      ? html`<${Button} onClick=${async () => {
          try {
            await run("room/reopen", { name: facts.room });
            await Promise.all([reload(), loadRooms()]);
          } catch (error) {
            setProblem(error);
          }
        }}>Open it again</${Button}>`
      : html`<${Button} kind="danger" onClick=${() => setArchiving(true)}>Archive this room</${Button}>`}
    ${archiving && html`<${Confirm} title="Archive this room?" words="Archive" onClose=${() => setArchiving(false)}
      onYes=${async () => {
        await run("room/archive", { name: facts.room });
        await Promise.all([reload(), loadRooms()]);
        navigate("/console/rooms");
      }}><p>It stays readable. Nothing is said or run in it until it is opened again.</p></${Confirm}>`}`;
}
