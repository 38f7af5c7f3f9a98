// What waits for a person, what servers ask in the middle of a call, and what was decided.

import { get, part, run } from "../api.js";
import { ApprovalCard } from "../approvalcard.js";
import { onEvent, onMissed } from "../live.js";
import { NotifyButton } from "../notifybutton.js";
import { QuestionCard } from "../questioncard.js";
import { waiting as badge } from "../state.js";
import {
  Empty,
  ErrorBox,
  html,
  Loading,
  More,
  Page,
  State,
  Table,
  Time,
  useCallback,
  useEffect,
  useRef,
  useState,
  Visible,
} from "../ui.js";
import { sheet } from "../sheet.js";

await sheet("work.css");

const PAGE = 30;
const MOST = 40;

export default function Approvals({ params, navigate }) {
  return params.id ? html`<${One} id=${params.id} />` : html`<${All} navigate=${navigate} />`;
}

function All({ navigate }) {
  const [cards, setCards] = useState(null);
  const [questions, setQuestions] = useState([]);
  const [problem, setProblem] = useState(null);
  const [more, setMore] = useState(0);
  const older = useOlder();
  const shown = useRef([]);
  shown.current = cards ?? [];
  const timer = useRef(0);

  const look = useCallback(async (id) => {
    try {
      const found = await get(`/approvals/${part(id)}`);
      setCards((before) => (before ?? []).map((one) => (one.id === id ? found : one)));
    } catch (error) {
      setProblem(error);
    }
  }, []);

  const load = useCallback(async () => {
    try {
      const { items } = await get("/approvals", { pending: true, limit: 500 });
      badge.set(items);
      // What is known already changes by a decision only, which is looked at when it is told of.
      const known = new Set(shown.current.filter((one) => one.state === "pending").map((one) => one.id));
      for (const id of known) if (!items.some((one) => one.id === id)) look(id);
      const first = items.slice(-MOST).filter((one) => !known.has(one.id));
      const found = await Promise.all(first.map((one) => get(`/approvals/${part(one.id)}`).catch(() => null)));
      const fresh = found.filter(Boolean);
      setMore(Math.max(0, items.length - MOST));
      // What was decided while somebody looks at it stays where it is, with what came of it.
      setCards((before) => {
        const known = new Map((before ?? []).map((one) => [one.id, one]));
        for (const one of fresh) known.set(one.id, one);
        return [...known.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
      });
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
    try {
      setQuestions((await run("mcp/questions")).result.items);
    } catch {
      setQuestions([]); // Whoever may not be asked by servers has no questions.
    }
  }, []);

  useEffect(() => {
    load();
    const soon = () => {
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        load();
        older.begin();
      }, 150);
    };
    const leave = [
      onEvent("approval:", ({ event, data }) => {
        soon();
        if (event === "approval:decided") look(data.approval);
      }),
      onEvent("question:", soon),
      onEvent("execution:ended", () =>
        // Whoever asked may have come back for what was approved: then the card says what came of it.
        setCards((before) => {
          before?.filter((one) => one.state === "approved" && !one.usedBy).forEach((one) => look(one.id));
          return before;
        }),
      ),
      onMissed(soon),
    ];
    return () => {
      clearTimeout(timer.current);
      leave.forEach((one) => one());
    };
  }, [load]);

  const changed = (found) => {
    setCards((before) => before.map((one) => (one.id === found.id ? found : one)));
    badge.set(badge.value.filter((one) => one.id !== found.id || found.state === "pending"));
    // The card moves down, and the focus with it would be lost: it goes to what waits next.
    setTimeout(() => {
      if (document.activeElement !== document.body) return;
      (document.querySelector("article.approval.pending") ?? document.getElementById("waiting-title"))?.focus();
    }, 50);
  };
  const pending = (cards ?? []).filter((one) => one.state === "pending");
  const settled = (cards ?? []).filter((one) => one.state !== "pending").reverse();
  const move = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
    const all = [...event.currentTarget.querySelectorAll("article")];
    const at = all.indexOf(event.target);
    if (!step || at < 0) return;
    event.preventDefault();
    all[Math.max(0, Math.min(all.length - 1, at + step))].focus();
  };

  return html`<${Page} title="Approvals" actions=${html`<${NotifyButton} />`}>
    <${ErrorBox} problem=${problem} onRetry=${load} />
    ${questions.length > 0 &&
    html`<section aria-labelledby="asked-title">
      <h2 id="asked-title">Servers ask</h2>
      ${questions.map((one) => html`<${QuestionCard} key=${one.id} question=${one} onAnswered=${load} />`)}
    </section>`}
    <section aria-labelledby="waiting-title">
      <h2 id="waiting-title" tabindex="-1">Waiting for a person ${pending.length > 0 ? `(${pending.length})` : ""}</h2>
      ${cards === null
        ? html`<${Loading} />`
        : html`<div class="stack" onKeyDown=${move}>
            ${pending.map((one) => html`<${ApprovalCard} key=${one.id} approval=${one} onChange=${changed}
              onExpired=${() => look(one.id)} />`)}
            ${!pending.length &&
              html`<${Empty} title="Nothing waits">
                <p>
                  When an AI wants to do what its room's recipe reserves for people, it asks here, in the room and in
                  the terminal.
                </p>
              </${Empty}>`}
            ${more > 0 && html`<p class="note">${more} more wait; they come up as these are decided.</p>`}
            ${settled.length > 0 && html`<h3>Just decided</h3>`}
            ${settled.map((one) => html`<${ApprovalCard} key=${one.id} approval=${one} level=${4} />`)}
          </div>`}
    </section>
    <section aria-labelledby="history-title">
      <h2 id="history-title">Before</h2>
      <${ErrorBox} problem=${older.problem} onRetry=${older.begin} />
      ${older.items === null
        ? html`<${Loading} />`
        : html`<${Table}
            caption="Approvals, newest first"
            columns=${COLUMNS}
            rows=${older.items.filter((one) => one.state !== "pending")}
            onOpen=${(row) => navigate(`/console/approvals/${part(row.id)}`)}
            empty=${html`<${Empty} title="Nothing was asked yet" />`}
          />`}
      <${More} more=${older.next} busy=${older.busy} onMore=${older.more} words="Show older ones" />
    </section>
  </${Page}>`;
}

