// One execution: where it stands, everything it wrote, what the record has of it, and how it is taken back.

import { get, part, post, run } from "../api.js";
import { elapsed, Output, Progress, useExecution } from "../output.js";
import { Stop } from "../stop.js";
import {
  Button,
  Code,
  Confirm,
  Copy,
  ErrorBox,
  html,
  Loaded,
  Loading,
  Page,
  State,
  Table,
  Time,
  toast,
  useLoad,
  useState,
  useTick,
  Visible,
} from "../ui.js";
import { sheet } from "../sheet.js";

await sheet("work.css");

export default function OneExecution({ id }) {
  const { facts, written, ended, problem } = useExecution(id);
  const [stopping, setStopping] = useState(false);
  const running = facts !== null && !ended && (facts.state === "running" || facts.state === "queued");
  useTick(500, running);
  const actions = html`<a class="button" href="/console/executions">All executions</a>
    ${running && html`<${Button} kind="danger" onClick=${() => setStopping(true)}>Cancel…</${Button}>`}`;
  if (facts === null)
    return html`<${Page} title="Execution" actions=${actions}>
      ${problem ? html`<${ErrorBox} problem=${problem} />` : html`<${Loading} />`}
    </${Page}>`;
  return html`<${Page} title=${facts.command} actions=${actions}>
    <p class="bits">
      <${State} state=${facts.state} />
      <span>by <strong><${Visible} text=${facts.caller} /></strong></span>
      ${facts.room && html`<span>in <a href=${`/console/rooms/${part(facts.room)}`}><${Visible} text=${facts.room}
        /></a></span>`}
      <span>began <${Time} at=${facts.startedAt} form="exact" /></span>
      <span class="number">${running ? "for" : "took"} ${elapsed(facts, !running)}</span>
      ${facts.code && facts.code !== "ok" && html`<span>code <code>${facts.code}</code></span>`}
      ${facts.cancelledBy && html`<span>cancelled by <strong><${Visible} text=${facts.cancelledBy} /></strong></span>`}
    </p>
    <p class="bits"><span class="quiet">Execution <code>${id}</code></span><${Copy} text=${id} label="Copy its id" />
      <a href=${`/console/commands/${part(facts.command)}`}>About this command</a></p>
    <${Progress} facts=${facts} />
    <${ErrorBox} problem=${problem} />
    <section aria-labelledby="output-title">
      <h2 id="output-title">Output</h2>
      <${Output} written=${written} running=${running} />
      ${ended && facts.next && html`<${Rest} id=${id} from=${facts.next} />`}
    </section>
    ${!running && html`<${Undo} id=${id} command=${facts.command} state=${facts.state} /><${Record} id=${id} />`}
    ${stopping && html`<${Stop} one=${{ ...facts, execution: id }} onClose=${() => setStopping(false)} />`}
  </${Page}>`;
}

/** The pages of a long result behind the one that the stream told. */
function Rest({ id, from }) {
  const [pieces, setPieces] = useState([]);
  const [next, setNext] = useState(from);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const more = async () => {
    setBusy(true);
    try {
      const page = await get(`/executions/${part(id)}/output`, { offset: next, length: 25_000 });
      setPieces([...pieces, page.text]);
      setNext(page.next);
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  return html`${pieces.map((text, at) => html`<${Code} key=${at} label="More output">${text}</${Code}>`)}
    <${ErrorBox} problem=${problem} />
    ${next && html`<p><${Button} busy=${busy} onClick=${more}>Show more of it</${Button}></p>`}`;
}

/** Take back what it changed. What exactly would be restored is asked before anything is done. */
function Undo({ id, command, state }) {
  const explained = useLoad(() => post("/explain", { command }), [command]);
  const [plan, setPlan] = useState(null);
  const [problem, setProblem] = useState(null);
  const [done, setDone] = useState(null);
  const [busy, setBusy] = useState(false);
  const undo = explained.data?.undo;
  const look = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const { result } = await run("undo", { execution: id }, { dryRun: true });
      if (result.effect?.wouldFail) setProblem({ title: "It cannot be undone", detail: result.effect.wouldFail });
      else if (result.decision === "refused") setProblem({ title: "You may not undo it", detail: result.reason,
        rule: result.rule });
      else setPlan(result.effect);
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  const restore = async () => {
    const outcome = await run("undo", { execution: id });
    setDone(outcome.call);
    toast("It was taken back.");
  };
  if (state !== "completed" || undo === undefined) return null;
  return html`<section aria-labelledby="undo-title">
    <h2 id="undo-title">Undo</h2>
    ${undo !== "yes" && html`<p class="quiet">It cannot be undone: <${Visible} text=${undo.replace(/^no: /, "")}
      />.</p>`}
    ${undo === "yes" && !done && html`<p><${Button} busy=${busy} onClick=${look}>Undo…</${Button}></p>`}
    <${ErrorBox} problem=${problem} />
    ${done && html`<p>Taken back by execution <a
      href=${`/console/executions/${part(done)}`}><code>${done}</code></a>, which can itself be undone.</p>`}
    ${plan &&
    html`<${Confirm} title="Take it back?" words="Undo it" onYes=${restore} onClose=${() => setPlan(null)}>
      <p>This would be as it was before <code><${Visible} text=${plan.command ?? command} /></code>:</p>
      <ul>${(plan.wouldRestore ?? []).map((one) => html`<li key=${one}><${Visible} text=${one} /></li>`)}</ul>
    </${Confirm}>`}
  </section>`;
}

const RECORD = [
  {
    key: "id",
    title: "Number",
    render: (row) => html`<a href=${`/console/ledger/${part(row.id)}`}>${row.id}</a>`,
    class: "number",
  },
  { key: "at", title: "When", render: (row) => html`<${Time} at=${row.at} form="exact" />` },
  { key: "phase", title: "Phase" },
  { key: "status", title: "Status", render: (row) => html`<${State} state=${row.status} />` },
  { key: "rule", title: "Rule" },
];

/** What the ledger has of it: the record is what counts, whatever a page shows. */
function Record({ id }) {
  const records = useLoad(() => get("/audit", { call: id, limit: 20 }), [id]);
  return html`<section aria-labelledby="record-title">
    <h2 id="record-title">In the record</h2>
    <${Loaded} from=${records}>
      ${({ items }) => {
        const asked = items.find((one) => one.params);
        return html`<${Table} caption="Records of this execution" columns=${RECORD} rows=${items} />
          ${asked && html`<p class="label">Parameters, as they are recorded</p><${Code} value=${asked.params}
            label="Parameters" />`}
          ${items[0]?.note && html`<p><${Visible} text=${items[0].note} /></p>`}`;
      }}
    </${Loaded}>
  </section>`;
}
