// @ts-check
// The recipes, the rooms each one governs, and files that are not valid.

import { encode, get, session } from "../lib/api.js";
import { rooms } from "../lib/store.js";
import { loadStylesheet } from "../lib/stylesheet.js";
import { Button, Dialog, Field, html, Loaded, Page, SafeText, useLive, useSignal, useState } from "../parts/ui.js";
import RecipePage from "./recipe.js";

await loadStylesheet("history.css");

/** @param {PageProps} props */
export default function RecipesPage({ params, navigate }) {
  if (params.id) return html`<${RecipePage} key=${params.id} id=${params.id} query=${params.query} navigate=${navigate} />`;
  return html`<${RecipeList} navigate=${navigate} />`;
}

function RecipeList({ navigate }) {
  const from = useLive(() => get("/recipes"), { "recipe:": true });
  const open = (useSignal(rooms) ?? []).filter((one) => !one.archived);
  const [source, setSource] = useState(/** @type {{id: string} | null} */ (null)); // the recipe to copy; an empty id for none
  const mayEdit = session.value?.access === "root";
  const actions = mayEdit && html`<${Button} kind="primary" onClick=${() => setSource({ id: "" })}>New recipe…</${Button}>`;
  return html`<${Page} title="Recipes" actions=${actions}>
    <p class="quiet">A recipe decides what the AIs in a room may do. Each recipe is a file in the folder <code>recipes</code> of the home folder. Changes apply at once.</p>
    <${Loaded} from=${from}>${(data) => html`
      ${Object.entries(data.problems).map(
        ([file, text]) => html`<div class="error-box" role="alert" key=${file}>
          <p><strong>The file <${SafeText} text=${file} /> is not valid.</strong> <${SafeText} text=${text} /></p>
          <p>Its last valid version stays in force, if there was one.</p>
        </div>`,
      )}
      <ul class="cards plain-list">
        ${data.items.map((one) => html`<${RecipeCard} key=${one.id} recipe=${one} mayEdit=${mayEdit} onCopy=${() => setSource(one)} governed=${open.filter((room) => room.recipe === one.id)} />`)}
      </ul>`}</${Loaded}>
    ${source && html`<${NewRecipeDialog} from=${source.id} taken=${(from.data?.items ?? []).map((one) => one.id)} navigate=${navigate} onClose=${() => setSource(null)} />`}
  </${Page}>`;
}

function RecipeCard({ recipe, governed, mayEdit, onCopy }) {
  const url = `/console/recipes/${encode(recipe.id)}`;
  return html`<li class="card recipe-card">
    <h2><a href=${url}><${SafeText} text=${recipe.name} /></a></h2>
    <p class="quiet"><code>${recipe.id}</code></p>
    <p><${SafeText} text=${recipe.description || "No description."} /></p>
    <p class="quiet">${governed.length ? "Used in " : "Not used in your rooms."}
      ${governed.map((room, at) => html`${at > 0 && ", "}<a href=${`/console/rooms/${encode(room.room)}`}><${SafeText} text=${room.title || room.room} /></a>`)}</p>
    <div class="actions">
      <a class="button small" href=${url}>${mayEdit ? "Edit" : "View"}<span class="unseen"> ${recipe.id}</span></a>
      ${mayEdit && html`<${Button} kind="quiet small" onClick=${onCopy}>Duplicate…<span class="unseen"> ${recipe.id}</span></${Button}>`}
    </div>
  </li>`;
}

function NewRecipeDialog({ from, taken, navigate, onClose }) {
  const [id, setId] = useState("");
  const [submitted, setSubmitted] = useState(false);
  let error = "";
  if (!/^[a-z][a-z0-9-]{0,62}$/.test(id)) error = "Lowercase letters, digits and hyphens. Start with a letter. At most 63 characters.";
  else if (taken.includes(id)) error = "A recipe with this id already exists.";
  const create = (event) => {
    event.preventDefault();
    setSubmitted(true);
    if (!error) navigate(`/console/recipes/${encode(id)}${from ? `?from=${encode(from)}` : "?new=1"}`);
  };
  return html`<${Dialog} title=${from ? `Duplicate ${from}` : "New recipe"} onClose=${onClose}>
    <form onSubmit=${create}>
      <${Field} label="Id" hint="Also the name of its file." value=${id} error=${submitted ? error : ""} autofocus spellcheck=${false} onInput=${(event) => setId(event.target.value.trim())} />
      <div class="actions"><${Button} kind="primary" type="submit">Create</${Button}></div>
    </form>
  </${Dialog}>`;
}
