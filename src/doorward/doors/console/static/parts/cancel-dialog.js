// @ts-check
// Confirmation before an execution is cancelled.

import { encode, post } from "../lib/api.js";
import { announce, Confirm, html } from "./ui.js";

/** @param {{execution: Pick<Execution, "execution" | "command">, onClose: () => void, onCancelled?: () => void}} props */
export function CancelDialog({ execution, onClose, onCancelled }) {
  const cancel = async () => {
    const done = await post(`/executions/${encode(execution.execution)}/cancel`);
    announce(done.ended ? `${execution.command} was cancelled` : `Cancelling ${execution.command}`);
    onCancelled?.();
  };
  return html`<${Confirm} title=${`Cancel ${execution.command}?`} action="Cancel execution" dismiss="Keep running"
    onConfirm=${cancel} onClose=${onClose}>
    <p>
      It stops at once, with every process it started. A program changes the workspace only when it ends, so a cancelled
      program changes nothing, unless it runs live. Changes that other commands already made stay. The ledger records who
      cancelled it.
    </p>
  </${Confirm}>`;
}
