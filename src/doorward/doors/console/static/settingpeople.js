// The users of the tenant: how far their access reaches, whether they may act, and how new ones come in.

import { get, part, patch, post } from "./api.js";
import {
  Badge,
  Button,
  Confirm,
  Copy,
  Dialog,
  ErrorBox,
  Field,
  html,
  Loaded,
  Table,
  Time,
  toast,
  useLoad,
  useRef,
  useState,
  Visible,
} from "./ui.js";

const LEVELS = ["read", "edit", "full", "root"];
const SHORTEST = 12;

/** What is wrong with a password before it is sent; nothing where none is given. */
export const passwordFault = (password) =>
  password && [...password].length < SHORTEST
    ? `A password has at least ${SHORTEST} characters; this one has ${[...password].length}.`
    : "";

export function People({ who }) {
  const found = useLoad(async () => (await get("/users")).items, []);
  const [changing, setChanging] = useState(null);
  const [adding, setAdding] = useState(false);
  const [invited, setInvited] = useState(null);
  const [inviting, setInviting] = useState(false);
  const may = who.access === "root";
  const columns = [
    { key: "id", title: "User", render: (row) => html`<${Visible} text=${row.name} />${row.name !== row.id
      ? html` <code><${Visible} text=${row.id} /></code>` : ""}${row.id === who.user
        ? html` <${Badge} tone="info">you</${Badge}>` : ""}` },
    { key: "kind", title: "Kind", render: (row) => ({ ai: "AI", human: "person",
      service: "program" })[row.kind] ?? row.kind },
    { key: "access", title: "Access" },
    { key: "active", title: "May act", render: (row) => (row.active ? "yes"
      : html`<${Badge} tone="bad">no</${Badge}>`) },
    ...(may ? [{ key: "change", title: "Change", render: (row) => html`<${Button} kind="small"
      aria-label=${`Change ${row.id}`} onClick=${() => setChanging(row)}>Change…</${Button}>` }] : []),
  ];
  const invite = async () => setInvited(await post("/invitations", {}));
  return html`<section aria-labelledby="people-title">
    <h2 id="people-title">People</h2>
    <${Loaded} from=${found}>${(items) => html`<${Table} caption="Users of your tenant" columns=${columns} rows=${items}
      />`}</${Loaded}>
    ${may && html`<p class="actions start"><${Button}
      onClick=${() => setAdding(true)}>Add a user…</${Button}>${who.tenant === "local" &&
        html`<${Button} onClick=${() => setInviting(true)}>Invite another tenant…</${Button}>`}</p>`}
    ${inviting && html`<${Confirm} title="Invite another tenant?" words="Make a passcode" kind="primary" onYes=${invite}
      onClose=${() => setInviting(false)}>
      <p>A tenant has its own people, rooms and records beside yours, in this house. Whoever has the passcode may make
        one.</p>
    </${Confirm}>`}
    ${invited &&
    html`<div class="card once" role="status">
      <p>With this passcode somebody may register one new tenant, until <${Time} at=${invited.expiresAt} form="exact"
        />. It is shown this once.</p>
      <pre class="code wrap" tabindex="0" role="region" aria-label="The passcode"><code>${invited.passcode}</code></pre>
      <p class="actions start"><${Copy} text=${invited.passcode} label="Copy the passcode" /><${Button}
        kind="quiet small" onClick=${() => setInvited(null)}>I have it</${Button}></p>
    </div>`}
    ${changing && html`<${Change} user=${changing} self=${changing.id === who.user} onClose=${() => setChanging(null)}
      onDone=${found.reload} />`}
    ${adding && html`<${Add} onClose=${() => setAdding(false)} onDone=${found.reload} />`}
  </section>`;
}

function Change({ user, self, onClose, onDone }) {
  const [access, setAccess] = useState(user.access);
  const [active, setActive] = useState(user.active);
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState(null);
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setWrong(passwordFault(password));
    if (passwordFault(password)) return;
    setBusy(true);
    setProblem(null);
    try {
      if (access !== user.access || active !== user.active) {
        await patch(`/users/${part(user.id)}`, { ...(access !== user.access ? { access } : {}),
          ...(active !== user.active ? { active } : {}) });
      }
      if (password) await post(`/users/${part(user.id)}/password`, { password });
      toast(`${user.id} was changed.`);
      await onDone();
      onClose();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${`Change ${user.id}`} onClose=${onClose}>
    <form onSubmit=${submit}>
      <${Field} label="Access" options=${LEVELS} value=${access} onChange=${(event) => setAccess(event.target.value)} />
      <label class="tick"><input type="checkbox" checked=${active}
        onChange=${(event) => setActive(event.target.checked)} /> may act at all</label>
      ${!self && html`<${Field} label="New password" type="password" value=${password}
        onInput=${(event) => setPassword(event.target.value)} autocomplete="new-password" error=${wrong}
          hint="Leave it empty to leave it as it is. A new one ends all of their sessions." />`}
      <${ErrorBox} problem=${problem} />
      <div class="actions start"><${Button} kind="primary" type="submit" busy=${busy}>Change it</${Button}><${Button}
        onClick=${onClose}>Leave it</${Button}></div>
    </form>
  </${Dialog}>`;
}

function Add({ onClose, onDone }) {
  const [facts, setFacts] = useState({ id: "", name: "", access: "read", password: "" });
  const [problem, setProblem] = useState(null);
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const made = useRef(""); // who was added, should only the password have been refused
  const typed = (name) => (event) => setFacts({ ...facts, [name]: event.target.value });
  const submit = async (event) => {
    event.preventDefault();
    setWrong(passwordFault(facts.password));
    if (passwordFault(facts.password)) return;
    setBusy(true);
    setProblem(null);
    const id = facts.id.trim();
    try {
      if (made.current === id) await patch(`/users/${part(id)}`, { access: facts.access });
      else await post("/users", { id, access: facts.access, ...(facts.name.trim() ? { name: facts.name.trim() } : {}) });
      made.current = id;
      await onDone();
      if (facts.password) await post(`/users/${part(id)}/password`, { password: facts.password });
      toast(`${facts.id} was added.`);
      onClose();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="Add a user" onClose=${onClose}>
    <form onSubmit=${submit}>
      <${Field} label="Id" value=${facts.id} onInput=${typed("id")} hint="Small letters, digits, dots, hyphens, underscores and @; a letter or digit first; at most 63."
        autocapitalize="none" spellcheck=${false} required />
      <${Field} label="Name" value=${facts.name} onInput=${typed("name")} hint="What to call them; by default the id."
        />
      <${Field} label="Access" options=${LEVELS} value=${facts.access} onChange=${typed("access")} />
      <${Field} label="First password" type="password" value=${facts.password} onInput=${typed("password")}
        autocomplete="new-password" error=${wrong}
          hint="At least 12 characters; they log in with it and change it. Without one they cannot come in yet." />
      <${ErrorBox} problem=${problem} />
      <div class="actions start"><${Button} kind="primary" type="submit" busy=${busy}>Add them</${Button}><${Button}
        onClick=${onClose}>Leave it</${Button}></div>
    </form>
  </${Dialog}>`;
}
