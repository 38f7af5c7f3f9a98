// @ts-check
// One record of the ledger, the other records of its call, and what the gate would decide now.

import { encode, get, post } from "../lib/api.js";
import { Badge, Button, Code, CopyButton, describeKind, ErrorBox, html, Loaded, Page, SafeText, StateBadge, Table, Time, useLoad, useState } from "../parts/ui.js";

/** @param {{id: string}} props */
export default function RecordPage({ id }) {
  const from = useLoad(() => get(`/audit/${encode(id)}`), [id]);
  const actions = html`<a class="button" href="/console/ledger">All records</a>
    ${Number(id) > 1 && html`<a class="button quiet" href=${`/console/ledger/${Number(id) - 1}`} rel="prev">Previous</a>`}
    <a class="button quiet" href=${`/console/ledger/${Number(id) + 1}`} rel="next">Next</a>`;
  return html`<${Page} title=${`Record ${id}`} actions=${actions}>
    <${Loaded} from=${from}>${(record) => html`<${RecordDetails} record=${record} />`}</${Loaded}>
  </${Page}>`;
}

const row = (/** @type {string} */ title, /** @type {any} */ value) =>
  value === "" || value === null || value === undefined ? null : html`<dt>${title}</dt><dd>${value}</dd>`;
const link = (/** @type {string} */ url, /** @type {string} */ text) => html`<a href=${url}><${SafeText} text=${text} /></a>`;
const code = (/** @type {string} */ text) => html`<code><${SafeText} text=${text} /></code>`;
/** @type {Record<string, string>} */
const PHASES = { start: "Start of a call that may change something", end: "End of the call", whole: "Whole call" };

function RecordDetails({ record }) {
  return html`<div class="card">
      <p class="record-head"><${StateBadge} state=${record.status} />
        <a href=${`/console/commands/${encode(record.command)}`}><code><${SafeText} text=${record.command} /></code></a>
        ${record.code && record.code !== "ok" && html`<${Badge}>${record.code}</${Badge}>`}</p>
      ${record.note && html`<p><${SafeText} text=${record.note} /></p>`}
      <dl class="facts">
        ${row("Time", html`<${Time} at=${record.at} form="exact" /> <span class="quiet">(<${Time} at=${record.at} />)</span>`)}
        ${row("Caller", html`${link(`/console/ledger?caller=${encode(record.caller)}&since=30d`, record.caller)} <span class="quiet">${describeKind(record.kind)}</span>`)}
        ${row("On behalf of", record.onBehalfOf && html`<${SafeText} text=${record.onBehalfOf} />`)}
        ${row("Room", record.room && link(`/console/rooms/${encode(record.room)}`, record.room))}
        ${row("Door", record.door && html`<${SafeText} text=${record.door} />`)}
        ${row("Rule", record.rule && code(record.rule))}
        ${row("Approval", record.approval && link(`/console/approvals/${encode(record.approval)}`, record.approval))}
        ${row("Execution", record.call && link(`/console/executions/${encode(record.call)}`, record.call))}
        ${row("Tier", record.tier)}
        ${row("Phase", PHASES[record.phase])}
        ${row("Duration", record.phase === "start" ? "" : `${record.durationMs.toFixed(3)} ms`)}
        ${row("Energy", `${record.spent} spent of ${record.reserved} reserved`)}
      </dl>
    </div>
    <h2>Parameters</h2>
    <${Parameters} record=${record} />
    <${CurrentDecision} record=${record} />
    ${record.call && html`<${OtherRecords} record=${record} />`}
    <h2>Hash chain</h2>
    <p class="quiet">The hash covers this record and, through the previous hash, all earlier records. Any change to them changes this hash.</p>
    <dl class="facts hashes">
      ${row("Hash", html`${code(record.hash)} <${CopyButton} text=${record.hash} />`)}
      ${row("Previous hash", code(record.prev))}
      ${row("Call digest", record.digest && code(record.digest))}
    </dl>`;
}

function Parameters({ record }) {
  if (record.params === "" || (record.params === null && record.phase === "end"))
    return html`<p class="quiet">See the earlier record of this call.</p>`;
  if (record.params === null) return html`<p class="quiet">Visible only to the caller and to people with full access.</p>`;
  return html`<${Code} value=${record.params} label="Parameters, secrets hidden" />`;
}

/** @type {Column[]} */
const COLUMNS = [
  { key: "id", title: "No.", render: (one) => html`<a href=${`/console/ledger/${one.id}`}>${one.id}</a>` },
  { key: "at", title: "Time", render: (one) => html`<${Time} at=${one.at} form="exact" />` },
  { key: "status", title: "Outcome", render: (one) => html`<${StateBadge} state=${one.status} />` },
  { key: "phase", title: "Phase" },
];

function OtherRecords({ record }) {
  const from = useLoad(() => get("/audit", { call: record.call, limit: 20 }), [record.call]);
  const others = (from.data?.items ?? []).filter((one) => one.id !== record.id);
  if (!others.length) return null;
  return html`<h2>Other records of this call</h2><${Table} caption="Other records of this call" rows=${others} columns=${COLUMNS} />`;
}

/** @typedef {{who: string, decision: string, rule?: string, reason?: string}} Decision */

/** What the gate would decide now: for the agent by the recipe in force, or for the current user if a person called. */
function CurrentDecision({ record }) {
  const [found, setFound] = useState(/** @type {Decision | null} */ (null));
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [busy, setBusy] = useState(false);
  const decide = async () => {
    setBusy(true);
    setProblem(null);
    try {
      setFound(record.room && record.kind !== "human" ? await decideForAgent(record) : await decideForUser(record));
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  return html`<h2>Decision now</h2>
    <p class="quiet">Decides this command again by the rules in force, without looking at its parameters. Nothing runs.</p>
    <p><${Button} busy=${busy} onClick=${decide}>Decide again</${Button}></p>
    <${ErrorBox} problem=${problem} />
    ${found &&
    html`<div class="card" role="status">
      <p><strong>${{ allowed: "Allowed", approval: "Needs approval", refused: "Refused" }[found.decision]}</strong> for <${SafeText} text=${found.who} />.</p>
      ${found.rule && html`<p>Rule: ${code(found.rule)}</p>`}
      ${found.reason && html`<p><${SafeText} text=${found.reason} /></p>`}
    </div>`}`;
}

/** @returns {Promise<Decision>} */
async function decideForUser(record) {
  const answer = await post("/explain", { command: record.command, room: record.room });
  const decision = answer.decision === "allowed" && answer.approval ? "approval" : answer.decision;
  return { who: "you", decision, rule: answer.rule, reason: answer.reason };
}

/** @returns {Promise<Decision>} */
async function decideForAgent(record) {
  const room = await get(`/rooms/${encode(record.room)}`);
  const answer = await post(`/recipes/${encode(room.recipe)}/preview`, { inRoom: record.room });
  const group = answer.items.find((one) => one.who.includes(record.caller)) ?? answer.items.find((one) => one.who.includes("any agent"));
  const who = group.who.includes(record.caller) ? record.caller : "an agent of yours";
  if (group.allowed.includes(record.command)) return { who, decision: "allowed", rule: `recipe ${room.recipe}` };
  if (group.approval.includes(record.command)) return { who, decision: "approval", rule: `recipe ${room.recipe}` };
  const refusal = group.refused.find((one) => one.commands.includes(record.command));
  return { who, decision: "refused", rule: refusal?.rule ?? "", reason: refusal ? "" : "The command no longer exists." };
}
