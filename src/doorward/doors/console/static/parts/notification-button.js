// @ts-check
// The only place that asks for permission to notify.

import { canNotify, enableNotifications, isNotifying, muteNotifications } from "../lib/notifications.js";
import { Button, html, showToast, useState } from "./ui.js";

export function NotificationButton() {
  const [on, setOn] = useState(isNotifying());
  if (!canNotify()) return null;
  const toggle = async () => {
    if (on) muteNotifications();
    else if (!(await enableNotifications()))
      showToast("Notifications are blocked. Allow them in the browser's settings for this site.");
    setOn(isNotifying());
  };
  return html`<${Button} aria-pressed=${on ? "true" : "false"} onClick=${toggle}>${on ? "Turn off notifications" : "Turn on notifications"}</${Button}>`;
}
