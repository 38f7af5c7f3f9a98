// One command: what it is, and a form to try it without doing it, or to run it. A person asks as anybody does: the gate decides.

import { get, part, post, run } from "../api.js";
import { ApprovalCard } from "../approvalcard.js";
import { Facts, RoomChoice } from "../commandfacts.js";
import { Diff } from "../diff.js";
import { onEvent } from "../live.js";
import { Output, Progress } from "../output.js";
import { Result } from "../result.js";
import { runTelling } from "../running.js";
import { SchemaForm, useForm } from "../schemaform.js";
import { asCurl, asExecute, asRun } from "../spelling.js";
import {
  Badge,
  Button,
  Code,
  Confirm,
  Copy,
  ErrorBox,
  html,
  Loaded,
  Page,
  Prose,
  State,
  useEffect,
  useLoad,
  useRef,
  useState,
  Visible,
} from "../ui.js";
import { NOTHING, withMore } from "../written.js";
import { sheet } from "../sheet.js";

await sheet("work.css");

export default function OneCommand({ name, room, navigate }) {
  const described = useLoad(() => get(`/commands/${name.split("/").map(part).join("/")}`, { room }), [name, room]);
  const where = (id) => navigate(`/console/commands/${name.split("/").map(part).join("/")}${id
    ? `?room=${encodeURIComponent(id)}` : ""}`, { replace: true });
  const back = `/console/commands${room ? `?room=${encodeURIComponent(room)}` : ""}`;
  return html`<${Page} title=${name} actions=${html`<a class="button" href=${back}>All commands</a>`}>
    <div class="filters"><${RoomChoice} room=${room} onChange=${where}
      hint="In a room its recipe and limits bind you too." /></div>
    <${Loaded} from=${described}>${(command) => html`<${Described} command=${command} room=${room} />`}</${Loaded}>
  </${Page}>`;
}

function Described({ command, room }) {
  const form = useForm(command.schema, command.secret ?? []);
  const [tried, setTried] = useState(null);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const [sure, setSure] = useState(null);
  const work = useRun(command.name, room);
  const attempt = async () => {
    const params = form.read();
    if (!params) return;
    setBusy(true);
    setProblem(null);
    try {
      setTried((await run(command.name, params, { room, dryRun: true })).result);
    } catch (error) {
      setTried(null);
      setProblem(error);
    }
    setBusy(false);
  };
  const start = () => {
    const params = form.read();
    if (!params) return;
    if (command.safety === "dangerous") setSure(params);
    else begin(params);
  };
  const begin = (params) => {
    setTried(null); // it says that nothing was done
    setProblem(null);
    work.start(params);
  };
  const submit = (event) => {
    event.preventDefault();
    start();
  };
  const more = (command.description.startsWith(command.summary) ? command.description.slice(command.summary.length)
    : command.description).trim();
  return html`<p class="lead"><${Prose} text=${command.summary} inline /></p>
    <${Facts} of=${command} />
    ${command.humansOnly && html`<p class="quiet">Only people may run it.</p>`}
    ${more && html`<div class="described"><${Prose} text=${more} /></div>`}
    ${command.undo.startsWith("no: ") && !command.effects.every((one) => one === "read") &&
      html`<p class="quiet">It cannot be undone: <${Visible} text=${command.undo.slice(4)} />.</p>`}
    ${command.examples.length > 0 &&
    html`<section aria-labelledby="examples-title">
      <h2 id="examples-title">Examples</h2>
      <ul class="plain-list chips">
        ${command.examples.map((one, at) => html`<li key=${at}><button type="button" class="button quiet"
          title=${JSON.stringify(one.params)} onClick=${() => form.fill(one.params)}><${Visible} text=${one.says}
            /></button></li>`)}
      </ul>
    </section>`}
    <form class="card" onSubmit=${submit} aria-labelledby="try-title">
      <h2 id="try-title">Try it</h2>
      <${SchemaForm} form=${form} id="params" />
      ${Object.keys(form.problems).length > 0 && html`<p class="field-error"
        role="alert">Something does not fit yet; it is said beside its field.</p>`}
      <div class="actions start">
        <${Button} busy=${busy} onClick=${attempt}>Try without doing it</${Button}>
        <${Button} kind=${command.safety === "dangerous" ? "danger" : "primary"} type="submit"
          busy=${work.busy}>Run</${Button}>
        ${work.busy && work.execution && html`<${Button} kind="danger" onClick=${work.stop}>Stop</${Button}>`}
      </div>
    </form>
    <div aria-live="polite">
      <${ErrorBox} problem=${problem} />
      ${tried && html`<${Tried} found=${tried} />`}
      <${Work} work=${work} />
    </div>
    <${Elsewhere} command=${command.name} params=${form.peek()} room=${room} secret=${command.secret ?? []} />
    ${command.related.length > 0 &&
    html`<p class="bits"><span class="quiet">Related:</span>${command.related.map((one) => html`<a key=${one}
      href=${`/console/commands/${one.split("/").map(part).join("/")}`}><code>${one}</code></a>`)}</p>`}
    ${sure &&
    html`<${Confirm} title=${`Run ${command.name}?`} words="Run it" onYes=${async () => begin(sure)}
      onClose=${() => setSure(null)}>
      <p>It is declared dangerous. Exactly this runs, as you${room ? html` in room <${Visible} text=${room} />`
        : ", outside rooms"}:</p>
      <${Code} value=${hidden(sure, command.secret ?? [])} label="Parameters" />
    </${Confirm}>`}`;
}

