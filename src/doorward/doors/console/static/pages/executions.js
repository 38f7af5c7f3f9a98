// @ts-check
// Running executions with their progress and output, and those that ended.

import { encode, get } from "../lib/api.js";
import { formatDuration } from "../lib/format.js";
import { loadStylesheet } from "../lib/stylesheet.js";
import { CancelDialog } from "../parts/cancel-dialog.js";
import { formatElapsed, Output, Progress, useExecution } from "../parts/output.js";
import { Processes } from "../parts/processes.js";
import {
  Button,
  Empty,
  ErrorBox,
  html,
  Loading,
  MoreButton,
  Page,
  SafeText,
  StateBadge,
  Table,
  Time,
  useEffect,
  useLive,
  useRef,
  useState,
  useTick,
} from "../parts/ui.js";
import ExecutionPage from "./execution.js";

await loadStylesheet("work.css");

const PAGE = 50;

/** @param {PageProps} props */
export default function ExecutionsPage({ params, navigate }) {
  return params.id ? html`<${ExecutionPage} id=${params.id} />` : html`<${ExecutionList} navigate=${navigate} />`;
}

const isRunning = (/** @type {Execution} */ one) => one.state === "running" || one.state === "queued";

/** @typedef {{items: Execution[], next: number | null}} ListData */

function ExecutionList({ navigate }) {
  const [cancelling, setCancelling] = useState(/** @type {Execution | null} */ (null));
  const [everything, setEverything] = useState(false);
  const [busy, setBusy] = useState(false);
  const [moreProblem, setMoreProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  /** @returns {Promise<ListData>} */
  const load = async (after = 0) => {
    const page = await get("/executions", { limit: PAGE, after: after || undefined, notable: !everything });
    return { items: page.items.map((one) => ({ ...one, heardAt: Date.now() })), next: page.next ?? null };
  };
  /** @type {Loadable<ListData>} */
  const from = useLive(() => load(), {
    "execution:started": true,
    "execution:ended": true,
    "execution:progress": ({ data: { execution, fraction, message } }) => {
      const change = (/** @type {Execution} */ one) =>
        one.execution === execution ? { ...one, fraction: fraction ?? undefined, message } : one;
      from.setData((before) => before && { ...before, items: before.items.map(change) });
      return false;
    },
  });
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) from.reload();
    first.current = false;
  }, [everything]);
  const loadMore = async () => {
    setBusy(true);
    try {
      const page = await load(from.data?.next ?? 0);
      from.setData((before) => ({ ...page, items: [...(before?.items ?? []), ...page.items] }));
      setMoreProblem(null);
    } catch (error) {
      setMoreProblem(error);
    }
    setBusy(false);
  };

  const running = (from.data?.items ?? []).filter(isRunning);
  const ended = (from.data?.items ?? []).filter((one) => !isRunning(one));
  const actions = html`<${Button} busy=${from.loading} onClick=${from.reload}>Refresh</${Button}>`;
  return html`<${Page} title="Executions" actions=${actions}>
    <${ErrorBox} problem=${from.problem ?? moreProblem} onRetry=${from.reload} />
    ${from.data === null && !from.problem && html`<${Loading} />`}
    ${from.data !== null &&
    html`<section aria-labelledby="running-title">
        <h2 id="running-title">Running ${running.length > 0 ? `(${running.length})` : ""}</h2>
        <div data-list>
          ${running.map((one) => html`<${RunningExecution} key=${one.execution} execution=${one} onCancel=${() => setCancelling(one)} />`)}
        </div>
        ${!running.length && html`<${Empty} title="Nothing is running" />`}
      </section>
      <${Processes} />
      <section aria-labelledby="ended-title">
        <h2 id="ended-title">Ended</h2>
        <label class="tick">
          <input type="checkbox" checked=${everything} onChange=${(event) => setEverything(event.target.checked)} />
          Include read-only calls
        </label>
        <${Table}
          caption="Ended executions, newest first"
          columns=${COLUMNS}
          rows=${ended}
          keyOf=${(row) => row.execution}
          onOpen=${(row) => navigate(`/console/executions/${encode(row.execution)}`)}
          empty=${html`<${Empty} title="No executions yet"><p>Run something from <a href="/console/commands">Commands</a>.</p></${Empty}>`}
        />
        <${MoreButton} more=${from.data.next} busy=${busy} onMore=${loadMore} label="Show older" />
      </section>`}
    ${cancelling && html`<${CancelDialog} execution=${cancelling} onClose=${() => setCancelling(null)} onCancelled=${from.reload} />`}
  </${Page}>`;
}

/** @type {Column<Execution>[]} */
const COLUMNS = [
  {
    key: "startedAt",
    title: "Started",
    render: (row) => html`<a href=${`/console/executions/${encode(row.execution)}`}><${Time} at=${row.startedAt} /></a>`,
  },
  { key: "command", title: "Command", render: (row) => html`<code><${SafeText} text=${row.command} /></code>` },
  { key: "state", title: "Outcome", render: (row) => html`<${StateBadge} state=${row.state} />` },
  { key: "caller", title: "Caller" },
  { key: "room", title: "Room" },
  { key: "seconds", title: "Duration", render: (row) => formatDuration(row.seconds), class: "number" },
];

/** A running execution, which can show its output live. @param {{execution: Execution, onCancel: () => void}} props */
function RunningExecution({ execution, onCancel }) {
  const [open, setOpen] = useState(false);
  useTick(500);
  return html`<article class="card" aria-label=${`${execution.command}, running`}>
    <header class="card-head">
      <h3><a href=${`/console/executions/${encode(execution.execution)}`}><code><${SafeText} text=${execution.command} /></code></a></h3>
      <span class="bits"><${StateBadge} state=${execution.state} /><span class="number">${formatElapsed(execution, false)}</span></span>
    </header>
    <p class="bits">
      <span>by <strong><${SafeText} text=${execution.caller} /></strong></span>
      ${execution.room && html`<span>in <a href=${`/console/rooms/${encode(execution.room)}`}><${SafeText} text=${execution.room} /></a></span>`}
      ${execution.inside &&
      html`<span>part of <a href=${`/console/executions/${encode(execution.inside)}`}><code>${execution.inside}</code></a></span>`}
    </p>
    <${Progress} facts=${execution} />
    ${open && html`<${LiveOutput} id=${execution.execution} />`}
    <div class="actions start">
      <${Button} aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>${open ? "Hide output" : "Show output"}</${Button}>
      <${Button} kind="danger" onClick=${onCancel}>Cancel…</${Button}>
    </div>
  </article>`;
}

function LiveOutput(/** @type {{id: string}} */ { id }) {
  const { written, ended, problem } = useExecution(id);
  return html`<${ErrorBox} problem=${problem} />
    <${Output} written=${written} running=${!ended} url=${`/console/executions/${encode(id)}`} />`;
}
