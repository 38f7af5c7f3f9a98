// @ts-check
// Style sheets that only some pages need, loaded with the first of them.

/** @type {Map<string, Promise<void>>} */
const loading = new Map();

/** Load a style sheet of the folder `styles` and wait for it, so that the page does not jump. @param {string} name */
export function loadStylesheet(name) {
  const known = loading.get(name) ?? append(name);
  loading.set(name, known);
  return known;
}

/** @param {string} name @returns {Promise<void>} */
function append(name) {
  return new Promise((resolve) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = new URL(`../styles/${name}`, import.meta.url).href;
    link.onload = () => resolve();
    link.onerror = () => {
      loading.delete(name); // the next page that needs it tries again
      link.remove();
      resolve();
    };
    document.head.append(link);
  });
}
