// @ts-check
// Browsers open six connections to one server, shared by all tabs. Streams hold theirs open, so a few tabs would leave
// none for requests. Streams therefore take one of a few slots, which all tabs of a browser share.

const SLOTS = { stream: 3, output: 2, notify: 1 };

/** Whether tabs can share slots. Browsers do not offer locks to pages that came over an unencrypted network. */
export const canShareSlots = () => Boolean(navigator.locks);

/**
 * Wait for a slot and call `onAcquired` once. Returns a function that releases the slot or stops waiting.
 *
 * @param {keyof typeof SLOTS} kind
 * @param {() => void} onAcquired
 */
export function acquireSlot(kind, onAcquired) {
  if (!canShareSlots()) {
    onAcquired();
    return () => {};
  }
  const waiting = new AbortController();
  let released = false;
  /** @type {(() => void) | null} */
  let free = null;
  const acquired = () => {
    if (released || free) return undefined;
    const held = new Promise((resolve) => {
      free = () => resolve(undefined);
    });
    waiting.abort(); // One slot is enough. This does not release the one just acquired.
    onAcquired();
    return held;
  };
  for (let at = 1; at <= SLOTS[kind]; at += 1)
    navigator.locks.request(`doorward-${kind}-${at}`, { signal: waiting.signal }, acquired).catch(() => {});
  return () => {
    released = true;
    waiting.abort();
    free?.();
  };
}

/**
 * Start something now, and again when the browser restores the page from its back-forward cache. A cached page would
 * otherwise keep its connections. Returns a function that stops it for good.
 *
 * @param {() => () => void} start returns the function that stops it
 */
export function whileShown(start) {
  /** @type {(() => void) | null} */
  let stop = start();
  const hide = () => {
    stop?.();
    stop = null;
  };
  const show = (/** @type {PageTransitionEvent} */ event) => {
    if (event.persisted && !stop) stop = start();
  };
  addEventListener("pagehide", hide);
  addEventListener("pageshow", show);
  return () => {
    removeEventListener("pagehide", hide);
    removeEventListener("pageshow", show);
    hide();
  };
}
