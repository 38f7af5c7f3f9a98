// @ts-check
// One execution: its state, its output, its records, and undo.

import { encode, get, post, run } from "../lib/api.js";
import { loadStylesheet } from "../lib/stylesheet.js";
import { CancelDialog } from "../parts/cancel-dialog.js";
import { formatElapsed, Output, Progress, useExecution } from "../parts/output.js";
import {
  Button,
  Code,
  Confirm,
  CopyButton,
  ErrorBox,
  html,
  Loaded,
  Loading,
  Page,
  SafeText,
  showToast,
  StateBadge,
  Table,
  Time,
  useLoad,
  useState,
  useTick,
} from "../parts/ui.js";

await loadStylesheet("work.css");

/** @param {{id: string}} props */
export default function ExecutionPage({ id }) {
  const { facts, written, ended, problem } = useExecution(id);
  const [cancelling, setCancelling] = useState(false);
  const running = facts !== null && !ended && (facts.state === "running" || facts.state === "queued");
  useTick(500, running);
  const actions = html`<a class="button" href="/console/executions">All executions</a>
    ${running && html`<${Button} kind="danger" onClick=${() => setCancelling(true)}>Cancel…</${Button}>`}`;
  if (facts === null)
    return html`<${Page} title="Execution" actions=${actions}>
      ${problem ? html`<${ErrorBox} problem=${problem} />` : html`<${Loading} />`}
    </${Page}>`;
  return html`<${Page} title=${facts.command} actions=${actions}>
    <p class="bits">
      <${StateBadge} state=${facts.state} />
      <span>by <strong><${SafeText} text=${facts.caller} /></strong></span>
      ${facts.room && html`<span>in <a href=${`/console/rooms/${encode(facts.room)}`}><${SafeText} text=${facts.room} /></a></span>`}
      <span>started <${Time} at=${facts.startedAt} form="exact" /></span>
      <span class="number">${running ? "running for" : "took"} ${formatElapsed(facts, !running)}</span>
      ${facts.code && facts.code !== "ok" && html`<span>code <code>${facts.code}</code></span>`}
      ${facts.cancelledBy && html`<span>cancelled by <strong><${SafeText} text=${facts.cancelledBy} /></strong></span>`}
    </p>
    <p class="bits"><span class="quiet">Execution <code>${id}</code></span><${CopyButton} text=${id} label="Copy id" />
      <a href=${`/console/commands/${encode(facts.command)}`}>About this command</a></p>
    <${Progress} facts=${facts} />
    <${ErrorBox} problem=${problem} />
    ${running && html`<${Parameters} params=${/** @type {any} */ (facts).params} />`}
    <section aria-labelledby="output-title">
      <h2 id="output-title">Output</h2>
      <${Output} written=${written} running=${running} />
      ${ended && facts.next && html`<${MoreOutput} id=${id} from=${facts.next} />`}
    </section>
    ${!running && html`<${Undo} id=${id} command=${facts.command} state=${facts.state} /><${Records} id=${id} />`}
    ${cancelling && html`<${CancelDialog} execution=${{ ...facts, execution: id }} onClose=${() => setCancelling(false)} />`}
  </${Page}>`;
}

/** The parameters of a running execution, with secrets redacted. Texts such as scripts are shown as they are. */
function Parameters(/** @type {{params?: Record<string, any>}} */ { params }) {
  const given = Object.entries(params ?? {});
  if (!given.length) return null;
  return html`<section aria-labelledby="parameters-title">
    <h2 id="parameters-title">Parameters</h2>
    ${given.map(
      ([name, value]) => html`<div key=${name}><p class="label">${name}</p>
        ${typeof value === "string" ? html`<${Code} label=${name}>${value}</${Code}>` : html`<${Code} value=${value} label=${name} />`}</div>`,
    )}
  </section>`;
}

