// @ts-check
// Access tokens of agents and programs. A new token is shown once.

import { del, encode, get, post } from "../lib/api.js";
import { rooms } from "../lib/store.js";
import { useRefusal } from "./permission.js";
import {
  announce,
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
  Table,
  Time,
  useLoad,
  useSignal,
  useState,
} from "./ui.js";

const LEVELS = ["read", "edit", "full", "root"];

/** Users who may not list tokens get the reason instead of a refused request. @param {{who: Session}} props */
export function Tokens({ who }) {
  const refusal = useRefusal("token/list");
  if (refusal === null) return null;
  if (!refusal) return html`<${TokenList} who=${who} />`;
  return html`<section aria-labelledby="tokens-title">
    <h2 id="tokens-title">Tokens</h2>
    <p class="quiet">Manage tokens: <${SafeText} text=${refusal} /></p>
  </section>`;
}

/** @param {{who: Session}} props */
function TokenList({ who }) {
  const found = useLoad(async () => (await get("/tokens")).items, []);
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState(/** @type {{name: string, token: string} | null} */ (null));
  const [revoking, setRevoking] = useState(/** @type {{id: string, name: string} | null} */ (null));
  const [all, setAll] = useState(false);
  /** @type {Column[]} */
  const columns = [
    { key: "name", title: "Name" },
    { key: "user", title: "Owner" },
    { key: "kind", title: "Kind", render: (row) => describeKind(row.kind) },
    { key: "access", title: "Access" },
    {
      key: "rooms",
      title: "Rooms",
      render: (row) => html`<${SafeText} text=${Array.isArray(row.rooms) ? row.rooms.join(", ") : row.rooms} />`,
    },
    {
      key: "expiresAt",
      title: "Expires",
      render: (row) => (row.revoked ? html`<${Badge} tone="bad">revoked</${Badge}>` : html`<${Time} at=${row.expiresAt} />`),
    },
    {
      key: "revoke",
      title: "Revoke",
      render: (row) =>
        !row.revoked &&
        html`<${Button} kind="danger small" aria-label=${`Revoke ${row.name}`} onClick=${() => setRevoking(row)}>Revoke…</${Button}>`,
    },
  ];
  const revoke = async () => {
    if (revoking) await del(`/tokens/${encode(revoking.id)}`);
    await found.reload();
  };
  return html`<section aria-labelledby="tokens-title">
    <h2 id="tokens-title">Tokens</h2>
    <p class="quiet">With a token, an agent or a program acts for you, within the access of the token.</p>
    ${created && html`<${NewToken} created=${created} onClose=${() => setCreated(null)} />`}
    <${Loaded} from=${found}>
      ${(items) => {
        const valid = items.filter((one) => !one.revoked);
        return html`<${Table} caption="Tokens of your tenant" columns=${columns} rows=${all ? items : valid}
            empty=${html`<p class="quiet">No tokens.</p>`} />
          ${items.length > valid.length &&
          !all &&
          html`<p><${Button} kind="quiet small" onClick=${() => setAll(true)}>Show ${items.length - valid.length} revoked</${Button}></p>`}
          <p class="actions start"><${Button} kind="primary" onClick=${() => setCreating(true)}>Create token…</${Button}></p>`;
      }}
    </${Loaded}>
    ${creating &&
    html`<${TokenDialog} who=${who} onClose=${() => setCreating(false)}
      onCreated=${(token) => {
        announce("Token created. It is shown once.");
        setCreated(token);
        setCreating(false);
        found.reload();
      }} />`}
    ${revoking &&
    html`<${Confirm} title=${`Revoke ${revoking.name}?`} action="Revoke" onConfirm=${revoke} onClose=${() => setRevoking(null)}>
      <p>The token stops working at once, and its streams end. This cannot be undone.</p>
    </${Confirm}>`}
  </section>`;
}

