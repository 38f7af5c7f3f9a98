// Stopping what runs, after a question: it may be another's work.

import { part, post } from "./api.js";
import { Confirm, html, say } from "./ui.js";

/** Ask before stopping: what was done so far stays done. */
export function Stop({ one, onClose, onStopped }) {
  const stop = async () => {
    const done = await post(`/executions/${part(one.execution)}/cancel`);
    say(done.ended ? `${one.command} was cancelled` : `${one.command} was told to stop, and has not ended yet`);
    onStopped?.();
  };
  return html`<${Confirm} title=${`Cancel ${one.command}?`} words="Cancel it" onYes=${stop} onClose=${onClose}>
    <p>
      It ends at once, with every process it started. A program that is cancelled has changed nothing in the workspace,
      unless it was run live: its changes are made at its end. What other commands changed so far stays. The record
      says who cancelled it.
    </p>
  </${Confirm}>`;
}
