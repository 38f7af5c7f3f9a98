// Tokens: what agents and programs show. A new one is shown this once.

import { del, get, part, post } from "./api.js";
import { useRefusal } from "./allowed.js";
import { rooms } from "./state.js";
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
  say,
  Table,
  Time,
  useLoad,
  useSignal,
  useState,
  Visible,
} from "./ui.js";

const LEVELS = ["read", "edit", "full", "root"];

/** Whoever may not see them is told so, and not refused at each visit. */
export function Tokens({ who }) {
  const refusal = useRefusal("token/list");
  if (refusal === null) return null;
  if (!refusal) return html`<${Known} who=${who} />`;
  return html`<section aria-labelledby="tokens-title">
    <h2 id="tokens-title">Tokens</h2>
    <p class="quiet">To see and make tokens: <${Visible} text=${refusal} /></p>
  </section>`;
}

function Known({ who }) {
  const found = useLoad(async () => (await get("/tokens")).items, []);
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState(null);
  const [revoking, setRevoking] = useState(null);
  const [all, setAll] = useState(false);
  const columns = [
    { key: "name", title: "Name" },
    { key: "user", title: "Of" },
    { key: "kind", title: "Kind", render: (row) => ({ ai: "AI", human: "person",
      service: "program" })[row.kind] ?? row.kind },
    { key: "access", title: "Access" },
    { key: "rooms", title: "Rooms", render: (row) => html`<${Visible} text=${Array.isArray(row.rooms)
      ? row.rooms.join(", ") : row.rooms} />` },
    { key: "expiresAt", title: "Until", render: (row) => (row.revoked ? html`<${Badge} tone="bad">revoked</${Badge}>`
      : html`<${Time} at=${row.expiresAt} />`) },
    { key: "revoke", title: "Revoke", render: (row) => !row.revoked && html`<${Button} kind="danger small"
      aria-label=${`Revoke ${row.name}`} onClick=${() => setRevoking(row)}>Revoke…</${Button}>` },
  ];
  const revoke = async () => {
    await del(`/tokens/${part(revoking.id)}`);
    await found.reload();
  };
  return html`<section aria-labelledby="tokens-title">
    <h2 id="tokens-title">Tokens</h2>
    <p class="quiet">A token lets an agent or a program act for you, as far as it reaches and no further.</p>
    ${made && html`<${Made} made=${made} onClose=${() => setMade(null)} />`}
    <${Loaded} from=${found}>
      ${(items) => {
        const good = items.filter((one) => !one.revoked);
        return html`<${Table} caption="Tokens of your tenant" columns=${columns} rows=${all ? items : good}
          empty=${html`<p class="quiet">There is no token.</p>`} />
          ${items.length > good.length && !all && html`<p><${Button} kind="quiet small"
            onClick=${() => setAll(true)}>Show ${items.length - good.length} revoked</${Button}></p>`}
          <p class="actions start"><${Button} kind="primary"
            onClick=${() => setMaking(true)}>Make a token…</${Button}></p>`;
      }}
    </${Loaded}>
    ${making && html`<${Make} who=${who} onClose=${() => setMaking(false)}
      onMade=${(token) => { say("The token is made, and shown once"); setMade(token); setMaking(false); found.reload(); }} />`}
    ${revoking && html`<${Confirm} title=${`Revoke ${revoking.name}?`} words="Revoke it" onYes=${revoke}
      onClose=${() => setRevoking(null)}>
      <p>It is worthless at once, and stays so. Streams that were opened with it end.</p>
    </${Confirm}>`}
  </section>`;
}

function Made({ made, onClose }) {
  return html`<div class="card once" role="status">
    <p><strong>The token ${made.name}</strong> is shown this once. Keep it where only its owner reads it.</p>
    <pre class="code wrap" tabindex="0" role="region" aria-label="The token"><code>${made.token}</code></pre>
    <p class="actions start"><${Copy} text=${made.token} label="Copy the token" /><${Button} kind="quiet small"
      onClick=${onClose}>I have it</${Button}></p>
  </div>`;
}

/** Rooms that a token can be for: in a room of two nobody acts but the two. */
export const tokenRooms = (all) => all.filter((one) => !one.archived && !one.direct);

const NAME = "A name has small letters from a to z, digits, dots, dashes and underscores, and no blanks.";

function Make({ who, onClose, onMade }) {
  const mine = tokenRooms(useSignal(rooms) ?? []);
  const levels = LEVELS.slice(0, LEVELS.indexOf(who.access) + 1);
  const [facts, setFacts] = useState({ name: "", kind: "ai", access: levels.includes("edit") ? "edit" : "read",
    days: "30" });
  const [everywhere, setEverywhere] = useState(false);
  const [chosen, setChosen] = useState(() => mine.slice(0, 1).map((one) => one.room));
  const [problem, setProblem] = useState(null);
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const typed = (name) => (event) => setFacts({ ...facts, [name]: event.target.value });
  const nowhere = facts.kind === "ai" && !everywhere && !chosen.length;
  const tick = (room) => (event) => setChosen(event.target.checked ? [...chosen, room]
    : chosen.filter((one) => one !== room));
  const submit = async (event) => {
    event.preventDefault();
    if (nowhere) return;
    const right = /^[a-z0-9][a-z0-9._-]{0,62}$/.test(facts.name.trim());
    setWrong(right ? "" : `${NAME} It begins with a letter or digit, and “${facts.name.trim().slice(0, 63)}” does not fit that.`);
    if (!right) return;
    setBusy(true);
    setProblem(null);
    try {
      const body = { name: facts.name.trim(), kind: facts.kind, access: facts.access, days: Number(facts.days) };
      const answer = await post("/tokens", everywhere ? body : { ...body, rooms: chosen });
      onMade({ ...answer, name: body.name });
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="Make a token" onClose=${onClose}>
    <form onSubmit=${submit}>
      <${Field} label="Name" value=${facts.name} onInput=${typed("name")}
        hint=${wrong ? "" : `An agent acts under this name. ${NAME}`} error=${wrong} autocapitalize="none" maxlength="63"
          spellcheck=${false} required />
      <div class="two">
        <${Field} label="For" options=${[["ai", "an AI"], ["service", "a program"], ["human", "a person: yourself"]]}
          value=${facts.kind} onChange=${typed("kind")} />
        <${Field} label="Access" options=${levels} value=${facts.access} onChange=${typed("access")} />
        <${Field} label="Days it lasts" type="number" min="1" max="366" value=${facts.days} onInput=${typed("days")} />
      </div>
      <fieldset>
        <legend>Rooms it is good for</legend>
        <label class="tick"><input type="checkbox" checked=${everywhere}
          onChange=${(event) => setEverywhere(event.target.checked)} /> all of yours, also later ones</label>
        ${!everywhere && mine.map((one) => html`<label class="tick" key=${one.room}><input type="checkbox"
          checked=${chosen.includes(one.room)} onChange=${tick(one.room)} /> <${Visible} text=${one.name || one.room}
            /></label>`)}
        ${!everywhere && !chosen.length && html`<p class=${nowhere ? "field-error" : "hint"} role="status">${nowhere
          ? "An AI acts in rooms only: tick one of them, or all." : "It is good for no room, only outside of rooms."}</p>`}
      </fieldset>
      <${ErrorBox} problem=${problem} />
      <div class="actions start"><${Button} kind="primary" type="submit" busy=${busy} disabled=${nowhere}>Make it</${Button}><${Button}
        onClick=${onClose}>Leave it</${Button}></div>
    </form>
  </${Dialog}>`;
}
