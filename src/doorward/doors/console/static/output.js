// What an execution writes, as it writes it. Escapes of terminals are shown and not obeyed, since output may come from
// anybody. The view stays at the end until somebody scrolls away from it.

import { part } from "./api.js";
import { follow } from "./eventstream.js";
import { takePlace, whileShown } from "./streamplace.js";
import { Button, html, useEffect, useLayoutEffect, useRef, useState, Visible } from "./ui.js";
import { NOTHING, withMore } from "./written.js";

const MOST_TRIES = 5;
const BEFORE_WORD = 700;
const CROWDED = {
  title: "This output waits for its turn",
  detail: "Two outputs are followed in this browser already, and it opens few connections to one server.",
  hint: "It comes by itself when one of the others ends or is closed.",
};

/** Follow an execution: `{facts, written, ended, problem}`. Leaving stops nobody. */
export function useExecution(id, on = true) {
  const [state, set] = useState({ facts: null, written: NOTHING, ended: false, problem: null });
  useEffect(() => {
    set({ facts: null, written: NOTHING, ended: false, problem: null });
    if (!on) return undefined;
    let waiting = [];
    let frame = 0;
    const flush = () => {
      frame = 0;
      const pieces = waiting;
      waiting = [];
      set((before) => ({
        ...before,
        written: pieces.reduce((written, piece) => withMore(written, piece.stream, piece.text), before.written),
      }));
    };
    const change = (fn) => set((before) => ({ ...before, ...fn(before) }));
    let [leave, letGo, again, place, failures] = [() => {}, () => {}, 0, "", 0];
    const away = () => {
      clearTimeout(again);
      leave();
      letGo();
    };
    const over = (fn) => {
      away();
      change(fn);
    };
    const told = {
      state: (facts) => change(() => ({ facts: { ...facts, heardAt: Date.now() } })),
      output: (piece) => {
        waiting.push(piece);
        frame ||= setTimeout(flush, 50);
      },
      progress: ({ fraction, message }) => change(({ facts }) => ({ facts: { ...facts, fraction, message } })),
      end: (ending) => over(({ facts }) => ({ ended: true, facts: { ...facts, ...ending, heardAt: Date.now() } })),
      error: (problem) => over(() => ({ problem })),
    };
    const listen = () => {
      leave = follow(`/executions/${part(id)}/stream`, {
        last: place,
        heard: (name, data, at) => {
          failures = 0;
          place = at || place;
          told[name]?.(data);
        },
        // What the server refuses stays refused; what broke off goes on where it was.
        ended: (problem) => {
          failures += 1;
          if (problem?.status || failures > MOST_TRIES)
            change(() => ({ problem: problem ?? new Error("The stream of this execution ended; open the page again.") }));
          else again = setTimeout(listen, 500 * 2 ** failures);
        },
      });
    };
    const end = whileShown(() => {
      again = setTimeout(change, BEFORE_WORD, () => ({ problem: CROWDED }));
      letGo = takePlace("output", () => {
        clearTimeout(again);
        change(({ problem }) => ({ problem: problem === CROWDED ? null : problem }));
        listen();
      });
      return away;
    });
    return () => {
      end();
      clearTimeout(frame);
    };
  }, [id, on]);
  return state;
}

/** `written` as a scrolling view. `where` is the address of the page that has all of it. */
export function Output({ written, running = false, where = "", label = "Output" }) {
  const place = useRef(null);
  const [follow, setFollow] = useState(true);
  const [width, setWidth] = useState(true);
  useLayoutEffect(() => {
    if (follow && place.current) place.current.scrollTop = place.current.scrollHeight;
  }, [written, follow]);
  const scrolled = () => {
    const box = place.current;
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 24;
    if (atEnd !== follow) setFollow(atEnd);
  };
  const mixed = written.blocks.some((one) => one.stream === "stderr");
  if (!written.length) return html`<p class="quiet">${running ? "It has written nothing so far."
    : "It wrote nothing that is kept."}</p>`;
  return html`<div class="output">
    ${written.dropped > 0 &&
    html`<p class="quiet">
      The first ${written.dropped.toLocaleString("en")} characters are not shown here${where
        ? html`; <a href=${where}>earlier output is on its page</a>` : ""}.
    </p>`}
    <pre class=${`output-text ${width ? "wrap" : ""}`} ref=${place} onScroll=${scrolled} tabindex="0" role="log"
      aria-live="off" aria-label=${label}>${written.blocks.map((block) => html`<${Block} key=${block.id} block=${block}
        />`)}</pre>
    <div class="output-foot">
      <${Button} kind="quiet small" aria-pressed=${follow ? "true" : "false"}
        onClick=${() => setFollow(!follow)}>${follow ? "Following the end: pause"
          : "Paused: follow the end"}</${Button}>
      <${Button} kind="quiet small" aria-pressed=${width ? "true" : "false"} onClick=${() => setWidth(!width)}>${width
        ? "Long lines wrap" : "Long lines go on"}</${Button}>
      <span class="quiet">
        ${written.length.toLocaleString("en")} characters${mixed ? "; what has a line beside it came as errors" : ""}
      </span>
    </div>
  </div>`;
}

const shown = new WeakMap();

/** A block that is full never changes, so it is drawn once. */
function Block({ block }) {
  if (!shown.has(block)) {
    const text = html`<${Visible} text=${block.text} lines />`;
    shown.set(block, block.stream === "stderr" ? html`<span class="stderr"><span
      class="unseen">errors: </span>${text}</span>` : html`<span>${text}</span>`);
  }
  return shown.get(block);
}

/** How far it is: a bar when anybody can know, words when not. */
export function Progress({ facts }) {
  if (!facts || (facts.fraction === undefined && !facts.message)) return null;
  const known = typeof facts.fraction === "number";
  const percent = known ? Math.round(facts.fraction * 100) : 0;
  return html`<div class="progress">
    ${known && html`<progress max="100" value=${percent}
      aria-label="Progress">${percent} %</progress><span>${percent} %</span>`}
    ${facts.message && html`<span class="quiet"><${Visible} text=${facts.message} /></span>`}
  </div>`;
}

/** How long it has run, by when the server was heard of last: the clocks of two machines may differ. */
export function elapsed(facts, ended) {
  const more = ended || !facts.heardAt ? 0 : (Date.now() - facts.heardAt) / 1000;
  return span((facts.seconds ?? 0) + more);
}

/** So many seconds in short words. */
export function span(seconds) {
  if (seconds < 0.001) return "under 1 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
