// @ts-check
// Personas: the list, and a form to create, edit and remove them. Their files are the source of truth.

import { del, encode, get, post, put, session } from "../lib/api.js";
import { loadStylesheet } from "../lib/stylesheet.js";
import { Avatar } from "../parts/member.js";
import { Badge, Button, Code, Confirm, CopyButton, Empty, ErrorBox, Field, html, Loaded, Page, SafeText, showToast, useLive, useLoad, useState } from "../parts/ui.js";

await loadStylesheet("work.css");

/** @param {PageProps} props */
export default function PersonasPage({ params, navigate }) {
  if (params.id === "new") return html`<${PersonaPage} key="new" navigate=${navigate} />`;
  if (params.id) return html`<${PersonaPage} key=${params.id} id=${params.id} navigate=${navigate} />`;
  return html`<${PersonaList} />`;
}

const mayEdit = () => session.value?.access === "root";

function PersonaList() {
  const from = useLive(() => get("/personas"), { "persona:": true });
  const actions = mayEdit() && html`<a class="button primary" href="/console/personas/new">New persona</a>`;
  return html`<${Page} title="Personas" actions=${actions}>
    <p class="quiet">Personas are AIs that are members of rooms. The recipe of a room decides what they may do there.</p>
    <${Loaded} from=${from}>${(data) => html`
      ${Object.entries(data.problems ?? {}).map(
        ([file, problem]) => html`<div class="note" key=${file}>
        <p><strong><code><${SafeText} text=${file} /></code> is not valid.</strong> Its last valid version stays in force.</p>
        <p><${SafeText} text=${problem} /></p></div>`,
      )}
      ${!data.items.length && html`<${Empty} title="No personas yet">${mayEdit() ? "Create one. It joins the rooms you choose." : "Creating one needs root access."}</${Empty}>`}
      <ul class="room-list">${data.items.map((one) => html`<li key=${one.id}><${PersonaCard} persona=${one} /></li>`)}</ul>`}
    </${Loaded}>
  </${Page}>`;
}

/** Problems of a persona whose file is valid, such as a missing model. */
const Remarks = ({ all }) =>
  html`<div role="status">${(all ?? []).map((one) => html`<p class="note" key=${one}><${SafeText} text=${one} /></p>`)}</div>`;

/** Whether it is in force with a model that can answer. The remarks give the reason if it cannot. */
const PersonaState = (/** @type {{state?: string}} */ { state = "in force" }) =>
  state === "in force" ? html`<${Badge} tone="good">in force</${Badge}>` : html`<${Badge} tone="warn" title=${state}>${state.split(":")[0]}</${Badge}>`;

function PersonaCard(/** @type {{persona: Persona & {state?: string}}} */ { persona }) {
  const awaited = persona.awaited ?? [];
  return html`<article class="card persona">
    <header><${Avatar} id=${persona.id} kind="ai" />
      <div><h2><a href=${`/console/personas/${encode(persona.id)}`}><${SafeText} text=${persona.name} /></a></h2>
        <p class="quiet"><code>@${persona.id}</code> · model <code><${SafeText} text=${persona.model} /></code> · access ${persona.access}</p></div></header>
    ${persona.bio && html`<p><${SafeText} text=${persona.bio.slice(0, 280)} /></p>`}
    <${Remarks} all=${persona.remarks} />
    <p>${persona.rooms.length
        ? html`In ${persona.rooms.map((room, index) => html`${index ? ", " : ""}<a href=${`/console/rooms/${encode(room)}`}><${SafeText} text=${room} /></a>`)}`
        : html`<span class="quiet">In none of your rooms.</span>`}
      <${PersonaState} state=${persona.state} />
      ${awaited.length > 0 && html` <${Badge} tone="warn" title="It joins a room when the room is created.">room does not exist: ${awaited.join(", ")}</${Badge}>`}
      ${persona.energy && html` <${Badge} tone="info">energy ${Math.round(persona.energy.level ?? 0)}, ${persona.energy.status ?? ""}</${Badge}>`}</p>
  </article>`;
}

