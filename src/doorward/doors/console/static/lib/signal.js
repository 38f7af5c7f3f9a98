// @ts-check
// An observable value that several parts of a page share.

/**
 * @template T
 * @param {T} value
 * @returns {Signal<T>}
 */
export function createSignal(value) {
  /** @type {Set<(value: T) => void>} */
  const watchers = new Set();
  return {
    get value() {
      return value;
    },
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const watcher of [...watchers]) watcher(value);
    },
    subscribe(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}
