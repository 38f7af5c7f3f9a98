// One upstream server: its state, its tools with what changed in them, what it wrote, and switches.

import { Offered } from "../allowed.js";
import { part, run } from "../api.js";
import { Diff } from "../diff.js";
import { span } from "../output.js";
import { Done, TONES } from "../serverstate.js";
import {
  Badge,
  Button,
  Code,
  Confirm,
  Dialog,
  Empty,
  ErrorBox,
  html,
  Loaded,
  Page,
  Time,
  toast,
  useLoad,
  useState,
  Visible,
} from "../ui.js";
import { sheet } from "../sheet.js";

await sheet("work.css");

export default function OneServer({ server, onChanged, done, reload, navigate }) {
  const [asking, setAsking] = useState("");
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState("");
  const tools = useLoad(async () => (await run("mcp/tools", { server: server.id, limit: 500 })).result, [server.id,
    server.tools, server.changed, server.new]);
  const act = async (command, params, words, undo = true) => {
    setBusy(command);
    setProblem(null);
    try {
      const outcome = await run(command, params);
      onChanged(words, undo && outcome.result.changed !== false ? outcome.call : "");
    } catch (error) {
      setProblem(error);
    }
    setBusy("");
  };
  const actions = html`<a class="button" href="/console/servers">All servers</a>
    <${Offered} command="mcp/remove" what="To change it">${server.enabled
      ? html`<${Button} busy=${busy === "mcp/restart"} onClick=${() => act("mcp/restart", { server: server.id },
        `${server.name} was started anew.`, false)}>Restart</${Button}
          ><${Button} busy=${busy === "mcp/disable"} onClick=${() => act("mcp/disable", { id: server.id },
            `${server.name} was switched off.`)}>Disable</${Button}>`
      : html`<${Button} kind="primary" busy=${busy === "mcp/enable"} onClick=${() => act("mcp/enable",
        { id: server.id }, `${server.name} was switched on.`)}>Enable</${Button}>`}
    <${Button} kind="danger" onClick=${() => setAsking("remove")}>Remove…</${Button}></${Offered}>`;
  const remove = async () => {
    const outcome = await run("mcp/remove", { id: server.id });
    onChanged(`${server.name} was removed.`, outcome.call);
    navigate("/console/servers");
  };
  const waits = server.changed + server.new;
  return html`<${Page} title=${server.name} actions=${actions}>
    <${Done} done=${done} onUndone=${reload} />
    <${ErrorBox} problem=${problem} />
    <p class="bits">
      <${Badge} tone=${TONES[server.state] ?? "calm"}>${server.state}</${Badge}>
      ${server.since && html`<span>since <${Time} at=${server.since} /></span>`}
      ${server.retrySeconds !== null && html`<span>tried again in ${Math.ceil(server.retrySeconds)} s</span>`}
    </p>
    ${server.problem && html`<div class="error-box" role="alert"><p><${Visible} text=${server.problem} /></p></div>`}
    ${waits > 0 &&
    html`<div class="card approval pending">
      <p><strong>${[server.changed &&
        `${server.changed} of its tools changed since a person approved it, so nobody may run ${server.changed === 1
          ? "that one" : "those"}`, server.new && `${server.new} ${server.new === 1 ? "is"
            : "are"} new, and each call of ${server.new === 1 ? "it"
              : "them"} asks a person`].filter(Boolean).join("; ")}.</strong></p>
      <${Offered} command="mcp/approve" what="To approve them"><${Button} kind="primary" onClick=${() => setAsking("approve")}>Look at what changed…</${Button}></${Offered}>
    </div>`}
    <dl class="facts">
      <dt>Id</dt><dd><code>${server.id}</code></dd>
      <dt>By its own word</dt><dd><${Visible} text=${server.itself || "nothing yet"} /></dd>
      <dt>Transport</dt><dd>${server.transport}${server.protocolVersion && `, MCP ${server.protocolVersion}`}</dd>
      <dt>Calls</dt><dd>${server.calls}, of which ${server.failures} failed; ${server.restarts} restarts</dd>
      <dt>Time it takes</dt><dd>${server.p50Ms === null ? "not known yet"
        : `${span(server.p50Ms / 1000)} in the middle, ${span(server.p99Ms / 1000)} for the slowest of a hundred`}</dd>
      <dt>Memory</dt><dd>${server.memoryMb} MB</dd>
      <dt>Last error</dt><dd>${server.lastError ? html`<${Visible} text=${server.lastError} /> (<${Time}
        at=${server.lastErrorAt} />)` : "none"}</dd>
    </dl>
    ${server.remarks.map((one) => html`<p class="quiet" key=${one}><${Visible} text=${one} /></p>`)}
    <section aria-labelledby="tools-title">
      <h2 id="tools-title">Tools</h2>
      <${Loaded} from=${tools}>
        ${({ items, problems }) => html`${problems.map((one) => html`<p class="quiet" key=${one}><${Visible} text=${one}
          /></p>`)}
          ${items.map((one) => html`<${Tool} key=${one.command} tool=${one} />`)}
          ${!items.length && html`<${Empty} title="It offers no tools that are known" />`}`}
      </${Loaded}>
    </section>
    <${Log} id=${server.id} />
    ${asking === "remove" &&
    html`<${Confirm} title=${`Remove ${server.name}?`} words="Remove it" onYes=${remove}
      onClose=${() => setAsking("")}>
      <p>
        It ends, and its tools are gone. This can be undone as long as the file of servers does not change.
      </p>
    </${Confirm}>`}
    ${asking === "approve" && html`<${Approve} id=${server.id} onClose=${() => setAsking("")}
      onDone=${() => { setAsking(""); reload(); tools.reload(); }} />`}
  </${Page}>`;
}