const EMPTY = { displayName: "", bio: "", model: "house", rooms: [], access: "edit", suggestions: [] };

/** @param {{id?: string, navigate: Navigate}} props */
function PersonaPage({ id = "", navigate }) {
  const from = useLoad(async () => {
    const [shown, rooms, models] = await Promise.all([
      id ? get(`/personas/${encode(id)}`) : null,
      get("/rooms"),
      get("/models").catch(() => ({ items: [] })),
    ]);
    return { shown, rooms: rooms.items.filter((one) => !one.archived), models: models.items ?? [] };
  }, [id]);
  return html`<${Page} title=${id || "New persona"}>
    <p><a href="/console/personas">All personas</a></p>
    <${Loaded} from=${from}>${({ shown, rooms, models }) => html`<${PersonaForm} id=${id} file=${shown?.file ?? EMPTY} fileProblem=${shown?.problem} known=${shown?.persona.remarks ?? []} rooms=${rooms} models=${models} navigate=${navigate} reload=${from.reload} />`}</${Loaded}>
  </${Page}>`;
}

function PersonaForm({ id, file, known, fileProblem, rooms, models, navigate, reload }) {
  const [name, setName] = useState(id);
  const [values, setValues] = useState(
    /** @type {any} */ ({ ...EMPTY, ...file, suggestions: (file.suggestions ?? []).join("\n"), energy: file.energy ?? null }),
  );
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [busy, setBusy] = useState(false);
  const [removing, setRemoving] = useState(false);
  const [preview, setPreview] = useState(/** @type {any} */ (null));
  const [remarks, setRemarks] = useState(known);
  const disabled = !mayEdit();
  const path = `/personas/${encode(name.trim())}`;
  const change = (field) => (event) => setValues({ ...values, [field]: event.target.value });
  const toggleRoom = (room) => (event) =>
    setValues({ ...values, rooms: event.target.checked ? [...values.rooms, room] : values.rooms.filter((one) => one !== room) });
  const changeEnergy = (field) => (event) => {
    const energy = { ...(values.energy ?? {}) };
    if (event.target.value === "") delete energy[field];
    else energy[field] = Number(event.target.value);
    setValues({ ...values, energy: Object.keys(energy).length ? energy : null });
  };
  const build = () => {
    const suggestions = values.suggestions.split("\n").map((one) => one.trim()).filter(Boolean);
    const whole = { ...values, personaId: name.trim(), suggestions };
    return Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== "" && value !== null && value !== undefined));
  };
  const send = async (/** @type {string} */ url, /** @type {typeof put} */ method) => {
    setBusy(true);
    setProblem(null);
    try {
      return await method(url, build());
    } catch (error) {
      setProblem(error);
      return null;
    } finally {
      setBusy(false);
    }
  };
  const save = async (event) => {
    event.preventDefault();
    const saved = await send(path, put);
    if (!saved) return;
    setPreview(null);
    setRemarks(saved.remarks ?? []);
    showToast(saved.awaited?.length ? `Saved. It joins ${saved.awaited.join(", ")} when that room is created.` : "Saved.");
    if (id) reload();
    else navigate(`/console${path}`, { replace: true });
  };
  const check = async (event) => {
    if (!event.target.closest("form").reportValidity()) return;
    setPreview(null);
    const checked = await send(`${path}/check`, post);
    if (!checked) return;
    const { remarks: found, ...effect } = checked.effect ?? checked;
    setRemarks(found ?? []);
    if (effect.wouldFail) setProblem({ title: "Not valid", detail: effect.wouldFail });
    else setPreview(effect);
  };
  const remove = async () => {
    await del(`/personas/${encode(id)}`);
    navigate("/console/personas");
  };
  const otherRooms = values.rooms.filter((room) => !rooms.some((one) => one.room === room));
  const modelNames = ["house", ...models.filter((one) => one.model).map((one) => `${one.provider}:${one.model}`)];
  return html`<form class="card" onSubmit=${save}>
      ${fileProblem && html`<p class="note">The file is not valid: <${SafeText} text=${fileProblem} /> Saving replaces it.</p>`}
      <div class="two">
        <${Field} label="Id" value=${name} onInput=${(event) => setName(event.target.value)} disabled=${!!id || disabled} required pattern="[a-z][a-z0-9\\-]{0,62}" hint="Lowercase letters, digits and hyphens. People mention it with @id." />
        <${Field} label="Name" value=${values.displayName} onInput=${change("displayName")} disabled=${disabled} required maxlength="100" />
      </div>
      <${Field} label="Bio" type="textarea" rows=${4} value=${values.bio} onInput=${change("bio")} disabled=${disabled} hint="Who it is and how it helps. The model's instructions start with this." />
      <div class="two">
        <${Field} label="Model" value=${values.model} onInput=${change("model")} disabled=${disabled} list="models" hint="house needs no key and no network. Others are provider:model." />
        <${Field} label="Access" options=${["read", "edit", "full"]} value=${values.access} onChange=${change("access")} disabled=${disabled} hint="The upper limit, whatever a recipe allows." />
      </div>
      <datalist id="models">${modelNames.map((one) => html`<option value=${one}></option>`)}</datalist>
      <fieldset disabled=${disabled}><legend>Rooms</legend>
        ${rooms
          .filter((one) => !one.direct)
          .map(
            (one) => html`<label class="tick" key=${one.room}><input type="checkbox" checked=${values.rooms.includes(one.room)} onChange=${toggleRoom(one.room)} /> <${SafeText} text=${one.title || one.room} /></label>`,
          )}
        ${otherRooms.map(
          (room) => html`<label class="tick" key=${room}><input type="checkbox" checked onChange=${toggleRoom(room)} /> <${SafeText} text=${room} /> <span class="quiet">(not one of your rooms)</span></label>`,
        )}
      </fieldset>
      <${Field} label="Suggested questions" type="textarea" rows=${3} value=${values.suggestions} onInput=${change("suggestions")} disabled=${disabled} hint="One per line. Shown as buttons in a room with few messages." />
      <label class="tick"><input type="checkbox" checked=${!!values.effort} disabled=${disabled} onChange=${(event) => setValues({ ...values, effort: event.target.checked ? (file.effort ?? {}) : null })} />
        <span>Regulate its effort <span class="quiet">(its work costs energy; see <a href="/console/effort">Effort</a>)</span></span></label>
      <details><summary>Energy</summary>
        <div class="two">
          <${Field} label="Initial energy" type="number" value=${values.energy?.start ?? ""} onInput=${changeEnergy("start")} disabled=${disabled} hint="Applies while energy is enabled, or if it regulates its effort." />
          <${Field} label="Energy per second" type="number" step="any" min="0" value=${values.energy?.recoveryPerSecond ?? ""} onInput=${changeEnergy("recoveryPerSecond")} disabled=${disabled} />
        </div>
      </details>
      <${ErrorBox} problem=${problem} />
      <${Remarks} all=${remarks} />
      ${preview && html`<div class="note info"><p>Valid. The persona would be:</p><${Code} value=${preview.after ?? preview} label="Persona" /></div>`}
      ${disabled
        ? html`<p class="quiet">Changing personas needs root access.</p>`
        : html`<div class="actions">
            <${Button} kind="primary" type="submit" busy=${busy}>Save</${Button}>
            <${Button} busy=${busy} onClick=${check}>Check</${Button}>
            <${CopyButton} text=${JSON.stringify(build(), null, 2)} label="Copy as file" />
            ${id && html`<${Button} kind="danger" onClick=${() => setRemoving(true)}>Remove…</${Button}>`}
          </div>`}
    </form>
    ${removing &&
    html`<${Confirm} title=${`Remove ${id}?`} action="Remove" onClose=${() => setRemoving(false)} onConfirm=${remove}>
      <p>It stops its work and leaves its rooms. Its messages stay. This can be undone.</p>
    </${Confirm}>`}`;
}
