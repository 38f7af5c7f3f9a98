// @ts-check
// Upstream MCP servers: their state and tools, and adding new ones.

import { encode, run, session } from "../lib/api.js";
import { loadStylesheet } from "../lib/stylesheet.js";
import { Permitted } from "../parts/permission.js";
import { AddServerDialog } from "../parts/server-form.js";
import { ChangeNotice, ServerState } from "../parts/server-status.js";
import { Badge, Button, Empty, ErrorBox, html, Loading, Page, SafeText, Table, Time, useEffect, useLive, useState } from "../parts/ui.js";
import ServerPage from "./server.js";

await loadStylesheet("work.css");

const REFRESH_INTERVAL = 30_000;

/** @param {PageProps} props */
export default function ServersPage({ params, navigate }) {
  const from = useLive(async () => (await run("mcp/servers")).result, { "servers:": true, "upstream:": true });
  const [adding, setAdding] = useState(false);
  const [change, setChange] = useState(/** @type {{text: string, call: string} | null} */ (null));
  // No event reports call counts and memory.
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && from.reload(), REFRESH_INTERVAL);
    return () => clearInterval(timer);
  }, [from.reload]);

  const onChanged = (/** @type {string} */ text, /** @type {string} */ call) => {
    setChange({ text, call });
    from.reload();
  };
  const facts = from.data;
  const server = params.id && facts?.items.find((item) => item.id === params.id);
  if (server) return html`<${ServerPage} server=${server} onChanged=${onChanged} change=${change} reload=${from.reload} navigate=${navigate} />`;
  const actions = html`<${Permitted} command="mcp/add" action="Add a server"><${Button} kind="primary" onClick=${() => setAdding(true)}>Add server…</${Button}></${Permitted}>`;
  return html`<${Page} title="Servers" actions=${actions}>
    ${params.id && facts && html`<p class="note">The server <${SafeText} text=${params.id} /> does not exist.</p>`}
    <${ChangeNotice} change=${change} onUndone=${from.reload} />
    <${ErrorBox} problem=${from.problem} onRetry=${from.reload} />
    ${!facts && !from.problem && html`<${Loading} />`}
    ${facts?.problem &&
    html`<div class="error-box" role="alert"><p><strong>The servers file is not valid.</strong> <${SafeText} text=${facts.problem} /></p></div>`}
    ${facts &&
    html`<${Table}
        caption="Upstream MCP servers"
        columns=${COLUMNS}
        rows=${facts.items}
        onOpen=${(row) => navigate(`/console/servers/${encode(row.id)}`)}
        empty=${html`<${Empty} title="No servers">
          <p>Doorward can govern other MCP servers: calls of their tools pass the same gate and are recorded.</p>
        </${Empty}>`}
      />
      ${facts.elsewhere.length > 0 &&
      html`<section aria-labelledby="elsewhere-title"><h2 id="elsewhere-title">Found in other clients</h2>
        <ul>${facts.elsewhere.map(
          (item) => html`<li key=${item.file + item.name}><strong><${SafeText} text=${item.name} /></strong> from ${item.client}, in <code><${SafeText} text=${item.file} /></code></li>`,
        )}</ul>
        <p class="quiet">Import them in the terminal: <code>doorward servers import</code></p></section>`}
      <p class="quiet">The servers are configured in <code><${SafeText} text=${facts.file} /></code>${session.value?.access === "root"
        ? ", which you can also edit."
        : " on the machine that runs Doorward."}</p>`}
    ${adding && html`<${AddServerDialog} onClose=${() => setAdding(false)} onAdded=${onChanged} />`}
  </${Page}>`;
}

/** @type {Column[]} */
const COLUMNS = [
  { key: "id", title: "Server", render: (row) => html`<a href=${`/console/servers/${encode(row.id)}`}><${SafeText} text=${row.name} /></a>` },
  { key: "state", title: "State", render: (row) => html`<${ServerState} state=${row.state} />` },
  { key: "since", title: "Since", render: (row) => html`<${Time} at=${row.since} />` },
  { key: "tools", title: "Tools", render: (row) => html`${row.tools}<${ToolBadges} of=${row} />`, class: "number" },
  { key: "calls", title: "Calls", render: (row) => `${row.calls}${row.failures ? `, ${row.failures} failed` : ""}`, class: "number" },
  {
    key: "problem",
    title: "Problem",
    render: (row) => (row.problem ? html`<span class="field-error"><${SafeText} text=${row.problem} /></span>` : html`<span class="quiet">none</span>`),
  },
];

const ToolBadges = ({ of }) => html`${of.changed > 0 && html` <${Badge} tone="bad">${of.changed} changed</${Badge}>`}${of.new > 0 && html` <${Badge} tone="warn">${of.new} new</${Badge}>`}${of.warnings > 0 && html` <${Badge} tone="bad">${of.warnings} suspicious</${Badge}>`}`;
