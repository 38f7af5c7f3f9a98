// The rules that rooms are governed by: which there are, which rooms each governs, and which files are not valid.

import { get, part, session } from "../api.js";
import { onEvent } from "../live.js";
import { sheet } from "../sheet.js";
import { rooms } from "../state.js";
import { Button, Dialog, Field, html, Loaded, Page, useEffect, useLoad, useSignal, useState, Visible } from "../ui.js";
import Editor from "./recipe.js";

await sheet("history.css");

export default function Recipes({ params, navigate }) {
  if (params.id) return html`<${Editor} key=${params.id} id=${params.id} query=${params.query} navigate=${navigate} />`;
  return html`<${All} navigate=${navigate} />`;
}

function All({ navigate }) {
  const from = useLoad(() => get("/recipes"), []);
  const mine = useSignal(rooms) ?? [];
  const [copying, setCopying] = useState(null);
  useEffect(() => onEvent("recipe:", from.reload), []);
  const may = session.value?.access === "root";
  return html`<${Page} title="Recipes" actions=${may && html`<${Button} kind="primary" onClick=${() => setCopying({ id: "" })}>New recipe…</${Button}>`}>
    <p class="quiet">A recipe says what the AIs in a room may do. Each is a file in the folder <code>recipes</code> of the home folder; an edit holds at once.</p>
    <${Loaded} from=${from}>${(data) => html`
      ${Object.entries(data.problems).map(
        ([file, words]) => html`<div class="error-box" role="alert" key=${file}>
          <p><strong>The file <${Visible} text=${file} /> is not valid.</strong> <${Visible} text=${words} /></p>
          <p>Its last good version, if there was one, stays in force.</p>
        </div>`,
      )}
      <ul class="cards plain-list">
        ${data.items.map((one) => html`<${One} key=${one.id} one=${one} may=${may} onCopy=${() => setCopying(one)}
          governed=${mine.filter((room) => room.recipe === one.id && !room.archived)} />`)}
      </ul>`}</${Loaded}>
    ${copying && html`<${Copying} from=${copying.id} taken=${(from.data?.items ?? []).map((one) => one.id)} navigate=${navigate}
      onClose=${() => setCopying(null)} />`}
  </${Page}>`;
}

function One({ one, governed, may, onCopy }) {
  return html`<li class="card recipe-card">
    <h2><a href=${`/console/recipes/${part(one.id)}`}><${Visible} text=${one.name} /></a></h2>
    <p class="quiet"><code>${one.id}</code></p>
    <p><${Visible} text=${one.description || "It says nothing about itself."} /></p>
    <p class="quiet">${governed.length ? "Governs " : "Governs no room of yours."}
      ${governed.map((room, at) => html`${at > 0 && ", "}<a href=${`/console/rooms/${part(room.room)}`}><${Visible} text=${room.title || room.room} /></a>`)}</p>
    <div class="actions">
      <a class="button small" href=${`/console/recipes/${part(one.id)}`}>${may ? "Edit" : "Look"}<span class="unseen"> ${one.id}</span></a>
      ${may && html`<${Button} kind="quiet small" onClick=${onCopy}>New from a copy<span class="unseen"> of ${one.id}</span></${Button}>`}
    </div>
  </li>`;
}

function Copying({ from, taken, navigate, onClose }) {
  const [id, setId] = useState("");
  const [touched, setTouched] = useState(false);
  let fault = "";
  if (!/^[a-z][a-z0-9-]{0,62}$/.test(id)) fault = "Small letters, digits and hyphens, a letter first, at most 63 characters.";
  else if (taken.includes(id)) fault = "There is a recipe of this id already.";
  const go = (event) => {
    event.preventDefault();
    setTouched(true);
    if (!fault) navigate(`/console/recipes/${part(id)}${from ? `?from=${part(from)}` : "?new=1"}`);
  };
  return html`<${Dialog} title=${from ? `New recipe from ${from}` : "New recipe"} onClose=${onClose}>
    <form onSubmit=${go}>
      <${Field} label="Its id, which is the name of its file" value=${id} error=${touched && fault ? fault : ""} autofocus spellcheck=${false}
        onInput=${(event) => setId(event.target.value.trim())} />
      <div class="actions"><${Button} kind="primary" type="submit">Write it</${Button}></div>
    </form>
  </${Dialog}>`;
}
