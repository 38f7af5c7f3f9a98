// Making rooms: one that a recipe governs, or one for two.

import { get, post, run } from "../api.js";
import { loadRooms } from "../state.js";
import { Button, Dialog, ErrorBox, Field, html, useEffect, useLoad, useRef, useState } from "../ui.js";

const NAME = "Letters from a to z, digits, blanks, dashes and underscores, beginning with a letter or digit.";

/** The name of a room that people call so: in small letters, with dashes for blanks. */
const roomName = (called) => called.trim().toLowerCase().replace(/\s+/g, "-");

/** What is wrong with what a room shall be called, in a sentence; "" where nothing is. */
export function nameFault(called) {
  if (/^[a-z0-9][a-z0-9_-]{0,62}$/.test(roomName(called))) return "";
  const odd = [...new Set(called.trim().match(/[^a-z0-9_\s-]/giu) ?? [])];
  return odd.length ? `A room cannot be called so: take out ${odd.slice(0, 8).join(" ")}` : "A room's name begins with a letter or a digit.";
}

export function NewRoom({ onClose, navigate }) {
  const recipes = useLoad(() => get("/recipes"));
  const [given, setGiven] = useState({ name: "", topic: "", recipe: "" });
  const [problem, setProblem] = useState(null);
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const field = useRef(null);
  useEffect(() => {
    if (wrong) field.current.focus();
  }, [wrong]);
  const change = (name) => (event) => setGiven({ ...given, [name]: event.target.value });
  const known = (recipes.data?.items ?? []).map((one) => [one.recipeId ?? one.id, `${one.displayName ?? one.name ?? one.id} (${one.recipeId ?? one.id})`]);
  const recipe = given.recipe || (known.find(([id]) => id === "code-collaboration") ?? known[0])?.[0] || "";
  const make = async (event) => {
    event.preventDefault();
    const name = roomName(given.name);
    const title = given.name.trim() === name ? "" : given.name.trim();
    const fault = nameFault(given.name);
    setProblem(null);
    setWrong(fault);
    if (fault) return;
    setBusy(true);
    try {
      const made = await post("/rooms", { name, recipe, ...(title && { title }), ...(given.topic && { topic: given.topic }) });
      await loadRooms();
      onClose();
      navigate(`/console/rooms/${encodeURIComponent(made.room)}`);
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="New room" onClose=${onClose}>
    <form onSubmit=${make}>
      <${Field} label="Name" value=${given.name} onInput=${change("name")} required maxlength="63" error=${wrong} inputRef=${field} hint=${NAME} />
      <${Field} label="Topic" value=${given.topic} onInput=${change("topic")} maxlength="500" hint="What it is about, in a sentence; may be left empty." />
      <${Field} label="Recipe" options=${known.length ? known : [["", "Loading…"]]} value=${recipe} onChange=${change("recipe")} hint="What may be run in it, by whom, and what asks a person first." />
      <${ErrorBox} problem=${problem ?? recipes.problem} />
      <div class="actions"><${Button} kind="primary" type="submit" busy=${busy} disabled=${!recipe}>Make the room</${Button}></div>
    </form>
  </${Dialog}>`;
}

export function DirectRoom({ onClose, navigate }) {
  const others = useLoad(async () => {
    const [users, personas] = await Promise.all([get("/users").catch(() => ({ items: [] })), get("/personas").catch(() => ({ items: [] }))]);
    return [...new Set([...personas.items.map((one) => one.id), ...users.items.map((one) => one.id)])];
  });
  const [member, setMember] = useState("");
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const open = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const { result } = await run("room/direct", { member: member.trim() });
      await loadRooms();
      onClose();
      navigate(`/console/rooms/${encodeURIComponent(result.room)}`);
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="Write to somebody" onClose=${onClose}>
    <form onSubmit=${open}>
      <${Field} label="Who" value=${member} onInput=${(event) => setMember(event.target.value)} list="reachable" required autocapitalize="none" hint="A person or an AI; only the two of you are in the room." />
      <datalist id="reachable">${(others.data ?? []).map((id) => html`<option value=${id}></option>`)}</datalist>
      <${ErrorBox} problem=${problem} />
      <div class="actions"><${Button} kind="primary" type="submit" busy=${busy}>Open the room</${Button}></div>
    </form>
  </${Dialog}>`;
}
