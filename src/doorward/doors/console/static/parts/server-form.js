// @ts-check
// Adding MCP servers with a form, or by pasting the configuration of another client. The access of each server is shown
// before it is added.

import { get, run } from "../lib/api.js";
import { SchemaForm, useForm } from "./schema-form.js";
import { Button, Code, Dialog, ErrorBox, Field, html, Loaded, SafeText, useLoad, useState } from "./ui.js";

export function AddServerDialog({ onClose, onAdded }) {
  const [mode, setMode] = useState("form");
  const tab = (/** @type {string} */ name, /** @type {string} */ label) =>
    html`<${Button} kind=${mode === name ? "primary small" : "small"} aria-pressed=${mode === name ? "true" : "false"}
      onClick=${() => setMode(name)}>${label}</${Button}>`;
  return html`<${Dialog} title="Add a server" wide onClose=${onClose}>
    <div class="bits" role="group" aria-label="Method">${tab("form", "Form")} ${tab("paste", "Paste JSON")}</div>
    ${mode === "form"
      ? html`<${ServerForm} onClose=${onClose} onAdded=${onAdded} />`
      : html`<${PasteForm} onClose=${onClose} onAdded=${onAdded} />`}
  </${Dialog}>`;
}

/**
 * Preview and run a command that adds servers. `add(false)` runs it.
 *
 * @param {string} command
 * @param {() => Record<string, any> | null} readParams
 * @param {(params: Record<string, any>, outcome: any) => void} onDone
 */
function useAddition(command, readParams, onDone) {
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [plan, setPlan] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const send = async (/** @type {boolean} */ dryRun) => {
    const params = readParams();
    if (!params) return;
    setBusy(true);
    setProblem(null);
    try {
      const outcome = await run(command, params, { dryRun });
      if (dryRun) {
        const { decision, reason, effect } = outcome.result;
        if (decision === "refused") setProblem({ title: "You may not add servers", detail: reason });
        else if (effect.wouldFail) setProblem({ title: "The server cannot be added", detail: effect.wouldFail });
        else setPlan(effect);
      } else {
        onDone(params, outcome);
      }
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  const onSubmit = (event) => {
    event.preventDefault();
    send(true);
  };
  return { problem, plan, busy, onSubmit, add: () => send(false), clearPlan: () => setPlan(null) };
}

function ServerForm(props) {
  const described = useLoad(() => get("/commands/mcp/add"), []);
  return html`<${Loaded} from=${described}>${(command) => html`<${ServerFields} command=${command} ...${props} />`}</${Loaded}>`;
}

function ServerFields({ command, onClose, onAdded }) {
  const form = useForm(command.schema, command.secret ?? []);
  const addition = useAddition("mcp/add", form.read, (params, outcome) => {
    onAdded(`The server ${params.id} was added.`, outcome.call);
    onClose();
  });
  const { plan, busy } = addition;
  return html`<form onSubmit=${addition.onSubmit}>
    <${SchemaForm} form=${form} id="add" />
    <${ErrorBox} problem=${addition.problem} />
    ${plan && html`<p class="label">New entry</p><${Code} value=${plan.entry} label="New entry" /><${Notes} notes=${plan.notes} />`}
    <div class="actions start">
      <${Button} type="submit" busy=${busy}>Preview</${Button}>
      ${plan && html`<${Button} kind="primary" busy=${busy} onClick=${addition.add}>Add</${Button}>`}
    </div>
  </form>`;
}

const SAMPLE = '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}';

function PasteForm({ onClose, onAdded }) {
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  const readParams = () => {
    const servers = parseServers(text, setError);
    return servers && { sources: [{ file: "pasted in the console", client: "", servers }] };
  };
  const addition = useAddition("mcp/import", readParams, (_, { result, call }) => {
    onAdded(`Added: ${result.items.map((one) => one.id).join(", ") || "nothing"}.`, result.items.length ? call : "");
    onClose();
  });
  const { plan, busy } = addition;
  const onInput = (event) => {
    setText(event.target.value);
    addition.clearPlan();
  };
  return html`<form onSubmit=${addition.onSubmit}>
    <${Field} label="Configuration" type="textarea" rows=${8} class="mono" value=${text} onInput=${onInput}
      placeholder=${SAMPLE} error=${error} spellcheck=${false}
      hint="The configuration file of another client, or only its servers. Secrets are not recorded." />
    <${ErrorBox} problem=${addition.problem} />
    ${plan && html`<${ImportPlan} plan=${plan} />`}
    <div class="actions start">
      <${Button} type="submit" busy=${busy}>Preview</${Button}>
      ${plan?.items.length > 0 &&
      html`<${Button} kind="primary" busy=${busy} onClick=${addition.add}>${plan.items.length === 1 ? "Add" : `Add all ${plan.items.length}`}</${Button}>`}
    </div>
  </form>`;
}

/**
 * The servers in a configuration, whatever key the client uses; null when there are none.
 *
 * @param {string} text
 * @param {(sentence: string) => void} setError
 */
function parseServers(text, setError) {
  let given;
  try {
    given = JSON.parse(text);
  } catch (error) {
    setError(`Invalid JSON: ${error.message}.`);
    return null;
  }
  const found = given?.mcpServers ?? given?.servers ?? given?.mcp?.servers ?? given;
  const single = found && typeof found === "object" && (typeof found.command === "string" || typeof found.url === "string");
  const named = single
    ? { [found.id ?? found.name ?? "server"]: found }
    : Array.isArray(found)
      ? Object.fromEntries(found.map((one, at) => [one?.id ?? one?.name ?? `server-${at + 1}`, one]))
      : found;
  const valid =
    named &&
    typeof named === "object" &&
    Object.keys(named).length &&
    Object.values(named).every((one) => one && typeof one === "object" && !Array.isArray(one));
  setError(valid ? "" : `Enter an object that names servers, such as ${SAMPLE}.`);
  return valid ? named : null;
}

function ImportPlan({ plan }) {
  const list = (label, items) => items.length > 0 && html`<p>${label}: <code><${SafeText} text=${items.join(", ")} /></code></p>`;
  return html`${plan.items.map(
      (one) => html`<div class="card" key=${one.id}>
        <p class="bits"><strong><${SafeText} text=${one.id} /></strong><span class="quiet">${one.network ? "network access" : "no network access"}</span></p>
        <${Code} value=${one.entry} label=${`Entry of ${one.id}`} />
        ${list("Can read", one.reads)} ${list("Can change", one.writes)} ${list("Environment variables", one.variables)}
        <${Notes} notes=${one.notes} />
      </div>`,
    )}
    ${plan.skipped.map((one) => html`<p key=${one.name}><strong><${SafeText} text=${one.name} /></strong> is skipped: <${SafeText} text=${one.why} />.</p>`)}`;
}

const Notes = ({ notes }) =>
  notes?.length > 0 && html`<ul>${notes.map((one) => html`<li key=${one}><${SafeText} text=${one} /></li>`)}</ul>`;
