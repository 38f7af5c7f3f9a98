// @ts-check
// The conversations of an agent with effort: state, age, cost and budget, and the actions of people.

import { del, encode, post, put } from "../lib/api.js";
import { formatNumber } from "../lib/format.js";
import { formatEnergy } from "./energy.js";
import { useRefusal } from "./permission.js";
import { Badge, Button, Confirm, Dialog, Empty, ErrorBox, Field, html, MoreButton, SafeText, showToast, Table, Time, useState } from "./ui.js";

/** @type {Record<string, [string, string]>} */
const STATES = {
  open: ["info", "open"],
  answered: ["good", "answered"],
  snoozed: ["calm", "snoozed"],
  awaiting_energy: ["warn", "waits for energy"],
  out_of_budget: ["bad", "out of budget"],
  ended: ["calm", "ended"],
};
const PRIORITIES = ["low", "medium", "high"];
const FEW = 8;

/** @param {{agent: AgentEffort, conversations: Conversation[], reload: () => void}} props */
export function Conversations({ agent, conversations, reload }) {
  const mayGive = useRefusal("effort/budget") === "";
  const [giving, setGiving] = useState(/** @type {Conversation | null} */ (null));
  const [ending, setEnding] = useState(/** @type {Conversation | null} */ (null));
  const [all, setAll] = useState(false);
  const open = conversations.filter((one) => one.state !== "ended");
  const rows = [...open, ...conversations.filter((one) => one.state === "ended")];
  const shown = rows.slice(0, all ? rows.length : Math.max(FEW, open.length));
  const id = `conversations-${agent.agent}`;
  /** @type {Column<Conversation>[]} */
  const columns = [
    {
      key: "room",
      title: "Room",
      render: (row) => html`<a href=${`/console/rooms/${encode(row.room)}`}><${SafeText} text=${row.room} /></a><br /><span class="quiet">for <${SafeText} text=${row.asker} /></span>`,
    },
    { key: "state", title: "State", render: (row) => html`<${ConversationState} conversation=${row} working=${agent.working.includes(row.room)} />` },
    { key: "createdAt", title: "Age", render: (row) => html`<${Time} at=${row.createdAt} />` },
    { key: "energy", title: "Cost", render: (row) => html`<${Cost} conversation=${row} />` },
    { key: "budgets", title: "Budget", render: (row) => html`<${Budgets} budgets=${row.budgets} />` },
    {
      key: "actions",
      title: "Actions",
      render: (row) => html`<span class="row-actions">
        ${mayGive && html`<${Button} kind="quiet small" onClick=${() => setGiving(row)}>Give more…<span class="unseen"> to ${row.room}</span></${Button}>`}
        ${row.state !== "ended" && html`<${Button} kind="quiet small" onClick=${() => setEnding(row)}>End…<span class="unseen"> ${row.room}</span></${Button}>`}
      </span>`,
    },
  ];
  return html`<section aria-labelledby=${id}>
    <h3 id=${id}>Conversations</h3>
    <${Table} caption=${`Conversations of ${agent.agent}`} columns=${columns} rows=${shown} keyOf=${(row) => row.room}
      empty=${html`<${Empty} title="No conversations">Start one above, or mention @${agent.agent} in a room.</${Empty}>`} />
    <${MoreButton} more=${shown.length < rows.length} onMore=${() => setAll(true)} label=${`Show ${rows.length - shown.length} more`} />
    ${giving && html`<${BudgetDialog} conversation=${giving} onClose=${() => setGiving(null)} reload=${reload} />`}
    ${ending && html`<${EndDialog} conversation=${ending} onClose=${() => setEnding(null)} reload=${reload} />`}
  </section>`;
}

/** @param {{conversation: Conversation, working: boolean}} props */
function ConversationState({ conversation, working }) {
  const [tone, text] = working ? ["info", "working"] : (STATES[conversation.state] ?? ["calm", conversation.state]);
  return html`<${Badge} tone=${tone}>${text}</${Badge}>
    ${conversation.priority !== "medium" && html` <span class="quiet">${conversation.priority} priority</span>`}
    ${conversation.note && html`<br /><span class="quiet"><${SafeText} text=${conversation.note} /></span>`}
    ${conversation.until && html`<br /><span class="quiet">Goes on <${Time} at=${conversation.until} /></span>`}`;
}

/** @param {{conversation: Conversation}} props */
const Cost = ({ conversation: { energy, tokens, dollars } }) =>
  html`${formatEnergy(energy)}${tokens > 0 && html`<br /><span class="quiet">${formatNumber(tokens)} tokens</span>`}${dollars > 0 && html`<br /><span class="quiet">$${dollars.toFixed(4)}</span>`}`;

