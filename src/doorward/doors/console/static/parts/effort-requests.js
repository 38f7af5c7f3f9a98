// @ts-check
// The sub-agent of an agent: its state, its queue with progress, and the actions of people.

import { encode, post } from "../lib/api.js";
import { formatDuration, shorten } from "../lib/format.js";
import { formatEnergy } from "./energy.js";
import { useRefusal } from "./permission.js";
import { Badge, Button, Confirm, ErrorBox, html, MoreButton, SafeText, StateBadge, Time, useState } from "./ui.js";

/** @type {Record<string, [string, string]>} */
const STATES = { off: ["calm", "off"], idle: ["calm", "idle"], working: ["info", "working"], paused: ["warn", "paused"] };
/** @type {Record<string, string>} */
const KINDS = {
  add_server: "Add server",
  remove_server: "Remove server",
  test_server: "Test server",
  search_servers: "Search servers",
  modify_server: "Change server",
};
const FEW = 5;

export const hasEnded = (/** @type {SubAgentRequest} */ one) => !["queued", "in_progress"].includes(one.state);

/** What a request is about. @param {SubAgentRequest} request */
function describe({ kind, params }) {
  const subject = params.id || params.server || params.serverName || params.purpose || "";
  return `${KINDS[kind] ?? kind} ${shorten(String(subject), 80)}`.trim();
}

/** @param {{agent: AgentEffort, requests: SubAgentRequest[], reload: () => void}} props */
export function SubAgent({ agent, requests, reload }) {
  const [all, setAll] = useState(false);
  const [cancelling, setCancelling] = useState(/** @type {SubAgentRequest | null} */ (null));
  const waiting = requests.filter((one) => !hasEnded(one));
  const ended = requests.filter(hasEnded);
  const id = `subagent-${agent.agent}`;
  return html`<section aria-labelledby=${id}>
    <div class="card-head">
      <h3 id=${id}>Sub-agent <${SubAgentState} agent=${agent} /></h3>
      ${agent.subAgent !== "off" && html`<${PauseButton} agent=${agent} reload=${reload} />`}
    </div>
    ${agent.subAgent === "off" && html`<p class="quiet">It has no sub-agent: "subAgent" is false in its file.</p>`}
    ${agent.subAgent !== "off" && !requests.length && html`<p class="quiet">Nothing to do. It finds and adds MCP servers when the agent needs one.</p>`}
    <ul class="queue">
      ${waiting.map((one) => html`<li key=${one.id}><${QueuedRequest} request=${one} onCancel=${() => setCancelling(one)} /></li>`)}
      ${ended.slice(0, all ? ended.length : FEW).map((one) => html`<li key=${one.id}><${EndedRequest} request=${one} /></li>`)}
    </ul>
    <${MoreButton} more=${!all && ended.length > FEW} onMore=${() => setAll(true)} label=${`Show ${ended.length - FEW} more`} />
    ${cancelling && html`<${CancelRequest} request=${cancelling} onClose=${() => setCancelling(null)} reload=${reload} />`}
  </section>`;
}

/** @param {{agent: AgentEffort}} props */
function SubAgentState({ agent }) {
  const [tone, text] = STATES[agent.subAgent] ?? ["calm", agent.subAgent];
  return html`<${Badge} tone=${tone}>${text}</${Badge}>${agent.pausedBy && html` <span class="quiet">by <${SafeText} text=${agent.pausedBy} /></span>`}`;
}

/** @param {{agent: AgentEffort, reload: () => void}} props */
function PauseButton({ agent, reload }) {
  const paused = agent.subAgent === "paused";
  const refusal = useRefusal(paused ? "effort/resume" : "effort/pause");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const change = async () => {
    setBusy(true);
    try {
      await post(`/agents/${encode(agent.agent)}/${paused ? "resume" : "pause"}`);
      setProblem(null);
      reload();
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  if (refusal !== "") return null;
  return html`<div><${Button} kind="quiet small" busy=${busy} onClick=${change}>${paused ? "Resume" : "Pause"}<span class="unseen"> the sub-agent of ${agent.agent}</span></${Button}>
    <${ErrorBox} problem=${problem} /></div>`;
}

/** @param {{request: SubAgentRequest, onCancel: () => void}} props */
function QueuedRequest({ request, onCancel }) {
  const refusal = useRefusal("effort/cancel");
  const percent = Math.round(request.progress);
  const title = describe(request);
  return html`<div class="request">
    <p class="bits"><strong><${SafeText} text=${title} /></strong>
      <${StateBadge} state=${request.state === "in_progress" ? "running" : request.state} />
      ${request.priority !== "medium" && html`<span class="quiet">${request.priority} priority</span>`}
      <span class="quiet"><${Time} at=${request.createdAt} /></span></p>
    <div class="progress">
      <progress max="100" value=${percent} aria-label=${`Progress of ${title}`}>${percent} %</progress><span>${percent} %</span>
      ${request.message && html`<span class="quiet"><${SafeText} text=${request.message} /></span>`}
    </div>
    ${request.ticket && html`<p class="note">It waits for approval. <a href="/console/approvals">Go to Approvals.</a></p>`}
    ${refusal === "" && html`<${Button} kind="quiet small" onClick=${onCancel}>Cancel…<span class="unseen"> ${title}</span></${Button}>`}
  </div>`;
}

/** @param {{request: SubAgentRequest}} props */
function EndedRequest({ request }) {
  const seconds = request.endedAt ? (Date.parse(request.endedAt) - Date.parse(request.createdAt)) / 1000 : 0;
  return html`<div class="request">
    <p class="bits"><span><${SafeText} text=${describe(request)} /></span><${StateBadge} state=${request.state} />
      <span class="quiet"><${Time} at=${request.endedAt ?? request.createdAt} />, ${formatDuration(seconds)}, ${formatEnergy(request.energy)}</span></p>
    ${(request.error || request.message) && html`<p class=${request.error ? "field-error" : "quiet"}><${SafeText} text=${request.error || request.message} /></p>`}
  </div>`;
}

/** @param {{request: SubAgentRequest, onClose: () => void, reload: () => void}} props */
function CancelRequest({ request, onClose, reload }) {
  const cancel = async () => {
    await post(`/subagent/requests/${encode(request.id)}/cancel`, { reason: "Cancelled in the console." });
    reload();
  };
  return html`<${Confirm} title=${`Cancel ${describe(request)}?`} action="Cancel request" dismiss="Keep running" onConfirm=${cancel} onClose=${onClose}>
    <p>The sub-agent stops this work, and the agent reads that you cancelled it. What it already changed stays.</p>
  </${Confirm}>`;
}
