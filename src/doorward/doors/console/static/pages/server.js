// @ts-check
// One upstream MCP server: its state, its tools and their changes, and its log.

import { encode, run } from "../lib/api.js";
import { formatDuration } from "../lib/format.js";
import { loadStylesheet } from "../lib/stylesheet.js";
import { Diff } from "../parts/diff.js";
import { Permitted } from "../parts/permission.js";
import { ChangeNotice, ServerState } from "../parts/server-status.js";
import { Badge, Button, Code, Confirm, Dialog, Empty, ErrorBox, html, Loaded, Page, SafeText, showToast, Time, useLoad, useState } from "../parts/ui.js";

await loadStylesheet("work.css");

/** @param {{server: any, onChanged: (text: string, call: string) => void, change: any, reload: () => void, navigate: Navigate}} props */
export default function ServerPage({ server, onChanged, change, reload, navigate }) {
  const [dialog, setDialog] = useState("");
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [busy, setBusy] = useState("");
  const tools = useLoad(
    async () => (await run("mcp/tools", { server: server.id, limit: 500 })).result,
    [server.id, server.tools, server.changed, server.new],
  );
  const act = async (/** @type {string} */ command, /** @type {Record<string, string>} */ params, /** @type {string} */ text, canUndo = true) => {
    setBusy(command);
    setProblem(null);
    try {
      const outcome = await run(command, params);
      onChanged(text, canUndo && outcome.result.changed !== false ? outcome.call : "");
    } catch (error) {
      setProblem(error);
    }
    setBusy("");
  };
  const remove = async () => {
    const outcome = await run("mcp/remove", { id: server.id });
    onChanged(`${server.name} was removed.`, outcome.call);
    navigate("/console/servers");
  };
  const restart = () => act("mcp/restart", { server: server.id }, `${server.name} was restarted.`, false);
  const disable = () => act("mcp/disable", { id: server.id }, `${server.name} was disabled.`);
  const enable = () => act("mcp/enable", { id: server.id }, `${server.name} was enabled.`);
  const actions = html`<a class="button" href="/console/servers">All servers</a>
    <${Permitted} command="mcp/remove" action="Change this server">${server.enabled
      ? html`<${Button} busy=${busy === "mcp/restart"} onClick=${restart}>Restart</${Button}><${Button} busy=${busy === "mcp/disable"} onClick=${disable}>Disable</${Button}>`
      : html`<${Button} kind="primary" busy=${busy === "mcp/enable"} onClick=${enable}>Enable</${Button}>`}
    <${Button} kind="danger" onClick=${() => setDialog("remove")}>Remove…</${Button}></${Permitted}>`;
  return html`<${Page} title=${server.name} actions=${actions}>
    <${ChangeNotice} change=${change} onUndone=${reload} />
    <${ErrorBox} problem=${problem} />
    <p class="bits">
      <${ServerState} state=${server.state} />
      ${server.since && html`<span>since <${Time} at=${server.since} /></span>`}
      ${server.retrySeconds !== null && html`<span>retry in ${Math.ceil(server.retrySeconds)} s</span>`}
    </p>
    ${server.problem && html`<div class="error-box" role="alert"><p><${SafeText} text=${server.problem} /></p></div>`}
    ${server.changed + server.new > 0 &&
    html`<div class="card approval pending">
      <p><strong>${describeToolChanges(server)}</strong></p>
      <${Permitted} command="mcp/approve" action="Approve the tools"><${Button} kind="primary" onClick=${() => setDialog("approve")}>Review changes…</${Button}></${Permitted}>
    </div>`}
    <dl class="facts">
      <dt>Id</dt><dd><code>${server.id}</code></dd>
      <dt>Self-description</dt><dd><${SafeText} text=${server.itself || "none yet"} /></dd>
      <dt>Transport</dt><dd>${server.transport}${server.protocolVersion && `, MCP ${server.protocolVersion}`}</dd>
      <dt>Calls</dt><dd>${server.calls}, ${server.failures} failed; ${server.restarts} ${server.restarts === 1 ? "restart" : "restarts"}</dd>
      <dt>Response time</dt><dd>${server.p50Ms === null ? "unknown" : `${formatDuration(server.p50Ms / 1000)} median, ${formatDuration(server.p99Ms / 1000)} 99th percentile`}</dd>
      <dt>Memory</dt><dd>${server.memoryMb} MB</dd>
      <dt>Last error</dt><dd>${server.lastError ? html`<${SafeText} text=${server.lastError} /> (<${Time} at=${server.lastErrorAt} />)` : "none"}</dd>
    </dl>
    ${server.remarks.map((one) => html`<p class="quiet" key=${one}><${SafeText} text=${one} /></p>`)}
    <section aria-labelledby="tools-title">
      <h2 id="tools-title">Tools</h2>
      <${Loaded} from=${tools}>
        ${({ items, problems }) => html`${problems.map((one) => html`<p class="quiet" key=${one}><${SafeText} text=${one} /></p>`)}
          ${items.map((one) => html`<${Tool} key=${one.command} tool=${one} />`)}
          ${!items.length && html`<${Empty} title="No tools" />`}`}
      </${Loaded}>
    </section>
    <${ServerLog} id=${server.id} />
    ${dialog === "remove" &&
    html`<${Confirm} title=${`Remove ${server.name}?`} action="Remove" onConfirm=${remove} onClose=${() => setDialog("")}>
      <p>The server stops and its tools disappear. This can be undone until the servers file changes again.</p>
    </${Confirm}>`}
    ${dialog === "approve" &&
    html`<${ApproveToolsDialog} id=${server.id} onClose=${() => setDialog("")}
      onDone=${() => {
        setDialog("");
        reload();
        tools.reload();
      }} />`}
  </${Page}>`;
}

