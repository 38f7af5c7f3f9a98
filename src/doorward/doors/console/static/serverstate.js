// What the pages of servers share: how a state looks, and the way back from the last change.

import { run } from "./api.js";
import { Button, Confirm, html, useEffect, useState } from "./ui.js";

export const TONES = { ready: "good", starting: "info", waiting: "warn", broken: "bad", stopped: "calm",
  disabled: "calm" };

/** What was changed last, and the way back. */
export function Done({ done, onUndone }) {
  const [asking, setAsking] = useState(false);
  const [back, setBack] = useState("");
  useEffect(() => setBack(""), [done]);
  if (!done) return null;
  const undo = async () => {
    await run("undo", { execution: done.call });
    setBack(done.call);
    onUndone?.();
  };
  return html`<p class="note good" role="status">
      ${back === done.call && done.call ? "That was undone." : html`${done.words} ${done.call &&
        html`<${Button} kind="quiet small" onClick=${() => setAsking(true)}>Undo…</${Button}>`}`}
    </p>
    ${asking && html`<${Confirm} title="Undo it?" words="Undo it" onYes=${undo}
      onClose=${() => setAsking(false)}>
      <p>The file of servers becomes what it was before, unless it changed since.</p>
    </${Confirm}>`}`;
}
