// Upstream MCP servers: how each is doing, what it offers, and the people's hand on all of it.

import { Offered } from "../allowed.js";
import { part, run, session } from "../api.js";
import { onEvent, onMissed } from "../live.js";
import { AddServer } from "../serveradding.js";
import { Done, TONES } from "../serverstate.js";
import {
  Badge,
  Button,
  Empty,
  ErrorBox,
  html,
  Loading,
  Page,
  Table,
  Time,
  useCallback,
  useEffect,
  useRef,
  useState,
  Visible,
} from "../ui.js";
import OneServer from "./server.js";
import { sheet } from "../sheet.js";

await sheet("work.css");

export default function Servers({ params, navigate }) {
  const [facts, setFacts] = useState(null);
  const [problem, setProblem] = useState(null);
  const [adding, setAdding] = useState(false);
  const [done, setDone] = useState(null);
  const timer = useRef(0);
  const load = useCallback(async () => {
    try {
      setFacts((await run("mcp/servers")).result);
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
  }, []);
  useEffect(() => {
    load();
    const soon = () => {
      clearTimeout(timer.current);
      timer.current = setTimeout(load, 200);
    };
    const leave = [onEvent("servers:", soon), onEvent("upstream:", soon), onMissed(soon)];
    return () => {
      clearTimeout(timer.current);
      leave.forEach((one) => one());
    };
  }, [load]);
  // How often it was called, and what memory it takes, is in no event.
  useEffect(() => {
    const watch = setInterval(() => document.visibilityState === "visible" && load(), 30_000);
    return () => clearInterval(watch);
  }, [load]);

  const changed = (words, call) => {
    setDone({ words, call });
    load();
  };
  const one = params.id && facts?.items.find((item) => item.id === params.id);
  if (params.id && facts && one) return html`<${OneServer} server=${one} onChanged=${changed} done=${done}
    reload=${load} navigate=${navigate} />`;
  const actions = html`<${Offered} command="mcp/add" what="To add a server"><${Button} kind="primary" onClick=${() => setAdding(true)}>Add a server…</${Button}></${Offered}>`;
  return html`<${Page} title="Servers" actions=${actions}>
    ${params.id && facts && html`<p class="note">There is no server <${Visible} text=${params.id} /> any more.</p>`}
    <${Done} done=${done} onUndone=${load} />
    <${ErrorBox} problem=${problem} onRetry=${load} />
    ${!facts && !problem && html`<${Loading} />`}
    ${facts?.problem && html`<div class="error-box"
      role="alert"><p><strong>The file of servers is not valid.</strong> <${Visible} text=${facts.problem}
        /></p></div>`}
    ${facts &&
    html`<${Table}
        caption="Upstream MCP servers"
        columns=${COLUMNS}
        rows=${facts.items}
        onOpen=${(row) => navigate(`/console/servers/${part(row.id)}`)}
        empty=${html`<${Empty} title="No server is connected">
          <p>
            Doorward can stand in front of other MCP servers: their tools then pass the same gate, and each call is
            recorded.
          </p>
        </${Empty}>`}
      />
      ${facts.elsewhere.length > 0 && html`<section aria-labelledby="elsewhere-title"><h2
        id="elsewhere-title">Found in other clients</h2>
        <ul>${facts.elsewhere.map((item) => html`<li key=${item.file + item.name}><strong><${Visible} text=${item.name}
          /></strong> of ${item.client} in <code><${Visible} text=${item.file} /></code></li>`)}</ul>
        <p class="quiet">Take them over in the terminal: <code>doorward servers import</code></p></section>`}
      <p class="quiet">They are written down in <code><${Visible} text=${facts.file}
        /></code>, ${session.value.access === "root" ? "which you can also edit by hand" : "on the machine that runs Doorward"}.</p>`}
    ${adding && html`<${AddServer} onClose=${() => setAdding(false)} onAdded=${changed} />`}
  </${Page}>`;
}

const COLUMNS = [
  { key: "id", title: "Server", render: (row) => html`<a href=${`/console/servers/${part(row.id)}`}><${Visible}
    text=${row.name} /></a>` },
  { key: "state", title: "State", render: (row) => html`<${Badge}
    tone=${TONES[row.state] ?? "calm"}>${row.state}</${Badge}>` },
  { key: "since", title: "Since", render: (row) => html`<${Time} at=${row.since} />` },
  { key: "tools", title: "Tools", render: (row) => html`${row.tools}<${Marks} of=${row} />`, class: "number" },
  { key: "calls", title: "Calls", render: (row) => `${row.calls}${row.failures ? `, ${row.failures} failed` : ""}`,
    class: "number" },
  { key: "problem", title: "Problem", render: (row) => (row.problem ? html`<span class="field-error"><${Visible}
    text=${row.problem} /></span>` : html`<span class="quiet">none</span>`) },
];

const Marks = ({ of }) => html`${of.changed > 0 &&
  html` <${Badge} tone="bad">${of.changed} changed</${Badge}>`}${of.new > 0 &&
    html` <${Badge} tone="warn">${of.new} new</${Badge}>`}${of.warnings > 0 &&
      html` <${Badge} tone="bad">${of.warnings} suspicious</${Badge}>`}`;
