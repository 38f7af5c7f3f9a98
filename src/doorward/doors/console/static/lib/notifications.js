// @ts-check
// Browser notifications. Permission is requested by a button, never on load, and they appear only while the page is hidden.

const MUTE_KEY = "doorward-quiet";

export const canNotify = () => "Notification" in window && window.isSecureContext;

export const isNotifying = () => canNotify() && Notification.permission === "granted" && !isMuted();

/** Ask for permission. Returns whether notifications are now on. */
export async function enableNotifications() {
  if (!canNotify()) return false;
  localStorage.removeItem(MUTE_KEY);
  return (await Notification.requestPermission()) === "granted";
}

export function muteNotifications() {
  localStorage.setItem(MUTE_KEY, "yes");
}

const isMuted = () => localStorage.getItem(MUTE_KEY) === "yes";

/**
 * Show a notification, unless the page is visible.
 *
 * @param {string} title
 * @param {string} body
 * @param {string} path where a click leads
 * @param {string} tag a later notification with the same tag replaces this one
 */
export function notify(title, body, path, tag) {
  if (document.visibilityState === "visible" || !isNotifying()) return;
  const note = new Notification(title, { body: body.slice(0, 200), tag, icon: "/favicon.ico" });
  note.onclick = () => {
    window.focus();
    history.pushState(null, "", path);
    dispatchEvent(new PopStateEvent("popstate"));
    note.close();
  };
}
