// What runs at this moment, with how far it is and what it writes, and what ended.

import { get, part } from "../api.js";
import { onEvent, onMissed } from "../live.js";
import { elapsed, Output, Progress, span, useExecution } from "../output.js";
import { Stop } from "../stop.js";
import {
  Button,
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
  useTick,
  Visible,
} from "../ui.js";
import OneExecution from "./execution.js";
import { sheet } from "../sheet.js";

await sheet("work.css");

const PAGE = 50;

export default function Executions({ params, navigate }) {
  return params.id ? html`<${OneExecution} id=${params.id} />` : html`<${All} navigate=${navigate} />`;
}

const live = (one) => one.state === "running" || one.state === "queued";

function All({ navigate }) {
  const [items, setItems] = useState(null);
  const [next, setNext] = useState(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const [stopping, setStopping] = useState(null);
  const [everything, setEverything] = useState(false);
  const timer = useRef(0);

  const load = useCallback(async (after = 0) => {
    setBusy(true);
    try {
      const page = await get("/executions", { limit: PAGE, after: after || undefined, notable: !everything });
      const heard = page.items.map((one) => ({ ...one, heardAt: Date.now() }));
      setItems((before) => (after ? [...before, ...heard] : heard));
      setNext(page.next ?? null);
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  }, [everything]);

  useEffect(() => {
    load();
    const soon = () => {
      clearTimeout(timer.current);
      timer.current = setTimeout(() => load(), 200);
    };
    const progressed = ({ data }) =>
      setItems((before) =>
        before?.map((one) =>
          one.execution === data.execution ? { ...one, fraction: data.fraction ?? undefined, message: data.message }
            : one,
        ),
      );
    const leave = [
      onEvent("execution:started", soon),
      onEvent("execution:ended", soon),
      onEvent("execution:progress", progressed),
      onMissed(soon),
    ];
    return () => {
      clearTimeout(timer.current);
      leave.forEach((one) => one());
    };
  }, [load]);

  const running = (items ?? []).filter(live);
  const ended = (items ?? []).filter((one) => !live(one));
  return html`<${Page} title="Executions" actions=${html`<${Button} busy=${busy}
    onClick=${() => load()}>Look again</${Button}>`}>
    <${ErrorBox} problem=${problem} onRetry=${() => load()} />
    ${items === null && !problem && html`<${Loading} />`}
    ${items !== null &&
    html`<section aria-labelledby="running-title">
        <h2 id="running-title">Running ${running.length > 0 ? `(${running.length})` : ""}</h2>
        <div data-list>
          ${running.map((one) => html`<${Running} key=${one.execution} one=${one} onStop=${() => setStopping(one)} />`)}
        </div>
        ${!running.length && html`<${Empty} title="Nothing runs at the moment" />`}
      </section>
      <section aria-labelledby="ended-title">
        <h2 id="ended-title">Ended</h2>
        <label class="tick">
          <input type="checkbox" checked=${everything} onChange=${(event) => setEverything(event.target.checked)} />
          Show also what people only looked at
        </label>
        <${Table}
          caption="Executions that ended, newest first"
          columns=${COLUMNS}
          rows=${ended}
          keyOf=${(row) => row.execution}
          onOpen=${(row) => navigate(`/console/executions/${part(row.execution)}`)}
          empty=${html`<${Empty} title="Nothing ran yet"><p>
            Try something: <a href="/console/commands">the commands</a> are all here.
          </p></${Empty}>`}
        />
        <${More} more=${next} busy=${busy} onMore=${() => load(next)} words="Show older ones" />
      </section>`}
    ${stopping && html`<${Stop} one=${stopping} onClose=${() => setStopping(null)} onStopped=${() => load()} />`}
  </${Page}>`;
}

const COLUMNS = [
  {
    key: "startedAt",
    title: "Began",
    render: (row) =>
      html`<a href=${`/console/executions/${part(row.execution)}`}><${Time} at=${row.startedAt} /></a>`,
  },
  { key: "command", title: "Command", render: (row) => html`<code><${Visible} text=${row.command} /></code>` },
  { key: "state", title: "State", render: (row) => html`<${State} state=${row.state} />` },
  { key: "caller", title: "Who" },
  { key: "room", title: "Room" },
  { key: "seconds", title: "Took", render: (row) => span(row.seconds), class: "number" },
];

/** One that runs: a card that can show what it writes, as it writes it. */
function Running({ one, onStop }) {
  const [open, setOpen] = useState(false);
  useTick(500);
  return html`<article class="card" aria-label=${`${one.command}, running`}>
    <header class="card-head">
      <h3><a href=${`/console/executions/${part(one.execution)}`}><code><${Visible} text=${one.command}
        /></code></a></h3>
      <span class="bits"><${State} state=${one.state} /><span class="number">${elapsed(one, false)}</span></span>
    </header>
    <p class="bits">
      <span>by <strong><${Visible} text=${one.caller} /></strong></span>
      ${one.room && html`<span>in <a href=${`/console/rooms/${part(one.room)}`}><${Visible} text=${one.room}
        /></a></span>`}
      ${one.inside && html`<span>inside of <a
        href=${`/console/executions/${part(one.inside)}`}><code>${one.inside}</code></a></span>`}
    </p>
    <${Progress} facts=${one} />
    ${open && html`<${LiveOutput} id=${one.execution} />`}
    <div class="actions start">
      <${Button} aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>${open ? "Hide its output"
        : "Show its output"}</${Button}>
      <${Button} kind="danger" onClick=${onStop}>Cancel…</${Button}>
    </div>
  </article>`;
}

function LiveOutput({ id }) {
  const { written, ended, problem } = useExecution(id);
  return html`<${ErrorBox} problem=${problem} />
    <${Output} written=${written} running=${!ended} where=${`/console/executions/${part(id)}`} />`;
}
