// The AIs that live in rooms: who there is, and a form to make, change and remove them. Their files are what counts.

import { del, get, part, post, put, session } from "../api.js";
import { onEvent } from "../live.js";
import { Badge, Button, Code, Confirm, Copy, Empty, ErrorBox, Field, html, Loaded, Page, toast, useEffect, useLoad, useState, Visible } from "../ui.js";
import { Face } from "../room/message.js";
import { sheet } from "../sheet.js";

await sheet("work.css");

export default function Personas({ params, navigate }) {
  if (params.id === "new") return html`<${Editor} key="new" navigate=${navigate} />`;
  if (params.id) return html`<${Editor} key=${params.id} id=${params.id} navigate=${navigate} />`;
  return html`<${List} />`;
}

const mayChange = () => session.value.access === "root";

function List() {
  const from = useLoad(() => get("/personas"));
  useEffect(() => onEvent("persona:", from.reload), [from.reload]);
  const actions = mayChange() && html`<a class="button primary" href="/console/personas/new">New persona</a>`;
  return html`<${Page} title="Personas" actions=${actions}>
    <p class="quiet">AIs that live in rooms. They say and run only what the recipe of their room allows.</p>
    <${Loaded} from=${from}>${(data) => html`
      ${Object.entries(data.problems ?? {}).map(([file, problem]) => html`<div class="note" key=${file}>
        <p><strong><code><${Visible} text=${file} /></code> is not valid.</strong> Its last good version stays in force.</p>
        <p><${Visible} text=${problem} /></p></div>`)}
      ${!data.items.length && html`<${Empty} title="No AI lives here yet">${mayChange() ? "Make one; it joins the rooms you name." : "Somebody with root access can make one."}</${Empty}>`}
      <ul class="room-list">${data.items.map((one) => html`<li key=${one.id}><${Entry} persona=${one} /></li>`)}</ul>`}
    </${Loaded}>
  </${Page}>`;
}

/** What is the matter with its model, though its file is valid. */
const Remarks = ({ all }) => html`<div role="status">${(all ?? []).map((one) => html`<p class="note" key=${one}><${Visible} text=${one} /></p>`)}</div>`;

function Entry({ persona }) {
  return html`<article class="card persona">
    <header><${Face} id=${persona.id} kind="ai" />
      <div><h2><a href=${`/console/personas/${part(persona.id)}`}><${Visible} text=${persona.name} /></a></h2>
        <p class="quiet"><code>@${persona.id}</code> · model <code><${Visible} text=${persona.model} /></code> · access ${persona.access}</p></div></header>
    ${persona.bio && html`<p><${Visible} text=${persona.bio.slice(0, 280)} /></p>`}
    <${Remarks} all=${persona.remarks} />
    <p>${persona.rooms.length ? html`In ${persona.rooms.map((room, index) => html`${index ? ", " : ""}<a href=${`/console/rooms/${part(room)}`}><${Visible} text=${room} /></a>`)}` : html`<span class="quiet">In no room of yours.</span>`}
      ${persona.awaited?.length > 0 && html` <${Badge} tone="warn" title="It joins them when they are made">waits for ${persona.awaited.join(", ")}</${Badge}>`}
      ${persona.energy && html` <${Badge} tone="info">energy ${Math.round(persona.energy.level ?? 0)}, ${persona.energy.status ?? ""}</${Badge}>`}</p>
  </article>`;
}

const BLANK = { displayName: "", bio: "", model: "house", rooms: [], access: "edit", suggestions: [] };

function Editor({ id = "", navigate }) {
  const from = useLoad(async () => {
    const [shown, rooms, models] = await Promise.all([
      id ? get(`/personas/${part(id)}`) : null,
      get("/rooms"),
      get("/models").catch(() => ({ items: [] })),
    ]);
    return { shown, rooms: rooms.items.filter((one) => !one.archived), models: models.items ?? [] };
  }, [id]);
  return html`<${Page} title=${id || "New persona"}>
    <p><a href="/console/personas">All personas</a></p>
    <${Loaded} from=${from}>${(data) => html`<${Form} id=${id} file=${data.shown?.file ?? BLANK} problem=${data.shown?.problem} known=${data.shown?.persona.remarks ?? []} rooms=${data.rooms} models=${data.models} navigate=${navigate} reload=${from.reload} />`}</${Loaded}>
  </${Page}>`;
}

