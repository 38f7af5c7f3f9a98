// One record, whole, with the others of its call and with what would be decided now.

import { get, part, post } from "../api.js";
import { Badge, Button, Code, Copy, ErrorBox, html, Loaded, Page, State, Table, Time, useLoad, useState, Visible } from "../ui.js";

export default function OneRecord({ id }) {
  const from = useLoad(() => get(`/audit/${part(id)}`), [id]);
  const actions = html`<a class="button" href="/console/ledger">All records</a>
    ${Number(id) > 1 && html`<a class="button quiet" href=${`/console/ledger/${Number(id) - 1}`} rel="prev">Earlier</a>`}
    <a class="button quiet" href=${`/console/ledger/${Number(id) + 1}`} rel="next">Later</a>`;
  return html`<${Page} title=${`Record ${id}`} actions=${actions}>
    <${Loaded} from=${from}>${(record) => html`<${Facts} record=${record} />`}</${Loaded}>
  </${Page}>`;
}

const row = (title, value) => (value === "" || value === null || value === undefined ? null : html`<dt>${title}</dt><dd>${value}</dd>`);
const link = (to, text) => html`<a href=${to}><${Visible} text=${text} /></a>`;
const code = (text) => html`<code><${Visible} text=${text} /></code>`;
const PHASES = { start: "the start of a call that may change something", end: "the end of a call that may change something", whole: "a call as a whole" };

function Facts({ record }) {
  return html`<div class="card">
      <p class="record-head"><${State} state=${record.status} />
        <a href=${`/console/commands/${part(record.command)}`}><code><${Visible} text=${record.command} /></code></a>
        ${record.code && record.code !== "ok" && html`<${Badge}>${record.code}</${Badge}>`}</p>
      ${record.note && html`<p><${Visible} text=${record.note} /></p>`}
      <dl class="facts">
        ${row("When", html`<${Time} at=${record.at} form="exact" /> <span class="quiet">(<${Time} at=${record.at} />)</span>`)}
        ${row("Who", html`${link(`/console/ledger?caller=${part(record.caller)}&since=30d`, record.caller)} <span class="quiet">${record.kind}</span>`)}
        ${row("On behalf of", record.onBehalfOf && html`<${Visible} text=${record.onBehalfOf} />`)}
        ${row("Room", record.room && link(`/console/rooms/${part(record.room)}`, record.room))}
        ${row("Door", record.door && html`<${Visible} text=${record.door} />`)}
        ${row("Rule", record.rule && code(record.rule))}
        ${row("Approval", record.approval && link(`/console/approvals/${part(record.approval)}`, record.approval))}
        ${row("Execution", record.call && link(`/console/executions/${part(record.call)}`, record.call))}
        ${row("Tier", record.tier)}
        ${row("This records", PHASES[record.phase])}
        ${row("Took", record.phase === "start" ? "" : `${record.durationMs.toFixed(3)} ms`)}
        ${row("Energy", `${record.spent} spent of ${record.reserved} reserved`)}
      </dl>
    </div>
    <h2>Parameters</h2>
    ${record.params === null
      ? html`<p class="quiet">${record.phase === "end" ? "They stand in the record of the start." : "Only whoever asked, and people with full access, see them."}</p>`
      : record.params === ""
        ? html`<p class="quiet">They stand in the record of the start.</p>`
        : html`<${Code} value=${record.params} label="Parameters, secrets hidden" />`}
    <${Now} record=${record} />
    ${record.call && html`<${Others} record=${record} />`}
    <h2>Its place in the chain</h2>
    <p class="quiet">The hash covers this record and, through the one before it, everything earlier. Whoever changes any of it changes this.</p>
    <dl class="facts hashes">
      ${row("Hash", html`${code(record.hash)} <${Copy} text=${record.hash} />`)}
      ${row("Before it", code(record.prev))}
      ${row("What ran", record.digest && code(record.digest))}
    </dl>`;
}

function Others({ record }) {
  const from = useLoad(() => get("/audit", { call: record.call, limit: 20 }), [record.call]);
  const others = (from.data?.items ?? []).filter((one) => one.id !== record.id);
  if (!others.length) return null;
  return html`<h2>Other records of this call</h2>
    <${Table} caption="Other records of this call" rows=${others} columns=${[
      { key: "id", title: "No.", render: (one) => html`<a href=${`/console/ledger/${one.id}`}>${one.id}</a>` },
      { key: "at", title: "When", render: (one) => html`<${Time} at=${one.at} form="exact" />` },
      { key: "status", title: "Status", render: (one) => html`<${State} state=${one.status} />` },
      { key: "phase", title: "Of", render: (one) => one.phase },
    ]} />`;
}

/** What would be decided now: about whoever asked, by the recipe in force, or about oneself where it was a person. */
function Now({ record }) {
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const ask = async () => {
    setBusy(true);
    setProblem(null);
    try {
      setFound(record.room && record.kind !== "human" ? await aboutAgent(record) : await aboutMe(record));
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  return html`<h2>What would happen now</h2>
    <p class="quiet">The same question, decided by the rules that hold at this moment, whatever its parameters. Nothing runs.</p>
    <p><${Button} busy=${busy} onClick=${ask}>Decide again</${Button}></p>
    <${ErrorBox} problem=${problem} />
    ${found && html`<div class="card" role="status">
      <p><strong>${{ allowed: "It would be allowed", approval: "A person would be asked first", refused: "It would be refused" }[found.decision]}</strong>
        ${" "}to <${Visible} text=${found.who} />.</p>
      ${found.rule && html`<p>Rule: ${code(found.rule)}</p>`}
      ${found.reason && html`<p><${Visible} text=${found.reason} /></p>`}
    </div>`}`;
}

async function aboutMe(record) {
  const told = await post("/explain", { command: record.command, room: record.room });
  const decision = told.decision === "allowed" && told.approval ? "approval" : told.decision;
  return { who: "you", decision, rule: told.rule, reason: told.reason };
}

async function aboutAgent(record) {
  const room = await get(`/rooms/${part(record.room)}`);
  const told = await post(`/recipes/${part(room.recipe)}/preview`, { inRoom: record.room });
  const group = told.items.find((one) => one.who.includes(record.caller)) ?? told.items.find((one) => one.who.includes("any agent"));
  const who = group.who.includes(record.caller) ? record.caller : "an agent of yours";
  if (group.allowed.includes(record.command)) return { who, decision: "allowed", rule: `recipe ${room.recipe}` };
  if (group.approval.includes(record.command)) return { who, decision: "approval", rule: `recipe ${room.recipe}` };
  const barred = group.refused.find((one) => one.commands.includes(record.command));
  return { who, decision: "refused", rule: barred?.rule ?? "", reason: barred ? "" : "There is no such command now." };
}