const formatAmount = (/** @type {number} */ amount) => formatNumber(Math.round(amount * 100) / 100);

/** @param {{budgets: BudgetFacts[]}} props */
export function Budgets({ budgets }) {
  if (!budgets.length) return html`<span class="quiet">no limit</span>`;
  return budgets.map((one, at) => {
    const text = `${formatAmount(one.spent)} of ${formatAmount(one.amount)} ${one.unit}`;
    return html`${at > 0 && html`<br />`}<span class=${one.left <= 0 ? "field-error" : ""}>${text}</span>`;
  });
}

/** @param {{conversation: Conversation, onClose: () => void, reload: () => void}} props */
function BudgetDialog({ conversation, onClose, reload }) {
  const [unit, setUnit] = useState(/** @type {string} */ (conversation.budgets[0]?.unit ?? "energy"));
  const before = conversation.budgets.find((one) => one.unit === unit);
  const spent = before?.spent ?? conversation[/** @type {"energy" | "tokens" | "dollars"} */ (unit)];
  const [more, setMore] = useState("10");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const amount = Math.max(before?.amount ?? 0, spent) + Number(more);
  const save = async (/** @type {number | null} */ next) => {
    setBusy(true);
    try {
      await put(`/budgets/conversation/${encode(`${conversation.agent}@${conversation.room}`)}/${unit}`, { amount: next });
      showToast(next === null ? "The limit was removed." : `It may now spend ${formatAmount(next)} ${unit}.`);
      reload();
      onClose();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  const submit = (event) => {
    event.preventDefault();
    save(amount);
  };
  return html`<${Dialog} title=${`Budget of ${conversation.room}`} onClose=${onClose}>
    <form onSubmit=${submit}>
      <p>It spent ${formatAmount(spent)} ${unit}${before ? ` of ${formatAmount(before.amount)}` : ", without a limit"}.</p>
      <div class="two">
        <${Field} label="Give" type="number" min="0" step="any" required value=${more} onInput=${(event) => setMore(event.target.value)} />
        <${Field} label="Unit" options=${["energy", "tokens", "dollars"]} value=${unit} onChange=${(event) => setUnit(event.target.value)} />
      </div>
      <p class="quiet">It may then spend ${Number.isFinite(amount) ? formatAmount(amount) : "…"} ${unit} in all.</p>
      <${ErrorBox} problem=${problem} />
      <div class="actions">
        <${Button} kind="primary" type="submit" busy=${busy}>Give more</${Button}>
        ${before && html`<${Button} busy=${busy} onClick=${() => save(null)}>Remove the limit</${Button}>`}
      </div>
    </form>
  </${Dialog}>`;
}

/** @param {{conversation: Conversation, onClose: () => void, reload: () => void}} props */
function EndDialog({ conversation, onClose, reload }) {
  const end = async () => {
    await del(`/conversations/${encode(conversation.room)}`, { agent: conversation.agent });
    reload();
  };
  return html`<${Confirm} title=${`End the conversation in ${conversation.room}?`} action="End conversation" onConfirm=${end} onClose=${onClose}>
    <p>${conversation.agent} stops its work there. The messages stay, and a new message opens the conversation again.</p>
  </${Confirm}>`;
}

/** @param {{agents: string[], onClose: () => void, onStarted: (room: string) => void}} props */
export function StartDialog({ agents, onClose, onStarted }) {
  const [values, setValues] = useState({ agent: agents[0], text: "", priority: "medium", budget: "" });
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const change = (/** @type {string} */ field) => (event) => setValues({ ...values, [field]: event.target.value });
  const start = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const budget = values.budget === "" ? null : Number(values.budget);
      onStarted((await post("/conversations", { ...values, budget })).room);
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  return html`<${Dialog} title="Start a conversation" onClose=${onClose}>
    <form onSubmit=${start}>
      <${Field} label="Message" type="textarea" required value=${values.text} onInput=${change("text")} />
      <${Field} label="Agent" options=${agents} value=${values.agent} onChange=${change("agent")} />
      <div class="two">
        <${Field} label="Priority" options=${PRIORITIES} value=${values.priority} onChange=${change("priority")} />
        <${Field} label="Energy budget" type="number" min="0" step="any" value=${values.budget} onInput=${change("budget")} hint="Empty for the agent's own limit. 0 allows one answer." />
      </div>
      <${ErrorBox} problem=${problem} />
      <div class="actions"><${Button} kind="primary" type="submit" busy=${busy}>Start</${Button}></div>
    </form>
  </${Dialog}>`;
}
