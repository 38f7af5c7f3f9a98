// @ts-check
// Dialogs that create rooms: a room with a recipe, or a direct room.

import { encode, get, post, run } from "../lib/api.js";
import { loadRooms } from "../lib/store.js";
import { Button, Dialog, ErrorBox, Field, html, useEffect, useLoad, useRef, useState } from "./ui.js";

const NAME_RULE = "Letters a to z, digits, spaces, hyphens and underscores. Start with a letter or digit.";

/** The name of a room with this title: lowercase, with hyphens for spaces. @param {string} title */
const toRoomName = (title) => title.trim().toLowerCase().replace(/\s+/g, "-");

/** Why a title is not valid; "" when it is. @param {string} title */
export function validateRoomTitle(title) {
  if (/^[a-z0-9][a-z0-9_-]{0,62}$/.test(toRoomName(title))) return "";
  const odd = [...new Set(title.trim().match(/[^a-z0-9_\s-]/giu) ?? [])];
  return odd.length ? `Not allowed in a room name: ${odd.slice(0, 8).join(" ")}` : "Start with a letter or digit.";
}

/** The ids of users and personas. @param {(user: {active: boolean}) => boolean} [accept] which users */
export async function fetchMemberIds(accept = () => true) {
  const empty = { items: [] };
  const [users, personas] = await Promise.all([get("/users").catch(() => empty), get("/personas").catch(() => empty)]);
  const ids = [...personas.items, ...users.items.filter(accept)].map((one) => one.id);
  return [...new Set(ids)];
}

/** @param {{onClose: () => void, navigate: Navigate}} props */
export function NewRoomDialog({ onClose, navigate }) {
  const recipes = useLoad(() => get("/recipes"));
  const [values, setValues] = useState({ title: "", topic: "", recipe: "" });
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [titleError, setTitleError] = useState("");
  const [busy, setBusy] = useState(false);
  /** @type {import("./ui.js").ElementRef} */
  const field = useRef(null);
  useEffect(() => {
    if (titleError) field.current.focus();
  }, [titleError]);
  const change = (name) => (event) => setValues({ ...values, [name]: event.target.value });
  /** @type {[string, string][]} */
  const offered = (recipes.data?.items ?? []).map((one) => {
    const id = one.recipeId ?? one.id;
    return [id, `${one.displayName ?? one.name ?? one.id} (${id})`];
  });
  const recipe = values.recipe || (offered.find(([id]) => id === "code-collaboration") ?? offered[0])?.[0] || "";
  const create = async (event) => {
    event.preventDefault();
    const name = toRoomName(values.title);
    const title = values.title.trim() === name ? "" : values.title.trim();
    const error = validateRoomTitle(values.title);
    setProblem(null);
    setTitleError(error);
    if (error) return;
    setBusy(true);
    try {
      const created = await post("/rooms", { name, recipe, ...(title && { title }), ...(values.topic && { topic: values.topic }) });
      await loadRooms();
      onClose();
      navigate(`/console/rooms/${encode(created.room)}`);
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="New room" onClose=${onClose}>
    <form onSubmit=${create}>
      <${Field} label="Name" value=${values.title} onInput=${change("title")} required maxlength="63" error=${titleError} inputRef=${field} hint=${NAME_RULE} />
      <${Field} label="Topic" value=${values.topic} onInput=${change("topic")} maxlength="500" hint="Optional. One sentence about the room." />
      <${Field} label="Recipe" options=${offered.length ? offered : [["", "Loading…"]]} value=${recipe} onChange=${change("recipe")} hint="Decides who may run what in the room, and what needs approval." />
      <${ErrorBox} problem=${problem ?? recipes.problem} />
      <div class="actions"><${Button} kind="primary" type="submit" busy=${busy} disabled=${!recipe}>Create room</${Button}></div>
    </form>
  </${Dialog}>`;
}

/** @param {{onClose: () => void, navigate: Navigate}} props */
export function DirectMessageDialog({ onClose, navigate }) {
  const ids = useLoad(() => fetchMemberIds());
  const [member, setMember] = useState("");
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [busy, setBusy] = useState(false);
  const open = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const { result } = await run("room/direct", { member: member.trim() });
      await loadRooms();
      onClose();
      navigate(`/console/rooms/${encode(result.room)}`);
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="New direct message" onClose=${onClose}>
    <form onSubmit=${open}>
      <${Field} label="To" value=${member} onInput=${(event) => setMember(event.target.value)} list="reachable" required autocapitalize="none" hint="The id of a person or an AI. The room has only the two of you." />
      <datalist id="reachable">${(ids.data ?? []).map((id) => html`<option value=${id}></option>`)}</datalist>
      <${ErrorBox} problem=${problem} />
      <div class="actions"><${Button} kind="primary" type="submit" busy=${busy}>Open room</${Button}></div>
    </form>
  </${Dialog}>`;
}
