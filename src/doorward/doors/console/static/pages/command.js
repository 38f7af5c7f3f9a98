// @ts-check
// One command: its description, and a form for a dry run or a real run. The gate decides about people as about agents.

import { encode, get, post, run } from "../lib/api.js";
import { formatCli, formatCurl, formatExecute } from "../lib/call-text.js";
import { appendOutput, EMPTY_OUTPUT } from "../lib/output-buffer.js";
import { runStreaming } from "../lib/sse.js";
import { loadStylesheet } from "../lib/stylesheet.js";
import { ApprovalCard } from "../parts/approval-card.js";
import { CommandFacts, RoomSelect } from "../parts/command-facts.js";
import { Diff } from "../parts/diff.js";
import { Output, Progress } from "../parts/output.js";
import { Result } from "../parts/result.js";
import { SchemaForm, useForm } from "../parts/schema-form.js";
import {
  Badge,
  Button,
  Code,
  Confirm,
  CopyButton,
  ErrorBox,
  html,
  Loaded,
  Page,
  Prose,
  SafeText,
  StateBadge,
  useEffect,
  useLive,
  useLoad,
  useRef,
  useState,
} from "../parts/ui.js";

await loadStylesheet("work.css");

const commandPath = (/** @type {string} */ name) => name.split("/").map(encode).join("/");

/** @param {{name: string, room: string, navigate: Navigate}} props */
export default function CommandPage({ name, room, navigate }) {
  const described = useLoad(() => get(`/commands/${commandPath(name)}`, { room }), [name, room]);
  const suffix = (/** @type {string} */ id) => (id ? `?room=${encodeURIComponent(id)}` : "");
  const chooseRoom = (/** @type {string} */ id) => navigate(`/console/commands/${commandPath(name)}${suffix(id)}`, { replace: true });
  return html`<${Page} title=${name} actions=${html`<a class="button" href=${`/console/commands${suffix(room)}`}>All commands</a>`}>
    <div class="filters"><${RoomSelect} room=${room} onChange=${chooseRoom} hint="In a room, its recipe and limits apply to you too." /></div>
    <${Loaded} from=${described}>${(command) => html`<${CommandForm} command=${command} room=${room} />`}</${Loaded}>
  </${Page}>`;
}

function CommandForm({ command, room }) {
  const secret = command.secret ?? [];
  const form = useForm(command.schema, secret);
  const [preview, setPreview] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [busy, setBusy] = useState(false);
  const [confirming, setConfirming] = useState(/** @type {Record<string, any> | null} */ (null));
  const work = useRun(command.name, room);
  const dryRun = async () => {
    const params = form.read();
    if (!params) return;
    setBusy(true);
    setProblem(null);
    try {
      setPreview((await run(command.name, params, { room, dryRun: true })).result);
    } catch (error) {
      setPreview(null);
      setProblem(error);
    }
    setBusy(false);
  };
  const start = (/** @type {Record<string, any>} */ params) => {
    setPreview(null); // it says that nothing ran
    setProblem(null);
    work.start(params);
  };
  const submit = (event) => {
    event.preventDefault();
    const params = form.read();
    if (!params) return;
    if (command.safety === "dangerous") setConfirming(params);
    else start(params);
  };
  const { summary, description, undo } = command;
  const details = (description.startsWith(summary) ? description.slice(summary.length) : description).trim();
  const readOnly = command.effects.every((one) => one === "read");
  return html`<p class="lead"><${Prose} text=${summary} inline /></p>
    <${CommandFacts} of=${command} />
    ${command.humansOnly && html`<p class="quiet">Only people can run this command.</p>`}
    ${details && html`<div class="described"><${Prose} text=${details} /></div>`}
    ${undo.startsWith("no: ") && !readOnly && html`<p class="quiet">Cannot be undone: <${SafeText} text=${undo.slice(4)} />.</p>`}
    ${command.examples.length > 0 &&
    html`<section aria-labelledby="examples-title">
      <h2 id="examples-title">Examples</h2>
      <ul class="plain-list chips">
        ${command.examples.map(
          (one, at) => html`<li key=${at}><button type="button" class="button quiet" title=${JSON.stringify(one.params)}
            onClick=${() => form.fill(one.params)}><${SafeText} text=${one.says} /></button></li>`,
        )}
      </ul>
    </section>`}
    <form class="card" onSubmit=${submit} aria-labelledby="try-title">
      <h2 id="try-title">Run</h2>
      <${SchemaForm} form=${form} id="params" />
      ${Object.keys(form.problems).length > 0 && html`<p class="field-error" role="alert">Some fields are not valid. See the message below each field.</p>`}
      <div class="actions start">
        <${Button} busy=${busy} onClick=${dryRun}>Dry run</${Button}>
        <${Button} kind=${command.safety === "dangerous" ? "danger" : "primary"} type="submit" busy=${work.busy}>Run</${Button}>
        ${work.busy && work.execution && html`<${Button} kind="danger" onClick=${work.cancel}>Cancel</${Button}>`}
      </div>
    </form>
    <div aria-live="polite">
      <${ErrorBox} problem=${problem} />
      ${preview && html`<${DryRunResult} found=${preview} />`}
      <${RunResult} work=${work} />
    </div>
    <${CallSnippets} command=${command.name} params=${form.peek()} room=${room} secret=${secret} />
    ${command.related.length > 0 &&
    html`<p class="bits"><span class="quiet">Related:</span>${command.related.map(
      (one) => html`<a key=${one} href=${`/console/commands/${commandPath(one)}`}><code>${one}</code></a>`,
    )}</p>`}
    ${confirming &&
    html`<${Confirm} title=${`Run ${command.name}?`} action="Run" onConfirm=${async () => start(confirming)} onClose=${() => setConfirming(null)}>
      <p>This command is marked dangerous. It runs with these parameters, as you${room ? html` in room <${SafeText} text=${room} />` : ""}:</p>
      <${Code} value=${replaceSecrets(confirming, secret, "(hidden)")} label="Parameters" />
    </${Confirm}>`}`;
}