/** The rest of a long result, page by page. @param {{id: string, from: number}} props */
function MoreOutput({ id, from }) {
  const [pieces, setPieces] = useState(/** @type {string[]} */ ([]));
  const [next, setNext] = useState(from);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const loadMore = async () => {
    setBusy(true);
    try {
      const page = await get(`/executions/${encode(id)}/output`, { offset: next, length: 25_000 });
      setPieces([...pieces, page.text]);
      setNext(page.next);
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  return html`${pieces.map((text, at) => html`<${Code} key=${at} label="More output">${text}</${Code}>`)}
    <${ErrorBox} problem=${problem} />
    ${next && html`<p><${Button} busy=${busy} onClick=${loadMore}>Show more</${Button}></p>`}`;
}

/** Undo an execution. A dry run lists what would be restored first. */
function Undo({ id, command, state }) {
  const explained = useLoad(() => post("/explain", { command }), [command]);
  const [plan, setPlan] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [undone, setUndone] = useState("");
  const [busy, setBusy] = useState(false);
  const undo = explained.data?.undo;
  const preview = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const { result } = await run("undo", { execution: id }, { dryRun: true });
      if (result.effect?.wouldFail) setProblem({ title: "This cannot be undone", detail: result.effect.wouldFail });
      else if (result.decision === "refused") setProblem({ title: "You may not undo this", detail: result.reason, rule: result.rule });
      else setPlan(result.effect);
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  const restore = async () => {
    const outcome = await run("undo", { execution: id });
    setUndone(outcome.call);
    showToast("Undone.");
  };
  if (state !== "completed" || undo === undefined) return null;
  return html`<section aria-labelledby="undo-title">
    <h2 id="undo-title">Undo</h2>
    ${undo !== "yes" && html`<p class="quiet">Cannot be undone: <${SafeText} text=${undo.replace(/^no: /, "")} />.</p>`}
    ${undo === "yes" && !undone && html`<p><${Button} busy=${busy} onClick=${preview}>Undo…</${Button}></p>`}
    <${ErrorBox} problem=${problem} />
    ${undone &&
    html`<p>Undone by execution <a href=${`/console/executions/${encode(undone)}`}><code>${undone}</code></a>, which can be undone too.</p>`}
    ${plan &&
    html`<${Confirm} title="Undo this execution?" action="Undo" onConfirm=${restore} onClose=${() => setPlan(null)}>
      <p>This restores the state before <code><${SafeText} text=${plan.command ?? command} /></code>:</p>
      <ul>${(plan.wouldRestore ?? []).map((one) => html`<li key=${one}><${SafeText} text=${one} /></li>`)}</ul>
    </${Confirm}>`}
  </section>`;
}

/** @type {Column[]} */
const COLUMNS = [
  { key: "id", title: "No.", render: (row) => html`<a href=${`/console/ledger/${encode(row.id)}`}>${row.id}</a>`, class: "number" },
  { key: "at", title: "Time", render: (row) => html`<${Time} at=${row.at} form="exact" />` },
  { key: "phase", title: "Phase" },
  { key: "status", title: "Outcome", render: (row) => html`<${StateBadge} state=${row.status} />` },
  { key: "rule", title: "Rule" },
];

/** The records of an execution in the ledger. */
function Records(/** @type {{id: string}} */ { id }) {
  const records = useLoad(() => get("/audit", { call: id, limit: 20 }), [id]);
  return html`<section aria-labelledby="record-title">
    <h2 id="record-title">Records</h2>
    <${Loaded} from=${records}>
      ${({ items }) => {
        const first = items.find((one) => one.params);
        return html`<${Table} caption="Records of this execution" columns=${COLUMNS} rows=${items} />
          ${first && html`<p class="label">Recorded parameters</p><${Code} value=${first.params} label="Recorded parameters" />`}
          ${items[0]?.note && html`<p><${SafeText} text=${items[0].note} /></p>`}`;
      }}
    </${Loaded}>
  </section>`;
}
