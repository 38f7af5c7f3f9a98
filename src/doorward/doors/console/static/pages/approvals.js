// @ts-check
// Approvals that wait, questions of MCP servers, and past decisions.

import { encode, get, run } from "../lib/api.js";
import { pendingApprovals } from "../lib/store.js";
import { loadStylesheet } from "../lib/stylesheet.js";
import { ApprovalCard } from "../parts/approval-card.js";
import { NotificationButton } from "../parts/notification-button.js";
import { QuestionCard } from "../parts/question-card.js";
import {
  Empty,
  ErrorBox,
  html,
  Loaded,
  Loading,
  MoreButton,
  Page,
  SafeText,
  StateBadge,
  Table,
  Time,
  useLive,
  useRef,
  useState,
} from "../parts/ui.js";

await loadStylesheet("work.css");

const PAGE = 30;
const MAX_CARDS = 40;

/** @param {PageProps} props */
export default function ApprovalsPage({ params, navigate }) {
  return params.id ? html`<${ApprovalPage} id=${params.id} />` : html`<${ApprovalList} navigate=${navigate} />`;
}

const fetchApproval = (/** @type {string} */ id) => get(`/approvals/${encode(id)}`);

/** @typedef {{cards: Approval[], questions: any[], more: number}} ListData */

/** The approvals that wait and those that were decided while the page is open, with the questions of servers. */
function useApprovals() {
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null)); // of a single card
  const shown = useRef(/** @type {Approval[]} */ ([]));
  const replace = (/** @type {Approval} */ found) =>
    from.setData((before) => before && { ...before, cards: before.cards.map((one) => (one.id === found.id ? found : one)) });
  const refresh = async (/** @type {string} */ id) => {
    try {
      replace(await fetchApproval(id));
    } catch (error) {
      setProblem(error);
    }
  };
  const load = async () => {
    const { items } = await get("/approvals", { pending: true, limit: 500 });
    pendingApprovals.set(items);
    // A known approval changes only by a decision or a look, and events announce both.
    const known = new Set(shown.current.filter((one) => one.state === "pending").map((one) => one.id));
    for (const id of known) if (!items.some((one) => one.id === id)) refresh(id);
    const fresh = items.slice(-MAX_CARDS).filter((one) => !known.has(one.id));
    const cards = (await Promise.all(fresh.map((one) => fetchApproval(one.id).catch(() => null)))).filter(Boolean);
    // A user who may not answer servers has no questions.
    const questions = await run("mcp/questions").then(({ result }) => result.items, () => []);
    const more = Math.max(0, items.length - MAX_CARDS);
    // Cards that were decided in the meantime stay, with their outcome.
    return (/** @type {ListData | null} */ before) => {
      const all = new Map([...(before?.cards ?? []), ...cards].map((one) => [one.id, one]));
      return { cards: [...all.values()].sort((a, b) => (a.id < b.id ? -1 : 1)), questions, more };
    };
  };
  /** @type {Loadable<ListData>} */
  const from = useLive(load, {
    "approval:": ({ event, data }) => {
      if (event === "approval:decided" || event === "approval:held") refresh(data.approval);
      return true;
    },
    "question:": true,
    "execution:ended": () => {
      // The caller may have returned for what was approved.
      for (const one of shown.current) if (one.state === "approved" && !one.usedBy) refresh(one.id);
      return false;
    },
  });
  shown.current = from.data?.cards ?? [];
  return { ...from, problem: from.problem ?? problem, replace, refresh };
}

