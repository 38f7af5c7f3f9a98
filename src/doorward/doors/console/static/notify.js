// Notifications of the browser: asked for by a button, never at load, and shown only while nobody looks at the page.

export const canNotify = () => "Notification" in window && window.isSecureContext;

export const notifying = () => canNotify() && Notification.permission === "granted" && !muted();

/** Ask for permission; true when notifications come from now on. */
export async function askToNotify() {
  if (!canNotify()) return false;
  localStorage.removeItem("doorward-quiet");
  return (await Notification.requestPermission()) === "granted";
}

export function mute() {
  localStorage.setItem("doorward-quiet", "yes");
}

const muted = () => localStorage.getItem("doorward-quiet") === "yes";

/** Show one, unless the page is in front of the person anyway. `path` is where a click leads. */
export function notify(title, body, path, tag) {
  if (document.visibilityState === "visible" || !notifying()) return;
  const note = new Notification(title, { body: body.slice(0, 200), tag, icon: "/favicon.ico" });
  note.onclick = () => {
    window.focus();
    history.pushState(null, "", path);
    dispatchEvent(new PopStateEvent("popstate"));
    note.close();
  };
}
