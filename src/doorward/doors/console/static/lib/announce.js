// @ts-check
// Short messages: for screen readers only, or for everyone as a toast.

const TOAST_TIME = 6000;
let last = 0;

/** Whether anything was announced since a time in milliseconds since 1970. @param {number} time */
export const announcedSince = (time) => last >= time;

/** Tell screen readers. Nothing is visible. @param {string} text @param {boolean} [urgent] */
export function announce(text, urgent = false) {
  last = Date.now();
  const region = document.getElementById(urgent ? "said-now" : "said");
  if (!region) return;
  region.textContent = "";
  setTimeout(() => {
    region.textContent = text;
  }, 50);
}

/** Show a message at the bottom of the page for a few seconds. @param {string} text */
export function showToast(text) {
  last = Date.now();
  const region = document.getElementById("toasts");
  if (!region) return;
  const note = document.createElement("p");
  note.className = "toast";
  note.textContent = text;
  region.append(note);
  setTimeout(() => note.remove(), TOAST_TIME);
}