function ApprovalList({ navigate }) {
  const from = useApprovals();
  const onChange = (/** @type {Approval} */ found) => {
    from.replace(found);
    pendingApprovals.set(pendingApprovals.value.filter((one) => one.id !== found.id || found.state === "pending"));
    // The card moves down and would lose the focus: it goes to the next card that waits.
    setTimeout(() => {
      if (document.activeElement !== document.body) return;
      const next = document.querySelector("article.approval.pending") ?? document.getElementById("waiting-title");
      /** @type {HTMLElement | null} */ (next)?.focus();
    }, 50);
  };
  const cards = from.data?.cards ?? [];
  const pending = cards.filter((one) => one.state === "pending");
  const decided = cards.filter((one) => one.state !== "pending").reverse();
  const questions = from.data?.questions ?? [];
  const onKey = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
    const all = [...event.currentTarget.querySelectorAll("article")];
    const at = all.indexOf(event.target);
    if (!step || at < 0) return;
    event.preventDefault();
    all[Math.max(0, Math.min(all.length - 1, at + step))].focus();
  };
  return html`<${Page} title="Approvals" actions=${html`<${NotificationButton} />`}>
    <${ErrorBox} problem=${from.problem} onRetry=${from.reload} />
    ${questions.length > 0 &&
    html`<section aria-labelledby="asked-title">
      <h2 id="asked-title">Questions from servers</h2>
      ${questions.map((one) => html`<${QuestionCard} key=${one.id} question=${one} onAnswered=${from.reload} />`)}
    </section>`}
    <section aria-labelledby="waiting-title">
      <h2 id="waiting-title" tabindex="-1">Waiting ${pending.length > 0 ? `(${pending.length})` : ""}</h2>
      ${from.data === null && !from.problem && html`<${Loading} />`}
      ${from.data !== null &&
      html`<div class="stack" onKeyDown=${onKey}>
        ${pending.map((one) => html`<${ApprovalCard} key=${one.id} approval=${one} onChange=${onChange} onExpired=${() => from.refresh(one.id)} />`)}
        ${!pending.length &&
        html`<${Empty} title="Nothing is waiting">
          <p>When an AI wants to run a command that needs approval, the request appears here, in the room and in the terminal.</p>
        </${Empty}>`}
        ${from.data.more > 0 && html`<p class="note">${from.data.more} more are waiting. They appear as you decide these.</p>`}
        ${decided.length > 0 && html`<h3>Just decided</h3>`}
        ${decided.map((one) => html`<${ApprovalCard} key=${one.id} approval=${one} level=${4} />`)}
      </div>`}
    </section>
    <${History} navigate=${navigate} />
  </${Page}>`;
}

/** @type {Column<Approval>[]} */
const COLUMNS = [
  { key: "createdAt", title: "Time", render: (row) => html`<a href=${`/console/approvals/${encode(row.id)}`}><${Time} at=${row.createdAt} /></a>` },
  { key: "caller", title: "Caller" },
  { key: "command", title: "Command", render: (row) => html`<code><${SafeText} text=${row.command} /></code>` },
  { key: "room", title: "Room" },
  { key: "state", title: "Outcome", render: (row) => html`<${StateBadge} state=${row.state} />` },
];

/** Past approvals, page by page. */
function History({ navigate }) {
  const from = useLive(() => get("/approvals", { limit: PAGE }), { "approval:": true, "question:": true });
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const loadMore = async () => {
    setBusy(true);
    try {
      const page = await get("/approvals", { limit: PAGE, before: from.data.next });
      from.setData((before) => ({ items: [...before.items, ...page.items], next: page.next }));
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  return html`<section aria-labelledby="history-title">
    <h2 id="history-title">History</h2>
    <${ErrorBox} problem=${problem} />
    <${Loaded} from=${from}>
      ${(data) => html`<${Table} caption="Approvals, newest first" columns=${COLUMNS} rows=${data.items.filter((one) => one.state !== "pending")}
          onOpen=${(row) => navigate(`/console/approvals/${encode(row.id)}`)} empty=${html`<${Empty} title="No approvals yet" />`} />
        <${MoreButton} more=${data.next} busy=${busy} onMore=${loadMore} label="Show older" />`}
    </${Loaded}>
  </section>`;
}

/** One approval, as rooms and notifications link to it. */
function ApprovalPage(/** @type {{id: string}} */ { id }) {
  /** @type {Loadable<Approval>} */
  const from = useLive(() => fetchApproval(id), { "approval:": true }, [id]);
  return html`<${Page} title="Approval" actions=${html`<a class="button" href="/console/approvals">All approvals</a>`}>
    <${Loaded} from=${from}>
      ${(approval) => html`<${ApprovalCard} approval=${approval} onChange=${from.setData} onExpired=${from.reload} level=${2} />`}
    </${Loaded}>
  </${Page}>`;
}