function NewToken({ created, onClose }) {
  return html`<div class="card once" role="status">
    <p><strong>Token ${created.name}</strong> is shown only once. Store it safely.</p>
    <pre class="code wrap" tabindex="0" role="region" aria-label="Token"><code>${created.token}</code></pre>
    <p class="actions start"><${CopyButton} text=${created.token} label="Copy token" /><${Button} kind="quiet small" onClick=${onClose}>Close</${Button}></p>
  </div>`;
}

/** The rooms a token can be used in. Nobody but its two members acts in a direct room. @param {Room[]} all */
export const selectTokenRooms = (all) => all.filter((one) => !one.archived && !one.direct);

const NAME_RULE = "Lowercase letters, digits, dots, hyphens and underscores. Start with a letter or digit.";

function TokenDialog({ who, onClose, onCreated }) {
  const offered = selectTokenRooms(useSignal(rooms) ?? []);
  const levels = LEVELS.slice(0, LEVELS.indexOf(who.access) + 1);
  const [values, setValues] = useState({ name: "", kind: "ai", access: levels.includes("edit") ? "edit" : "read", days: "30" });
  const [everywhere, setEverywhere] = useState(false);
  const [chosen, setChosen] = useState(() => offered.slice(0, 1).map((one) => one.room));
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [nameError, setNameError] = useState("");
  const [busy, setBusy] = useState(false);
  const change = (name) => (event) => setValues({ ...values, [name]: event.target.value });
  const roomMissing = values.kind === "ai" && !everywhere && !chosen.length;
  const toggle = (room) => (event) =>
    setChosen(event.target.checked ? [...chosen, room] : chosen.filter((one) => one !== room));
  const submit = async (event) => {
    event.preventDefault();
    if (roomMissing) return;
    const valid = /^[a-z0-9][a-z0-9._-]{0,62}$/.test(values.name.trim());
    setNameError(valid ? "" : `${NAME_RULE} Given: “${values.name.trim().slice(0, 63)}”.`);
    if (!valid) return;
    setBusy(true);
    setProblem(null);
    try {
      const body = { name: values.name.trim(), kind: values.kind, access: values.access, days: Number(values.days) };
      const answer = await post("/tokens", everywhere ? body : { ...body, rooms: chosen });
      onCreated({ ...answer, name: body.name });
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="Create token" onClose=${onClose}>
    <form onSubmit=${submit}>
      <${Field} label="Name" value=${values.name} onInput=${change("name")} hint=${nameError ? "" : `The agent acts under this name. ${NAME_RULE}`}
        error=${nameError} autocapitalize="none" maxlength="63" spellcheck=${false} required />
      <div class="two">
        <${Field} label="For" options=${[["ai", "an AI"], ["service", "a program"], ["human", "yourself"]]} value=${values.kind} onChange=${change("kind")} />
        <${Field} label="Access" options=${levels} value=${values.access} onChange=${change("access")} />
        <${Field} label="Valid for (days)" type="number" min="1" max="366" value=${values.days} onInput=${change("days")} />
      </div>
      <fieldset>
        <legend>Rooms</legend>
        <label class="tick"><input type="checkbox" checked=${everywhere} onChange=${(event) => setEverywhere(event.target.checked)} /> All your rooms, including future ones</label>
        ${!everywhere &&
        offered.map(
          (one) => html`<label class="tick" key=${one.room}><input type="checkbox" checked=${chosen.includes(one.room)}
            onChange=${toggle(one.room)} /> <${SafeText} text=${one.name || one.room} /></label>`,
        )}
        ${!everywhere &&
        !chosen.length &&
        html`<p class=${roomMissing ? "field-error" : "hint"} role="status">${roomMissing
          ? "An AI acts in rooms only. Select at least one room."
          : "Without a room, the token works outside rooms only."}</p>`}
      </fieldset>
      <${ErrorBox} problem=${problem} />
      <div class="actions start">
        <${Button} kind="primary" type="submit" busy=${busy} disabled=${roomMissing}>Create token</${Button}>
        <${Button} onClick=${onClose}>Cancel</${Button}>
      </div>
    </form>
  </${Dialog}>`;
}