function Form({ id, file, known, problem: broken, rooms, models, navigate, reload }) {
  const [name, setName] = useState(id);
  const [given, setGiven] = useState({ ...BLANK, ...file, suggestions: (file.suggestions ?? []).join("\n"), energy: file.energy ?? null });
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const [removing, setRemoving] = useState(false);
  const [difference, setDifference] = useState(null);
  const [remarks, setRemarks] = useState(known);
  const may = mayChange();
  const change = (field) => (event) => setGiven({ ...given, [field]: event.target.value });
  const toggle = (room) => (event) => setGiven({ ...given, rooms: event.target.checked ? [...given.rooms, room] : given.rooms.filter((one) => one !== room) });
  const energy = (field) => (event) => {
    const energy = { ...(given.energy ?? {}) };
    if (event.target.value === "") delete energy[field];
    else energy[field] = Number(event.target.value);
    setGiven({ ...given, energy: Object.keys(energy).length ? energy : null });
  };
  const built = () => {
    const { energy: pool, ...rest } = given;
    const whole = { ...rest, personaId: name.trim(), suggestions: given.suggestions.split("\n").map((one) => one.trim()).filter(Boolean) };
    if (pool) whole.energy = pool;
    return Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== "" && value !== null && value !== undefined));
  };
  const ask = async (path, method) => {
    setBusy(true);
    setProblem(null);
    try {
      return await method(path, built());
    } catch (error) {
      setProblem(error);
      return null;
    } finally {
      setBusy(false);
    }
  };
  const save = async (event) => {
    event.preventDefault();
    const saved = await ask(`/personas/${part(name.trim())}`, put);
    if (!saved) return;
    setDifference(null);
    setRemarks(saved.remarks ?? []);
    toast(saved.awaited?.length ? `In force. It joins ${saved.awaited.join(", ")} when that is made.` : "In force.");
    if (id) reload();
    else navigate(`/console/personas/${part(name.trim())}`, { replace: true });
  };
  const check = async (event) => {
    if (!event.target.closest("form").reportValidity()) return;
    setDifference(null);
    const checked = await ask(`/personas/${part(name.trim())}/check`, post);
    if (!checked) return;
    const { remarks: found, ...effect } = checked.effect ?? checked;
    setRemarks(found ?? []);
    if (effect.wouldFail) setProblem({ title: "This is not valid", detail: effect.wouldFail });
    else setDifference(effect);
  };
  const others = given.rooms.filter((room) => !rooms.some((one) => one.room === room));
  const offers = ["house", ...models.filter((one) => one.model).map((one) => `${one.provider}:${one.model}`)];
  return html`<form class="card" onSubmit=${save}>
      ${broken && html`<p class="note">The file is not valid now: <${Visible} text=${broken} /> Saving replaces it.</p>`}
      <div class="two">
        <${Field} label="Id" value=${name} onInput=${(event) => setName(event.target.value)} disabled=${!!id || !may} required pattern="[a-z][a-z0-9\\-]{0,62}" hint="Small letters, digits and dashes; people call it by @id." />
        <${Field} label="Name" value=${given.displayName} onInput=${change("displayName")} disabled=${!may} required maxlength="100" />
      </div>
      <${Field} label="Bio" type="textarea" rows=${4} value=${given.bio} onInput=${change("bio")} disabled=${!may} hint="Who it is and how it should help; the model is told this first." />
      <div class="two">
        <${Field} label="Model" value=${given.model} onInput=${change("model")} disabled=${!may} list="models" hint="house needs no key and no network; others are provider:model." />
        <${Field} label="Access" options=${["read", "edit", "full"]} value=${given.access} onChange=${change("access")} disabled=${!may} hint="The most it may ever do, whatever a recipe allows." />
      </div>
      <datalist id="models">${offers.map((one) => html`<option value=${one}></option>`)}</datalist>
      <fieldset disabled=${!may}><legend>Rooms</legend>
        ${rooms.filter((one) => !one.direct).map((one) => html`<label class="tick" key=${one.room}><input type="checkbox" checked=${given.rooms.includes(one.room)} onChange=${toggle(one.room)} /> <${Visible} text=${one.title || one.room} /></label>`)}
        ${others.map((room) => html`<label class="tick" key=${room}><input type="checkbox" checked onChange=${toggle(room)} /> <${Visible} text=${room} /> <span class="quiet">(not a room of yours)</span></label>`)}
      </fieldset>
      <${Field} label="Suggested questions" type="textarea" rows=${3} value=${given.suggestions} onInput=${change("suggestions")} disabled=${!may} hint="One a line; shown as buttons in a room where little was said." />
      <details><summary>Energy</summary>
        <div class="two">
          <${Field} label="Energy at start" type="number" value=${given.energy?.start ?? ""} onInput=${energy("start")} disabled=${!may} hint="Counts only while energy is switched on." />
          <${Field} label="Energy regained a second" type="number" step="any" min="0" value=${given.energy?.recoveryPerSecond ?? ""} onInput=${energy("recoveryPerSecond")} disabled=${!may} />
        </div>
      </details>
      <${ErrorBox} problem=${problem} />
      <${Remarks} all=${remarks} />
      ${difference && html`<div class="note info"><p>This is valid. It would be:</p><${Code} value=${difference.after ?? difference} label="The persona as it would be" /></div>`}
      ${may
        ? html`<div class="actions">
            <${Button} kind="primary" type="submit" busy=${busy}>Save</${Button}>
            <${Button} busy=${busy} onClick=${check}>Check only</${Button}>
            <${Copy} text=${JSON.stringify(built(), null, 2)} label="Copy as a file" />
            ${id && html`<${Button} kind="danger" onClick=${() => setRemoving(true)}>Remove</${Button}>`}
          </div>`
        : html`<p class="quiet">Only people with root access change personas.</p>`}
    </form>
    ${removing && html`<${Confirm} title=${`Remove ${id}?`} words="Remove" onClose=${() => setRemoving(false)}
      onYes=${async () => {
        await del(`/personas/${part(id)}`);
        navigate("/console/personas");
      }}><p>It stops what it does and leaves its rooms. What it said stays. The execution of this can be undone.</p></${Confirm}>`}`;
}
