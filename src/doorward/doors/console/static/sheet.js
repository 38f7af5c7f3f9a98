// Styles that only some pages need, fetched with the first of them.

const known = new Map();

/** Wait until a style sheet beside this file is in force, so that a page does not jump when it comes. */
export function sheet(name) {
  if (!known.has(name)) known.set(name, added(name));
  return known.get(name);
}

function added(name) {
  return new Promise((resolve) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = new URL(name, import.meta.url).href;
    link.onload = resolve;
    link.onerror = () => {
      known.delete(name); // whoever needs it next tries again
      link.remove();
      resolve();
    };
    document.head.append(link);
  });
}
