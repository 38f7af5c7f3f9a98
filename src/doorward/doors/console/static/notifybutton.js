// Notifications are asked for by this button, and nowhere by themselves.

import { askToNotify, canNotify, mute, notifying } from "./notify.js";
import { Button, html, toast, useState } from "./ui.js";

const CANNOT = "The browser does not let this page notify you; its settings for this address say so.";

export function NotifyButton({ on: onWords = "Notifications are on", off = "Notify me" }) {
  const [on, set] = useState(notifying());
  if (!canNotify()) return null;
  const change = async () => {
    if (on) mute();
    else if (!(await askToNotify())) toast(CANNOT);
    set(notifying());
  };
  return html`<${Button} aria-pressed=${on ? "true" : "false"} onClick=${change}>${on ? onWords : off}</${Button}>`;
}
