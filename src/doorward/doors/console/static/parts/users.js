// @ts-check
// The users of the tenant: their access, whether they are active, and invitations.

import { encode, get, patch, post } from "../lib/api.js";
import {
  Badge,
  Button,
  Confirm,
  CopyButton,
  describeKind,
  Dialog,
  ErrorBox,
  Field,
  html,
  Loaded,
  SafeText,
  showToast,
  Table,
  Time,
  useLoad,
  useRef,
  useState,
} from "./ui.js";

const LEVELS = ["read", "edit", "full", "root"];
const MIN_PASSWORD = 12;

/** Why a password is not valid; "" when it is, or when none is given. @param {string} password */
export function validatePassword(password) {
  const length = [...password].length;
  return length && length < MIN_PASSWORD ? `At least ${MIN_PASSWORD} characters; given ${length}.` : "";
}

/** @param {{who: Session}} props */
export function Users({ who }) {
  const found = useLoad(async () => (await get("/users")).items, []);
  const [editing, setEditing] = useState(/** @type {any} */ (null));
  const [adding, setAdding] = useState(false);
  const [invitation, setInvitation] = useState(/** @type {{passcode: string, expiresAt: string} | null} */ (null));
  const [inviting, setInviting] = useState(false);
  const mayEdit = who.access === "root";
  /** @type {Column[]} */
  const columns = [
    {
      key: "id",
      title: "User",
      render: (row) =>
        html`<${SafeText} text=${row.name} />${row.name !== row.id ? html` <code><${SafeText} text=${row.id} /></code>` : ""}${row.id === who.user
          ? html` <${Badge} tone="info">you</${Badge}>`
          : ""}`,
    },
    { key: "kind", title: "Kind", render: (row) => describeKind(row.kind) },
    { key: "access", title: "Access" },
    { key: "active", title: "Active", render: (row) => (row.active ? "yes" : html`<${Badge} tone="bad">no</${Badge}>`) },
    ...(mayEdit
      ? [
          {
            key: "edit",
            title: "Edit",
            render: (row) =>
              html`<${Button} kind="small" aria-label=${`Edit ${row.id}`} onClick=${() => setEditing(row)}>Edit…</${Button}>`,
          },
        ]
      : []),
  ];
  const invite = async () => setInvitation(await post("/invitations", {}));
  return html`<section aria-labelledby="people-title">
    <h2 id="people-title">Users</h2>
    <${Loaded} from=${found}>${(items) => html`<${Table} caption="Users of your tenant" columns=${columns} rows=${items} />`}</${Loaded}>
    ${mayEdit &&
    html`<p class="actions start"><${Button} onClick=${() => setAdding(true)}>Add user…</${Button}>${who.tenant === "local" &&
      html`<${Button} onClick=${() => setInviting(true)}>Invite a tenant…</${Button}>`}</p>`}
    ${inviting &&
    html`<${Confirm} title="Invite a tenant?" action="Create passcode" kind="primary" onConfirm=${invite} onClose=${() => setInviting(false)}>
      <p>A tenant has its own users, rooms and records on this server. Anyone with the passcode can register one.</p>
    </${Confirm}>`}
    ${invitation &&
    html`<div class="card once" role="status">
      <p>With this passcode, one new tenant can register until <${Time} at=${invitation.expiresAt} form="exact" />. It is shown only once.</p>
      <pre class="code wrap" tabindex="0" role="region" aria-label="Passcode"><code>${invitation.passcode}</code></pre>
      <p class="actions start"><${CopyButton} text=${invitation.passcode} label="Copy passcode" /><${Button} kind="quiet small" onClick=${() => setInvitation(null)}>Close</${Button}></p>
    </div>`}
    ${editing && html`<${EditUserDialog} user=${editing} self=${editing.id === who.user} onClose=${() => setEditing(null)} onDone=${found.reload} />`}
    ${adding && html`<${AddUserDialog} onClose=${() => setAdding(false)} onDone=${found.reload} />`}
  </section>`;
}

function EditUserDialog({ user, self, onClose, onDone }) {
  const [access, setAccess] = useState(user.access);
  const [active, setActive] = useState(user.active);
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [passwordError, setPasswordError] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setPasswordError(validatePassword(password));
    if (validatePassword(password)) return;
    setBusy(true);
    setProblem(null);
    try {
      if (access !== user.access || active !== user.active)
        await patch(`/users/${encode(user.id)}`, {
          ...(access !== user.access ? { access } : {}),
          ...(active !== user.active ? { active } : {}),
        });
      if (password) await post(`/users/${encode(user.id)}/password`, { password });
      showToast(`Saved ${user.id}.`);
      await onDone();
      onClose();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${`Edit ${user.id}`} onClose=${onClose}>
    <form onSubmit=${submit}>
      <${Field} label="Access" options=${LEVELS} value=${access} onChange=${(event) => setAccess(event.target.value)} />
      <label class="tick"><input type="checkbox" checked=${active} onChange=${(event) => setActive(event.target.checked)} /> Active</label>
      ${!self &&
      html`<${Field} label="New password" type="password" value=${password} onInput=${(event) => setPassword(event.target.value)}
        autocomplete="new-password" error=${passwordError} hint="Leave empty to keep the current one. A new password ends all sessions of this user." />`}
      <${ErrorBox} problem=${problem} />
      <div class="actions start"><${Button} kind="primary" type="submit" busy=${busy}>Save</${Button}><${Button} onClick=${onClose}>Cancel</${Button}></div>
    </form>
  </${Dialog}>`;
}

function AddUserDialog({ onClose, onDone }) {
  const [values, setValues] = useState({ id: "", name: "", access: "read", password: "" });
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [passwordError, setPasswordError] = useState("");
  const [busy, setBusy] = useState(false);
  const created = useRef(""); // the user that exists already, if only the password was refused
  const change = (name) => (event) => setValues({ ...values, [name]: event.target.value });
  const submit = async (event) => {
    event.preventDefault();
    setPasswordError(validatePassword(values.password));
    if (validatePassword(values.password)) return;
    setBusy(true);
    setProblem(null);
    const id = values.id.trim();
    try {
      if (created.current === id) await patch(`/users/${encode(id)}`, { access: values.access });
      else await post("/users", { id, access: values.access, ...(values.name.trim() ? { name: values.name.trim() } : {}) });
      created.current = id;
      await onDone();
      if (values.password) await post(`/users/${encode(id)}/password`, { password: values.password });
      showToast(`Added ${id}.`);
      onClose();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="Add user" onClose=${onClose}>
    <form onSubmit=${submit}>
      <${Field} label="Id" value=${values.id} onInput=${change("id")} autocapitalize="none" spellcheck=${false} required
        hint="Lowercase letters, digits, dots, hyphens, underscores and @. Start with a letter or digit. At most 63 characters." />
      <${Field} label="Name" value=${values.name} onInput=${change("name")} hint="Display name. Defaults to the id." />
      <${Field} label="Access" options=${LEVELS} value=${values.access} onChange=${change("access")} />
      <${Field} label="Initial password" type="password" value=${values.password} onInput=${change("password")}
        autocomplete="new-password" error=${passwordError} hint="At least 12 characters. Without a password, the user cannot log in yet." />
      <${ErrorBox} problem=${problem} />
      <div class="actions start"><${Button} kind="primary" type="submit" busy=${busy}>Add user</${Button}><${Button} onClick=${onClose}>Cancel</${Button}></div>
    </form>
  </${Dialog}>`;
}