const COLUMNS = [
  { key: "createdAt", title: "When", render: (row) => html`<a href=${`/console/approvals/${part(row.id)}`}><${Time}
    at=${row.createdAt} /></a>` },
  { key: "caller", title: "Who" },
  { key: "command", title: "What", render: (row) => html`<code><${Visible} text=${row.command} /></code>` },
  { key: "room", title: "Room" },
  { key: "state", title: "Outcome", render: (row) => html`<${State} state=${row.state} />` },
];

/** The history, page by page. */
function useOlder() {
  const [state, set] = useState({ items: null, next: null, busy: false, problem: null });
  const fetched = async (before) => {
    set((now) => ({ ...now, busy: true }));
    try {
      const page = await get("/approvals", { limit: PAGE, before });
      set((now) => ({ items: before ? [...(now.items ?? []), ...page.items] : page.items, next: page.next, busy: false,
        problem: null }));
    } catch (problem) {
      set((now) => ({ ...now, busy: false, problem }));
    }
  };
  useEffect(() => {
    fetched("");
  }, []);
  return { ...state, begin: () => fetched(""), more: () => fetched(state.next) };
}

/** One approval on a page of its own, as links from rooms and notifications lead to it. */
function One({ id }) {
  const [approval, set] = useState(null);
  const [problem, setProblem] = useState(null);
  const look = useCallback(async () => {
    try {
      set(await get(`/approvals/${part(id)}`));
    } catch (error) {
      setProblem(error);
    }
  }, [id]);
  useEffect(() => {
    look();
    return onEvent("approval:", look);
  }, [look]);
  return html`<${Page} title="Approval" actions=${html`<a class="button" href="/console/approvals">All approvals</a>`}>
    <${ErrorBox} problem=${problem} onRetry=${look} />
    ${approval ? html`<${ApprovalCard} approval=${approval} onChange=${set} onExpired=${look} level=${2} />`
      : !problem && html`<${Loading} />`}
  </${Page}>`;
}
