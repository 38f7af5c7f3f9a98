// Runs before the first paint, so that a chosen theme never flashes.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("doorward-theme");
  } catch {
    // Storage may be switched off; then the system's preference holds.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
