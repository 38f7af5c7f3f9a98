// @ts-check
// The long-running programs of the user's rooms: their ports and their output, with a button that stops each.

import { encode, run } from "../lib/api.js";
import { formatDuration } from "../lib/format.js";
import { announce, Button, Confirm, ErrorBox, html, SafeText, useEffect, useLive, useState } from "./ui.js";

const LOG_LINES = 200;
const LOG_PAUSE = 2000;

/** A section that lists running processes; nothing while none runs. */
export function Processes() {
  const [stopping, setStopping] = useState(/** @type {RoomProcess | null} */ (null));
  /** @type {Loadable<RoomProcess[]>} */
  const from = useLive(async () => (await run("process/list", { running: true })).result.items, {
    "execution:ended": true,
  });
  if (!from.data?.length) return html`<${ErrorBox} problem=${from.problem} onRetry=${from.reload} />`;
  const stop = async () => {
    if (!stopping) return;
    await run("process/stop", { id: stopping.id });
    announce(`${stopping.name} was stopped`);
    from.reload();
  };
  return html`<section aria-labelledby="processes-title">
    <h2 id="processes-title">Processes (${from.data.length})</h2>
    <div data-list>
      ${from.data.map((one) => html`<${ProcessCard} key=${one.id} process=${one} onStop=${() => setStopping(one)} />`)}
    </div>
    ${stopping &&
    html`<${Confirm} title=${`Stop ${stopping.name}?`} action="Stop process" dismiss="Keep running" onConfirm=${stop} onClose=${() => setStopping(null)}>
      <p>It is asked to end, and ended after 3 seconds, with every process it started. What it wrote to the workspace stays.</p>
    </${Confirm}>`}
  </section>`;
}

/** @param {{process: RoomProcess, onStop: () => void}} props */
function ProcessCard({ process, onStop }) {
  const [open, setOpen] = useState(false);
  const [link, setLink] = useState("");
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const ports = process.ports ?? [];
  const makeLink = async (/** @type {number} */ port) => {
    try {
      setLink((await run("process/open", { id: process.id, port })).result.url);
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
  };
  return html`<article class="card" aria-label=${`${process.name}, running`}>
    <header class="card-head">
      <h3><${SafeText} text=${process.name} /></h3>
      <span class="number">${formatDuration(process.seconds)}</span>
    </header>
    <p><code><${SafeText} text=${process.command} /></code></p>
    <p class="bits">
      <span>by <strong><${SafeText} text=${process.caller} /></strong></span>
      <span>in <a href=${`/console/rooms/${encode(process.room)}`}><${SafeText} text=${process.room} /></a></span>
      ${ports.length > 0 && html`<span>listens on ${ports.length > 1 ? "ports" : "port"} ${ports.join(", ")}</span>`}
    </p>
    ${open && html`<${ProcessLogs} id=${process.id} />`}
    <${ErrorBox} problem=${problem} />
    ${link && html`<p><a href=${link} target="_blank" rel="noreferrer" onClick=${() => setLink("")}>Open it in a new tab</a> (this link works once, within a minute)</p>`}
    <div class="actions start">
      ${ports.map((port) => html`<${Button} key=${port} onClick=${() => makeLink(port)}>Open port ${port}…</${Button}>`)}
      <${Button} aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>${open ? "Hide output" : "Show output"}</${Button}>
      <${Button} kind="danger" onClick=${onStop}>Stop…</${Button}>
    </div>
  </article>`;
}

/** The last lines of a process's output, fetched again every two seconds. */
function ProcessLogs(/** @type {{id: string}} */ { id }) {
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  useEffect(() => {
    let timer = 0;
    let closed = false;
    const load = async () => {
      try {
        const { text: found, state } = (await run("process/logs", { id, tail: LOG_LINES })).result;
        if (closed) return;
        setText(found);
        setProblem(null);
        if (state === "running") timer = setTimeout(load, LOG_PAUSE);
      } catch (error) {
        if (!closed) setProblem(error);
      }
    };
    load();
    return () => {
      closed = true;
      clearTimeout(timer);
    };
  }, [id]);
  return html`<${ErrorBox} problem=${problem} />
    ${text === ""
      ? html`<p class="quiet">No output yet.</p>`
      : html`<pre class="output-text wrap" tabindex="0" role="log" aria-live="off" aria-label="Output"><${SafeText} text=${text ?? ""} lines /></pre>`}`;
}