/** @param {{changed: number, new: number}} server */
function describeToolChanges({ changed, new: added }) {
  const plural = (/** @type {number} */ count, /** @type {string} */ one, /** @type {string} */ many) => (count === 1 ? one : many);
  return [
    changed && `${changed} ${plural(changed, "tool has", "tools have")} changed since approval and cannot run.`,
    added && `${added} new ${plural(added, "tool needs", "tools need")} approval for each call.`,
  ]
    .filter(Boolean)
    .join(" ");
}

function Tool({ tool }) {
  return html`<details class="card tool">
    <summary>
      <code><${SafeText} text=${tool.command} /></code>
      ${tool.changed && html` <${Badge} tone="bad">changed</${Badge}>`}${tool.new && html` <${Badge} tone="warn">new</${Badge}>`}
      ${tool.warnings.length > 0 && html` <${Badge} tone="bad">suspicious</${Badge}>`}
      ${tool.approval ? html` <${Badge}>needs approval</${Badge}>` : html` <${Badge} tone="good">no approval needed</${Badge}>`}
    </summary>
    <p><${SafeText} text=${tool.summary} lines /></p>
    ${tool.withheld && html`<p class="field-error"><${SafeText} text=${tool.withheld} /></p>`}
    ${tool.warnings.map((one) => html`<p class="field-error" key=${one}><${SafeText} text=${one} /></p>`)}
    ${tool.difference && html`<${Diff} text=${tool.difference} label="Changes to its definition" />`}
    ${tool.claims && html`<p class="quiet">Claimed by its server, not verified: <${SafeText} text=${tool.claims} /></p>`}
    <p class="quiet">Tier ${tool.tier}, cost ${tool.cost}. <a href=${`/console/commands/${tool.command.split("/").map(encode).join("/")}`}>Run it</a></p>
    <${Code} value=${tool.schema} label=${`Schema of ${tool.command}`} />
  </details>`;
}

/** Shows the changes of tools and approves exactly these: a later change is not covered. */
function ApproveToolsDialog({ id, onClose, onDone }) {
  const from = useLoad(async () => (await run("mcp/approve", { server: id }, { dryRun: true })).result, [id]);
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [busy, setBusy] = useState(false);
  const effect = from.data?.effect;
  const tools = effect?.tools ?? [];
  const approve = async () => {
    setBusy(true);
    try {
      await run("mcp/approve", { server: id, mark: effect.mark });
      showToast("Approved.");
      onDone();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  const actions = html`${tools.length > 0 && html`<${Button} kind="primary" busy=${busy} onClick=${approve}>${tools.length === 1 ? "Approve" : `Approve all ${tools.length}`}</${Button}>`}
    <${Button} onClick=${onClose}>Cancel</${Button}>`;
  return html`<${Dialog} title=${`Changes in ${id}`} wide onClose=${onClose} actions=${actions}>
    <${Loaded} from=${from}>
      ${(data) => html`${effect?.wouldFail && html`<p><${SafeText} text=${effect.wouldFail} /></p>`}
        ${data.decision === "refused" && html`<p><${SafeText} text=${data.reason} /></p>`}
        ${tools.map(
          (one) => html`<section key=${one.tool}>
            <h3><code><${SafeText} text=${one.command} /></code> is ${one.why}</h3>
            ${one.warnings.map((text) => html`<p class="field-error" key=${text}><${SafeText} text=${text} /></p>`)}
            <${Diff} text=${one.difference} label="Definition" />
            ${one.withheld && html`<p class="quiet">It cannot run even when approved: <${SafeText} text=${one.withheld} /></p>`}
          </section>`,
        )}`}
    </${Loaded}>
    <${ErrorBox} problem=${problem} />
  </${Dialog}>`;
}

function ServerLog({ id }) {
  const [open, setOpen] = useState(false);
  return html`<details class="elsewhere" onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>Log</summary>
    ${open && html`<${LogLines} id=${id} />`}
  </details>`;
}

function LogLines({ id }) {
  const lines = useLoad(async () => (await run("mcp/logs", { server: id, lines: 200 })).result.items, [id]);
  return html`<${Loaded} from=${lines}>${(items) =>
      items.length ? html`<${Code} label="Log">${items.join("\n")}</${Code}>` : html`<p class="quiet">The log is empty.</p>`}</${Loaded}>
    <${Button} kind="quiet small" onClick=${lines.reload}>Refresh</${Button}>`;
}
