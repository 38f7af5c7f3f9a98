// @ts-check
// The theme of this browser: light, dark, or the system's.

import { createSignal } from "./signal.js";

const KEY = "doorward-theme";

const readTheme = () => document.documentElement.dataset.theme ?? "system";

export const theme = createSignal(readTheme());

/** @param {string} name system, light or dark */
export function setTheme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  try {
    if (name === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, name);
  } catch {
    // Storage may be disabled. The choice then lasts as long as the page.
  }
  theme.set(readTheme());
}
