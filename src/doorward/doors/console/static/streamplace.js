// Browsers open six connections to one server, for all their tabs together. Streams keep theirs, so that a few tabs would
// leave none to ask anything with: streams therefore take one of a few places, which all tabs of a browser share.

const PLACES = { stream: 3, output: 2, notify: 1 };

/** Whether the tabs of this browser can agree: not where the page came over a network without encryption. */
export const canAgree = () => Boolean(navigator.locks);

/** Wait for a place of a kind, and call `taken()` once one is had. Returns what lets go of it, or gives up waiting. */
export function takePlace(kind, taken) {
  if (!canAgree()) {
    taken();
    return () => {};
  }
  const asking = new AbortController();
  let over = false;
  let free = null;
  const had = () => {
    if (over || free) return undefined;
    const kept = new Promise((done) => {
      free = done;
    });
    asking.abort(); // One is enough; what is had already is not touched by this.
    taken();
    return kept;
  };
  for (let at = 1; at <= PLACES[kind]; at += 1)
    navigator.locks.request(`doorward-${kind}-${at}`, { signal: asking.signal }, had).catch(() => {});
  return () => {
    over = true;
    asking.abort();
    free?.();
  };
}

/** Begin something now, and again whenever the browser brings the page back; `begin()` gives what ends it. Pages that one
 * has left are kept by browsers for the way back, and would keep their connections. Returns what ends it for good. */
export function whileShown(begin) {
  let end = begin();
  const hide = () => {
    end?.();
    end = null;
  };
  const show = (event) => {
    if (event.persisted && !end) end = begin();
  };
  addEventListener("pagehide", hide);
  addEventListener("pageshow", show);
  return () => {
    removeEventListener("pagehide", hide);
    removeEventListener("pageshow", show);
    hide();
  };
}
