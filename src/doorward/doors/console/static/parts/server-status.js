// @ts-check
// Shared by the pages of MCP servers: the state of a server, and undo of the last change.

import { run } from "../lib/api.js";
import { Badge, Button, Confirm, html, useEffect, useState } from "./ui.js";

/** @type {Record<string, [string, string]>} */
const STATES = {
  ready: ["good", "ready"],
  starting: ["info", "starting"],
  waiting: ["warn", "retrying"],
  broken: ["bad", "failed"],
  stopped: ["calm", "stopped"],
  disabled: ["calm", "disabled"],
};

/** @param {{state: string}} props */
export function ServerState({ state }) {
  const [tone, text] = STATES[state] ?? ["calm", state];
  return html`<${Badge} tone=${tone}>${text}</${Badge}>`;
}

/** The last change, with an undo button if it can be undone. */
export function ChangeNotice({ change, onUndone }) {
  const [confirming, setConfirming] = useState(false);
  const [undone, setUndone] = useState("");
  useEffect(() => setUndone(""), [change]);
  if (!change) return null;
  const undo = async () => {
    await run("undo", { execution: change.call });
    setUndone(change.call);
    onUndone?.();
  };
  return html`<p class="note good" role="status">
      ${undone === change.call && change.call
        ? "The change was undone."
        : html`${change.text} ${change.call && html`<${Button} kind="quiet small" onClick=${() => setConfirming(true)}>Undo…</${Button}>`}`}
    </p>
    ${confirming &&
    html`<${Confirm} title="Undo this change?" action="Undo" onConfirm=${undo} onClose=${() => setConfirming(false)}>
      <p>This restores the servers file, unless it has changed since.</p>
    </${Confirm}>`}`;
}