const hidden = (params, secret) => Object.fromEntries(Object.entries(params).map(([key, value]) => [key,
  secret.includes(key) ? "(not shown)" : value]));

const asked = ({ quorum, approvers, timeoutSeconds }) =>
  `A person is asked first: ${quorum} of ${approvers.join(", ")}, within ${timeoutSeconds} s`;

/** What would happen, with nothing done. */
function Tried({ found }) {
  const refused = found.decision === "refused";
  const { effect } = found;
  const failing = effect && typeof effect === "object" && effect.wouldFail;
  const difference = effect && typeof effect === "object" && (effect.diff ?? effect.difference);
  return html`<section class="card" aria-labelledby="tried-title">
    <h2 id="tried-title">Nothing was done. This would happen:</h2>
    <dl class="facts">
      <dt>Decision</dt>
      <dd><${Badge} tone=${refused ? "bad" : "good"}>${found.decision}</${Badge}> ${found.reason &&
        html`<${Visible} text=${found.reason} />`}</dd>
      <dt>Rule</dt>
      <dd><code><${Visible} text=${found.rule} /></code></dd>
      <dt>Cost</dt>
      <dd>${found.cost}</dd>
      <dt>Approval</dt>
      <dd>${found.approval ? asked(found.approval) : "not needed"}</dd>
      <dt>Undo</dt>
      <dd><${Visible} text=${found.undo} /></dd>
    </dl>
    ${failing && html`<p class="field-error">It would fail: <${Visible} text=${effect.wouldFail} /></p>`}
    ${difference && html`<${Diff} text=${difference} />`}
    ${effect && !failing && !difference && (typeof effect === "string" ? html`<p><${Visible} text=${effect} /></p>`
      : html`<p class="label">Effect</p><${Result} result=${effect} label="Effect" />`)}
  </section>`;
}

/** One run of the command, through waiting for a person to its end. It goes on when one leaves for another page, such as
 * that of its execution, where it can be stopped. */