/** @param {Record<string, any>} params @param {string[]} secret @param {string} text */
const replaceSecrets = (params, secret, text) =>
  Object.fromEntries(Object.entries(params).map(([key, value]) => [key, secret.includes(key) ? text : value]));

/** The result of a dry run. */
function DryRunResult({ found }) {
  const { effect, approval } = found;
  const isObject = effect && typeof effect === "object";
  const failure = isObject && effect.wouldFail;
  const difference = isObject && (effect.diff ?? effect.difference);
  return html`<section class="card" aria-labelledby="tried-title">
    <h2 id="tried-title">Dry run: nothing was changed</h2>
    <dl class="facts">
      <dt>Decision</dt>
      <dd><${Badge} tone=${found.decision === "refused" ? "bad" : "good"}>${found.decision}</${Badge}> ${found.reason && html`<${SafeText} text=${found.reason} />`}</dd>
      <dt>Rule</dt>
      <dd><code><${SafeText} text=${found.rule} /></code></dd>
      <dt>Cost</dt>
      <dd>${found.cost}</dd>
      <dt>Approval</dt>
      <dd>${approval ? `${approval.quorum} of ${approval.approvers.join(", ")}, within ${approval.timeoutSeconds} s` : "not required"}</dd>
      <dt>Undo</dt>
      <dd><${SafeText} text=${found.undo} /></dd>
    </dl>
    ${failure && html`<p class="field-error">It would fail: <${SafeText} text=${failure} /></p>`}
    ${difference && html`<${Diff} text=${difference} label="Expected changes" totals=${{ added: effect.linesAdded ?? 0, removed: effect.linesRemoved ?? 0 }} />`}
    ${effect &&
    !failure &&
    !difference &&
    (isObject ? html`<p class="label">Effect</p><${Result} result=${effect} label="Effect" />` : html`<p><${SafeText} text=${effect} /></p>`)}
  </section>`;
}

/** @typedef {{busy?: boolean, written?: OutputBuffer, execution?: string, queued?: boolean, progress?: any, asked?: any, outcome?: any, problem?: any, parked?: string}} RunState */

/**
 * One run of a command, including the wait for approval. It continues when the user opens another page, such as that of
 * its execution, where it can be cancelled.
 *
 * @param {string} command
 * @param {string} room
 */
