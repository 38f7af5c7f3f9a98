// Adding servers: by a form, or by pasting what another client has. What each may reach is shown before anything is added.

import { get, run } from "./api.js";
import { SchemaForm, useForm } from "./schemaform.js";
import { Button, Code, Dialog, ErrorBox, Field, html, Loaded, useLoad, useState, Visible } from "./ui.js";

export function AddServer({ onClose, onAdded }) {
  const [way, setWay] = useState("form");
  return html`<${Dialog} title="Add a server" wide onClose=${onClose}>
    <div class="bits" role="group" aria-label="How">
      <${Button} kind=${way === "form" ? "primary small" : "small"} aria-pressed=${way === "form" ? "true" : "false"}
        onClick=${() => setWay("form")}>By a form</${Button}>
      <${Button} kind=${way === "paste" ? "primary small" : "small"} aria-pressed=${way === "paste" ? "true" : "false"}
        onClick=${() => setWay("paste")}>Paste JSON</${Button}>
    </div>
    ${way === "form" ? html`<${ByForm} onClose=${onClose} onAdded=${onAdded} />` : html`<${ByPaste} onClose=${onClose}
      onAdded=${onAdded} />`}
  </${Dialog}>`;
}

function ByForm(props) {
  const described = useLoad(() => get("/commands/mcp/add"), []);
  return html`<${Loaded} from=${described}>${(command) => html`<${FormOf} command=${command} ...${props}
    />`}</${Loaded}>`;
}

function FormOf({ command, onClose, onAdded }) {
  const form = useForm(command.schema, command.secret ?? []);
  const [problem, setProblem] = useState(null);
  const [plan, setPlan] = useState(null);
  const [busy, setBusy] = useState(false);
  const ask = async (dryRun) => {
    const params = form.read();
    if (!params) return;
    setBusy(true);
    setProblem(null);
    try {
      const outcome = await run("mcp/add", params, { dryRun });
      if (dryRun) {
        const { decision, reason, effect } = outcome.result;
        if (decision === "refused") setProblem({ title: "You may not add servers", detail: reason });
        else if (effect.wouldFail) setProblem({ title: "This cannot be added", detail: effect.wouldFail });
        else setPlan(effect);
      } else {
        onAdded(`The server ${params.id} was added.`, outcome.call);
        onClose();
      }
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  const submit = (event) => {
    event.preventDefault();
    ask(true);
  };
  return html`<form onSubmit=${submit}>
    <${SchemaForm} form=${form} id="add" />
    <${ErrorBox} problem=${problem} />
    ${plan && html`<p class="label">This would be added</p><${Code} value=${plan.entry} label="Entry" /><${Notes}
      notes=${plan.notes} />`}
    <div class="actions start">
      <${Button} type="submit" busy=${busy}>See what it would be</${Button}>
      ${plan && html`<${Button} kind="primary" busy=${busy} onClick=${() => ask(false)}>Add it</${Button}>`}
    </div>
  </form>`;
}

const SAMPLE = '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}';

function ByPaste({ onClose, onAdded }) {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState("");
  const [problem, setProblem] = useState(null);
  const [plan, setPlan] = useState(null);
  const [busy, setBusy] = useState(false);
  const ask = async (dryRun) => {
    const servers = serversIn(text, setWrong);
    if (!servers) return;
    setBusy(true);
    setProblem(null);
    const sources = [{ file: "pasted in the console", client: "", servers }];
    try {
      const outcome = await run("mcp/import", { sources }, { dryRun });
      if (dryRun) {
        const { decision, reason, effect } = outcome.result;
        if (decision === "refused") setProblem({ title: "You may not add servers", detail: reason });
        else if (effect.wouldFail) setProblem({ title: "This cannot be added", detail: effect.wouldFail });
        else setPlan(effect);
      } else {
        onAdded(`Added: ${outcome.result.items.map((one) => one.id).join(", ") || "nothing"}.`,
          outcome.result.items.length ? outcome.call : "");
        onClose();
      }
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  const submit = (event) => {
    event.preventDefault();
    ask(true);
  };
  const typed = (event) => {
    setText(event.target.value);
    setPlan(null);
  };
  return html`<form onSubmit=${submit}>
    <${Field} label="What another client has" type="textarea" rows=${8} class="mono" value=${text} onInput=${typed}
      placeholder=${SAMPLE} error=${wrong} spellcheck=${false}
      hint="A whole file of a client, or only its servers. Secrets in it go into no record." />
    <${ErrorBox} problem=${problem} />
    ${plan && html`<${Plan} plan=${plan} />`}
    <div class="actions start">
      <${Button} type="submit" busy=${busy}>See what it would be</${Button}>
      ${plan?.items.length > 0 && html`<${Button} kind="primary" busy=${busy}
        onClick=${() => ask(false)}>Add ${plan.items.length === 1 ? "it" : `all ${plan.items.length}`}</${Button}>`}
    </div>
  </form>`;
}

/** The servers in a text, by whatever name clients keep them under; null when there are none. */
function serversIn(text, setWrong) {
  let given;
  try {
    given = JSON.parse(text);
  } catch (error) {
    setWrong(`This is no JSON: ${error.message}.`);
    return null;
  }
  const found = given?.mcpServers ?? given?.servers ?? given?.mcp?.servers ?? given;
  const single = found && typeof found === "object" && (typeof found.command === "string" ||
    typeof found.url === "string");
  const named = single ? { [found.id ?? found.name ?? "server"]: found } : Array.isArray(found)
    ? Object.fromEntries(found.map((one, at) => [one?.id ?? one?.name ?? `server-${at + 1}`, one])) : found;
  const good = named && typeof named === "object" && Object.keys(named).length &&
    Object.values(named).every((one) => one && typeof one === "object" && !Array.isArray(one));
  setWrong(good ? "" : `Write an object with servers by their names, such as ${SAMPLE}.`);
  return good ? named : null;
}

function Plan({ plan }) {
  return html`${plan.items.map(
      (one) => html`<div class="card" key=${one.id}>
        <p class="bits"><strong><${Visible} text=${one.id} /></strong><span class="quiet">${one.network
          ? "may use the network" : "no network"}</span></p>
        <${Code} value=${one.entry} label=${`Entry of ${one.id}`} />
        ${one.reads.length > 0 && html`<p>May read: <code><${Visible} text=${one.reads.join(", ")} /></code></p>`}
        ${one.writes.length > 0 && html`<p>May change: <code><${Visible} text=${one.writes.join(", ")} /></code></p>`}
        ${one.variables.length > 0 && html`<p>Is given the variables: <code><${Visible} text=${one.variables.join(", ")}
          /></code></p>`}
        <${Notes} notes=${one.notes} />
      </div>`,
    )}
    ${plan.skipped.map((one) => html`<p key=${one.name}><strong><${Visible} text=${one.name}
      /></strong> is left out: <${Visible} text=${one.why} />.</p>`)}`;
}

const Notes = ({ notes }) => notes?.length > 0 && html`<ul>${notes.map((one) => html`<li key=${one}><${Visible}
  text=${one} /></li>`)}</ul>`;
