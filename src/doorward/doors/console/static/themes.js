// Light, dark, or as the system has it. The choice is this browser's.

import { signal } from "./signal.js";

const KEY = "doorward-theme";

const chosen = () => document.documentElement.dataset.theme ?? "system";

export const theme = signal(chosen());

export function setTheme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  try {
    if (name === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, name);
  } catch {
    // Storage may be switched off; then the choice lasts as long as the page.
  }
  theme.set(chosen());
}
