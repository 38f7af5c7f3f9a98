// What this page shows with every request, beside the cookie that the browser sends along by itself. The browser sends
// cookies to every port of a machine; this it keeps for pages of this one address, and sends to nobody.

const KEY = "doorward-proof";
let kept = "";

/** It is read anew each time, since another tab may have logged in meanwhile. */
export function proof() {
  try {
    return localStorage.getItem(KEY) ?? kept;
  } catch {
    return kept;
  }
}

export function keepProof(text) {
  kept = text;
  try {
    if (text) localStorage.setItem(KEY, text);
    else localStorage.removeItem(KEY);
  } catch {
    // Storage may be switched off; then one is logged in for as long as the page is open.
  }
}

/** Be told when another tab logged in or out. Returns what ends it. */
export function onOtherProof(fn) {
  const changed = (event) => (event.key === KEY || event.key === null) && fn();
  addEventListener("storage", changed);
  return () => removeEventListener("storage", changed);
}