function useRun(command, room) {
  const [state, set] = useState({ busy: false });
  const change = (next) => set((before) => ({ ...before, ...next }));
  const told = (notice) => {
    if (notice.type === "started") change({ execution: notice.execution, queued: notice.queued });
    else if (notice.type === "output") set((before) => ({ ...before, written: withMore(before.written, notice.stream,
      notice.text) }));
    else if (notice.type === "progress") change({ progress: notice });
    else if (notice.type === "logged") set((before) => ({ ...before, written: withMore(before.written, "stderr",
      `${notice.server} ${notice.level}: ${notice.text}\n`) }));
    else if (notice.type === "asked") change({ asked: notice });
  };
  const go = async (params, ticket) => {
    set({ busy: true, written: NOTHING, ticket });
    try {
      const outcome = await runTelling(command, params, { room, ticket }, told);
      change({ busy: false, outcome, parked: outcome.status === "parked" ? outcome.ticket : "" });
    } catch (problem) {
      change({ busy: false, problem });
    }
  };
  return {
    ...state,
    start: (params) => go(params, ""),
    resume: (ticket) => go({}, ticket),
    stop: () => post(`/executions/${part(state.execution)}/cancel`).catch((problem) => change({ problem })),
  };
}

function Work({ work }) {
  const { busy, outcome, problem, written, progress, execution, parked, asked } = work;
  if (!busy && !outcome && !problem) return null;
  const call = outcome?.call || problem?.call || execution;
  return html`<section class="card" aria-labelledby="work-title">
    <header class="card-head">
      <h2 id="work-title">${busy ? (work.queued ? "Waiting for its turn" : "Running") : problem ? "It did not work"
        : parked ? "A person is asked" : "Done"}</h2>
      ${outcome && html`<${State} state=${outcome.status} />`}
    </header>
    ${busy && html`<${Progress} facts=${progress} />`}
    ${asked && busy && html`<p>The server <strong><${Visible} text=${asked.server} /></strong> asks something first: <a
      href="/console/approvals">answer it</a>.</p>`}
    ${written?.length > 0 && html`<${Output} written=${written} running=${busy} />`}
    <${ErrorBox} problem=${problem} />
    ${parked ? html`<${Waiting} ticket=${parked} onApproved=${() => work.resume(parked)} />` : outcome &&
      html`<${Result} result=${outcome.result} />`}
    ${outcome?.truncated > 0 &&
      html`<p class="quiet">The result was cut; all of it is on the page of the execution.</p>`}
    ${call && !parked && html`<p><a href=${`/console/executions/${part(call)}`}>Its execution</a></p>`}
  </section>`;
}

/** What waits for a person; once they say yes, it goes on by itself with its ticket. */
function Waiting({ ticket, onApproved }) {
  const [approval, set] = useState(null);
  const [problem, setProblem] = useState(null);
  const used = useRef(false);
  const look = async () => {
    try {
      const found = await get(`/approvals/${part(ticket)}`);
      set(found);
      if (found.state === "approved" && !used.current) {
        used.current = true;
        onApproved();
      }
    } catch (error) {
      setProblem(error);
    }
  };
  useEffect(() => {
    look();
    return onEvent("approval:decided", ({ data }) => data.approval === ticket && look());
  }, [ticket]);
  return html`<${ErrorBox} problem=${problem} />${approval && html`<${ApprovalCard} approval=${approval}
    onChange=${look} onExpired=${look} />`}`;
}

/** The same call for other places. What is secret is left to fill in there. */
function Elsewhere({ command, params, room, secret }) {
  const open = Object.fromEntries(Object.entries(params).map(([key, value]) => [key, secret.includes(key) ? "…"
    : value]));
  const rows = [
    ["In the terminal", asRun(command, open, room)],
    ["With curl", asCurl(command, open, room, location.origin)],
    ["As an AI writes it", asExecute(command, open)],
  ];
  return html`<details class="elsewhere">
    <summary>The same call elsewhere</summary>
    ${rows.map(([title, text]) => html`<div key=${title}><p class="bits"><span class="label">${title}</span><${Copy}
      text=${text} /></p><${Code} label=${title}>${text}</${Code}></div>`)}
  </details>`;
}