function useRun(command, room) {
  const [state, set] = useState(/** @type {RunState} */ ({ written: EMPTY_OUTPUT }));
  const change = (/** @type {RunState} */ facts) => set((before) => ({ ...before, ...facts }));
  const append = (/** @type {string} */ stream, /** @type {string} */ text) =>
    set((before) => ({ ...before, written: appendOutput(before.written ?? EMPTY_OUTPUT, stream, text) }));
  const onNotice = (notice) => {
    if (notice.type === "started") change({ execution: notice.execution, queued: notice.queued });
    else if (notice.type === "output") append(notice.stream, notice.text);
    else if (notice.type === "progress") change({ progress: notice });
    else if (notice.type === "logged") append("stderr", `${notice.server} ${notice.level}: ${notice.text}\n`);
    else if (notice.type === "asked") change({ asked: notice });
  };
  const go = async (/** @type {Record<string, any>} */ params, /** @type {string} */ ticket) => {
    set({ busy: true, written: EMPTY_OUTPUT });
    try {
      const outcome = await runStreaming(command, params, { room, ticket }, onNotice);
      change({ busy: false, outcome, parked: outcome.status === "parked" ? outcome.ticket : "" });
    } catch (problem) {
      change({ busy: false, problem });
    }
  };
  return {
    ...state,
    start: (/** @type {Record<string, any>} */ params) => go(params, ""),
    resume: (/** @type {string} */ ticket) => go({}, ticket),
    cancel: () => post(`/executions/${encode(state.execution ?? "")}/cancel`).catch((problem) => change({ problem })),
  };
}

function RunResult(/** @type {{work: ReturnType<typeof useRun>}} */ { work }) {
  const { busy, outcome, problem, written, progress, execution, parked, asked } = work;
  if (!busy && !outcome && !problem) return null;
  const call = outcome?.call || problem?.call || execution;
  const title = busy ? (work.queued ? "Queued" : "Running") : problem ? (problem.outcome === "refused" ? "Refused" : "Failed") : parked ? "Waiting for approval" : "Done";
  return html`<section class="card" aria-labelledby="work-title">
    <header class="card-head">
      <h2 id="work-title">${title}</h2>
      ${outcome && html`<${StateBadge} state=${outcome.status} />`}
    </header>
    ${busy && html`<${Progress} facts=${progress} />`}
    ${asked &&
    busy &&
    html`<p>The server <strong><${SafeText} text=${asked.server} /></strong> needs an answer first. <a href="/console/approvals">Answer it</a>.</p>`}
    ${written && written.length > 0 && html`<${Output} written=${written} running=${busy} />`}
    <${ErrorBox} problem=${problem} />
    ${parked
      ? html`<${PendingApproval} ticket=${parked} onApproved=${() => work.resume(parked)} />`
      : outcome && html`<${Result} result=${outcome.result} />`}
    ${outcome?.truncated > 0 && html`<p class="quiet">The result was truncated. The execution has all of it.</p>`}
    ${call && !parked && html`<p><a href=${`/console/executions/${encode(call)}`}>Open execution</a></p>`}
  </section>`;
}

/** The approval a run waits for. Once it is approved, the run continues with its ticket. */
function PendingApproval(/** @type {{ticket: string, onApproved: () => void}} */ { ticket, onApproved }) {
  /** @type {Loadable<Approval>} */
  const from = useLive(
    () => get(`/approvals/${encode(ticket)}`),
    { "approval:decided": ({ data }) => data.approval === ticket },
    [ticket],
  );
  const resumed = useRef(false);
  useEffect(() => {
    if (from.data?.state !== "approved" || resumed.current) return;
    resumed.current = true;
    onApproved();
  }, [from.data?.state]);
  return html`<${Loaded} from=${from}>${(approval) => html`<${ApprovalCard} approval=${approval} onChange=${from.setData} onExpired=${from.reload} />`}</${Loaded}>`;
}

/** The call as text for other clients. Secrets are left out. */
function CallSnippets({ command, params, room, secret }) {
  const shown = replaceSecrets(params, secret, "…");
  const rows = [
    ["Terminal", formatCli(command, shown, room)],
    ["curl", formatCurl(command, shown, room, location.origin)],
    ["In a room, as an AI", formatExecute(command, shown)],
  ];
  return html`<details class="elsewhere">
    <summary>Copy this call</summary>
    ${rows.map(
      ([title, text]) => html`<div key=${title}><p class="bits"><span class="label">${title}</span><${CopyButton} text=${text} /></p><${Code} label=${title}>${text}</${Code}></div>`,
    )}
  </details>`;
}
