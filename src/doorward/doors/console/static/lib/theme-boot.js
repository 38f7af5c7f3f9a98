// @ts-check
// Applies the chosen theme before the first paint, so that the other theme never flashes. It is a classic script.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("doorward-theme");
  } catch {
    // Storage may be disabled. The system's preference then applies.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