function Tool({ tool }) {
  return html`<details class="card tool">
    <summary>
      <code><${Visible} text=${tool.command} /></code>
      ${tool.changed && html` <${Badge} tone="bad">changed</${Badge}>`}${tool.new &&
        html` <${Badge} tone="warn">new</${Badge}>`}
      ${tool.warnings.length > 0 && html` <${Badge} tone="bad">suspicious</${Badge}>`}
      ${tool.approval ? html` <${Badge}>asks a person</${Badge}>`
        : html` <${Badge} tone="good">needs no approval</${Badge}>`}
    </summary>
    <p><${Visible} text=${tool.summary} lines /></p>
    ${tool.withheld && html`<p class="field-error"><${Visible} text=${tool.withheld} /></p>`}
    ${tool.warnings.map((one) => html`<p class="field-error" key=${one}><${Visible} text=${one} /></p>`)}
    ${tool.difference && html`<${Diff} text=${tool.difference} label="What changed in its definition" />`}
    ${tool.claims && html`<p class="quiet">Its server claims, and nobody checked: <${Visible} text=${tool.claims}
      /></p>`}
    <p class="quiet">Tier ${tool.tier}, cost ${tool.cost}. <a
      href=${`/console/commands/${tool.command.split("/").map(part).join("/")}`}>Try it</a></p>
    <${Code} value=${tool.schema} label=${`Schema of ${tool.command}`} />
  </details>`;
}

/** What changed is shown with a mark, and only that is approved: not what came a moment later. */
function Approve({ id, onClose, onDone }) {
  const shown = useLoad(async () => (await run("mcp/approve", { server: id }, { dryRun: true })).result, [id]);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const effect = shown.data?.effect;
  const approve = async () => {
    setBusy(true);
    try {
      await run("mcp/approve", { server: id, mark: effect.mark });
      toast("Approved.");
      onDone();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  const actions = html`${effect?.tools?.length > 0 && html`<${Button} kind="primary" busy=${busy}
      onClick=${approve}>Approve ${effect.tools.length === 1 ? "this" : `all ${effect.tools.length}`}</${Button}>`}
    <${Button} onClick=${onClose}>Leave it</${Button}>`;
  return html`<${Dialog} title=${`What changed in ${id}`} wide onClose=${onClose} actions=${actions}>
    <${Loaded} from=${shown}>
      ${() => html`${effect?.wouldFail && html`<p><${Visible} text=${effect.wouldFail} /></p>`}
        ${shown.data.decision === "refused" && html`<p><${Visible} text=${shown.data.reason} /></p>`}
        ${(effect?.tools ?? []).map(
          (one) => html`<section key=${one.tool}>
            <h3><code><${Visible} text=${one.command} /></code> is ${one.why}</h3>
            ${one.warnings.map((words) => html`<p class="field-error" key=${words}><${Visible} text=${words} /></p>`)}
            <${Diff} text=${one.difference} label="Its definition" />
            ${one.withheld && html`<p class="quiet">Nobody may run it even then: <${Visible} text=${one.withheld}
              /></p>`}
          </section>`,
        )}`}
    </${Loaded}>
    <${ErrorBox} problem=${problem} />
  </${Dialog}>`;
}

function Log({ id }) {
  const [open, setOpen] = useState(false);
  return html`<details class="elsewhere" onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>What it wrote</summary>
    ${open && html`<${LogLines} id=${id} />`}
  </details>`;
}

function LogLines({ id }) {
  const lines = useLoad(async () => (await run("mcp/logs", { server: id, lines: 200 })).result.items, [id]);
  return html`<${Loaded} from=${lines}>${(items) => (items.length
    ? html`<${Code} label="Log">${items.join("\n")}</${Code}>`
      : html`<p class="quiet">Nothing so far.</p>`)}</${Loaded}>
    <${Button} kind="quiet small" onClick=${lines.reload}>Look again</${Button}>`;
}
