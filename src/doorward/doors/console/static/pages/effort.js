// @ts-check
// Agents that regulate their effort: energy, models, conversations and sub-agents, live.

import { encode, get } from "../lib/api.js";
import { loadStylesheet } from "../lib/stylesheet.js";
import { Budgets, Conversations, StartDialog } from "../parts/effort-conversations.js";
import { SubAgent } from "../parts/effort-requests.js";
import { EnergyCurve, EnergyGauge, formatEnergy } from "../parts/energy.js";
import { Avatar } from "../parts/member.js";
import { useRefusal } from "../parts/permission.js";
import { Badge, Button, Code, Empty, html, Loaded, Page, SafeText, Table, useEffect, useLive, useState } from "../parts/ui.js";

await Promise.all([loadStylesheet("work.css"), loadStylesheet("effort.css")]);

const REFRESH_INTERVAL = 30_000;
const SAMPLE = { personaId: "scout", displayName: "Scout", rooms: ["general"], model: "house", effort: {} };

/** @typedef {{agents: AgentEffort[], conversations: Conversation[], requests: SubAgentRequest[]}} EffortData */

/** @returns {Promise<EffortData>} */
async function load() {
  const [agents, conversations, requests] = await Promise.all([get("/agents/effort"), get("/conversations"), get("/subagent/requests")]);
  const heardAt = Date.now();
  return {
    agents: agents.items.map((/** @type {AgentEffort} */ one) => ({ ...one, heardAt })),
    conversations: conversations.items,
    requests: requests.items,
  };
}

/** @param {PageProps} props */
export default function EffortPage({ navigate }) {
  const [charged, setCharged] = useState(0);
  const [starting, setStarting] = useState(false);
  const mayStart = useRefusal("conversation/start") === "";
  /** @type {Loadable<EffortData>} */
  const from = useLive(load, {
    "conversation:": true,
    "persona:": true,
    "energy:": ({ data: { agent, level, status } }) => {
      const change = (/** @type {AgentEffort} */ one) =>
        one.agent === agent ? { ...one, energy: { ...one.energy, level, status }, heardAt: Date.now() } : one;
      from.setData((before) => before && { ...before, agents: before.agents.map(change) });
      setCharged((count) => count + 1);
      return false;
    },
    "subagent:": ({ data: { request, state, progress, message } }) => {
      const known = from.data?.requests.find((one) => one.id === request);
      const change = (/** @type {SubAgentRequest} */ one) => (one.id === request ? { ...one, progress, message } : one);
      from.setData((before) => before && { ...before, requests: before.requests.map(change) });
      return known?.state !== state; // only progress within a state is complete in the event
    },
  });
  // Events about energy reach people with full access only, and budgets change without one.
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && from.reload(), REFRESH_INTERVAL);
    return () => clearInterval(timer);
  }, [from.reload]);
  const agents = from.data?.agents ?? [];
  const actions = mayStart && agents.length > 0 && html`<${Button} kind="primary" onClick=${() => setStarting(true)}>Start conversation…</${Button}>`;
  return html`<${Page} title="Effort" actions=${actions}>
    <p class="quiet">Agents with effort pay for their work with energy. It recovers with time. When little is left, they use cheaper models, write shorter answers, or wait.</p>
    <${Loaded} from=${from}>${(/** @type {EffortData} */ data) => html`
      ${!data.agents.length && html`<${NoAgents} />`}
      ${data.agents.map(
        (one) => html`<${Agent} key=${one.agent} agent=${one} charged=${charged} reload=${from.reload}
          conversations=${data.conversations.filter((other) => other.agent === one.agent)}
          requests=${data.requests.filter((other) => other.agent === one.agent)} />`,
      )}`}
    </${Loaded}>
    ${starting && html`<${StartDialog} agents=${agents.map((one) => one.agent)} onClose=${() => setStarting(false)}
      onStarted=${(/** @type {string} */ room) => navigate(`/console/rooms/${encode(room)}`)} />`}
  </${Page}>`;
}

const NoAgents = () => html`<${Empty} title="No agent has effort">
  <p>Add <code>"effort": {}</code> to the file of a <a href="/console/personas">persona</a>, such as:</p>
  <${Code} value=${SAMPLE} label="A persona with effort" />
</${Empty}>`;

/**
 * @param {{agent: AgentEffort, charged: number, reload: () => void, conversations: Conversation[], requests: SubAgentRequest[]}} props
 */
function Agent({ agent, charged, reload, conversations, requests }) {
  const id = `agent-${agent.agent}`;
  return html`<article class="card agent" aria-labelledby=${id}>
    <header class="card-head">
      <h2 id=${id}><${Avatar} id=${agent.agent} kind="ai" /> <a href=${`/console/personas/${encode(agent.agent)}`}><${SafeText} text=${agent.agent} /></a></h2>
      ${agent.budgets.length > 0 && html`<p>Budget: <${Budgets} budgets=${agent.budgets} /></p>`}
    </header>
    <div class="agent-energy">
      <${EnergyGauge} agent=${agent} />
      <${EnergyCurve} agent=${agent.agent} revision=${charged} />
    </div>
    <${Models} agent=${agent} />
    <${Conversations} agent=${agent} conversations=${conversations} reload=${reload} />
    <${SubAgent} agent=${agent} requests=${requests} reload=${reload} />
  </article>`;
}

/** @param {{agent: AgentEffort}} props */
function Models({ agent }) {
  const id = `models-${agent.agent}`;
  /** @type {Column[]} */
  const columns = [
    { key: "model", title: "Model", render: (row) => html`<code><${SafeText} text=${row.model} /></code> ${row.model === agent.model && html`<${Badge} tone="info">used now</${Badge}>`}` },
    {
      key: "cost",
      title: "An answer costs",
      render: (row) => (typeof row.cost === "number" ? formatEnergy(row.cost) : html`<span class="quiet">not known yet</span>`),
    },
  ];
  return html`<section aria-labelledby=${id}><h3 id=${id}>Models</h3>
    <${Table} caption=${`Models of ${agent.agent}, cheapest first`} columns=${columns} rows=${agent.models} keyOf=${(row) => row.model} />
  </section>`;
}
