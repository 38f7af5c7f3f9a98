// @ts-check
// The output of an execution as it is written. Of terminal escapes only colours and styles are shown, because output can
// come from anyone. The view stays at the end until the user scrolls up.

import { encode } from "../lib/api.js";
import { formatDuration, formatNumber } from "../lib/format.js";
import { appendOutput, EMPTY_OUTPUT } from "../lib/output-buffer.js";
import { followStream } from "../lib/sse.js";
import { acquireSlot, whileShown } from "../lib/stream-slots.js";
import { ProgramText } from "./program-text.js";
import { Button, html, SafeText, useEffect, useLayoutEffect, useRef, useState } from "./ui.js";

const MAX_RETRIES = 5;
const FLUSH_DELAY = 50;
const NO_SLOT_DELAY = 700;
const NO_SLOT = {
  title: "Waiting for a connection",
  detail: "This browser already follows two outputs, and can open only a few connections to one server.",
  hint: "This output continues automatically when one of the others ends or is closed.",
};

/** @typedef {{facts: Execution | null, written: OutputBuffer, ended: boolean, problem: any}} Followed */

/** @type {Followed} */
const EMPTY = { facts: null, written: EMPTY_OUTPUT, ended: false, problem: null };

/** Follow an execution. Leaving does not stop it. @param {string} id */
export function useExecution(id) {
  const [state, set] = useState(EMPTY);
  useEffect(() => {
    set(EMPTY);
    /** @type {{stream: string, text: string}[]} */
    let pieces = [];
    let flushTimer = 0;
    const flush = () => {
      flushTimer = 0;
      const taken = pieces;
      pieces = [];
      set((before) => ({
        ...before,
        written: taken.reduce((written, piece) => appendOutput(written, piece.stream, piece.text), before.written),
      }));
    };
    const change = (/** @type {(before: Followed) => Partial<Followed>} */ fn) => set((before) => ({ ...before, ...fn(before) }));
    let [stopStream, releaseSlot] = [() => {}, () => {}];
    let [timer, lastId, failures] = [0, "", 0];
    const leave = () => {
      clearTimeout(timer);
      stopStream();
      releaseSlot();
    };
    const finish = (/** @type {(before: Followed) => Partial<Followed>} */ fn) => {
      leave();
      change(fn);
    };
    /** @type {Record<string, (data: any) => void>} */
    const handlers = {
      state: (facts) => change(() => ({ facts: { ...facts, heardAt: Date.now() } })),
      output: (piece) => {
        pieces.push(piece);
        flushTimer ||= setTimeout(flush, FLUSH_DELAY);
      },
      progress: ({ fraction, message }) => change(({ facts }) => ({ facts: facts && { ...facts, fraction, message } })),
      end: (ending) => finish(({ facts }) => ({ ended: true, facts: { ...facts, ...ending, heardAt: Date.now() } })),
      error: (problem) => finish(() => ({ problem })),
    };
    const listen = () => {
      stopStream = followStream(`/executions/${encode(id)}/stream`, {
        last: lastId,
        onEvent: (name, data, at) => {
          failures = 0;
          lastId = at || lastId;
          handlers[name]?.(data);
        },
        // A refusal is final. A dropped connection resumes where it was.
        onEnd: (problem) => {
          failures += 1;
          if (problem?.status || failures > MAX_RETRIES)
            change(() => ({ problem: problem ?? new Error("The output stream ended. Reload the page.") }));
          else timer = setTimeout(listen, 500 * 2 ** failures);
        },
      });
    };
    const stop = whileShown(() => {
      timer = setTimeout(change, NO_SLOT_DELAY, () => ({ problem: NO_SLOT }));
      releaseSlot = acquireSlot("output", () => {
        clearTimeout(timer);
        change(({ problem }) => ({ problem: problem === NO_SLOT ? null : problem }));
        listen();
      });
      return leave;
    });
    return () => {
      stop();
      clearTimeout(flushTimer);
    };
  }, [id]);
  return state;
}

/**
 * Output in a scrolling view. `url` is the page that has all of it.
 *
 * @param {{written: OutputBuffer, running?: boolean, url?: string, label?: string}} props
 */
export function Output({ written, running = false, url = "", label = "Output" }) {
  /** @type {import("./ui.js").ElementRef} */
  const element = useRef(null);
  const [following, setFollowing] = useState(true);
  const [wrap, setWrap] = useState(true);
  useLayoutEffect(() => {
    if (following && element.current) element.current.scrollTop = element.current.scrollHeight;
  }, [written, following]);
  const onScroll = () => {
    const box = element.current;
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 24;
    if (atEnd !== following) setFollowing(atEnd);
  };
  // An escape sequence that never ended is text.
  const rest = Object.values(written.streams).map((one) => one.rest.replace("\r", "")).join("");
  const hasErrors = written.blocks.some((one) => one.stream === "stderr");
  if (!written.length) return html`<p class="quiet">${running ? "No output yet." : "No output."}</p>`;
  return html`<div class="output">
    ${written.dropped > 0 &&
    html`<p class="quiet">
      The first ${formatNumber(written.dropped)} characters are not shown${url ? html`. <a href=${url}>Open the execution</a> for all output` : ""}.
    </p>`}
    <pre class=${`output-text ${wrap ? "wrap" : ""}`} ref=${element} onScroll=${onScroll} tabindex="0" role="log"
      aria-live="off" aria-label=${label}>${written.blocks.map((block) => html`<${Block} key=${block.id} block=${block} />`)}${!running && html`<${SafeText} text=${rest} lines />`}</pre>
    <div class="output-foot">
      <${Button} kind="quiet small" aria-pressed=${following ? "true" : "false"} onClick=${() => setFollowing(!following)}>Follow output</${Button}>
      <${Button} kind="quiet small" aria-pressed=${wrap ? "true" : "false"} onClick=${() => setWrap(!wrap)}>Wrap lines</${Button}>
      <span class="quiet">${formatNumber(written.length)} characters${hasErrors ? "; a bar marks standard error" : ""}</span>
    </div>
  </div>`;
}

/** @type {WeakMap<object, object>} */
const rendered = new WeakMap();

/** A full block never changes, so it is rendered once. */
function Block(/** @type {{block: OutputBuffer["blocks"][number]}} */ { block }) {
  const known = rendered.get(block);
  if (known) return known;
  const text = html`<${ProgramText} text=${block.text} style=${block.style} />`;
  const node =
    block.stream === "stderr"
      ? html`<span class="stderr"><span class="unseen">standard error: </span>${text}</span>`
      : html`<span>${text}</span>`;
  rendered.set(block, node);
  return node;
}

/** A progress bar, or a message when the fraction is not known. */
export function Progress(/** @type {{facts?: {fraction?: number, message?: string} | null}} */ { facts }) {
  if (!facts || (facts.fraction === undefined && !facts.message)) return null;
  const percent = typeof facts.fraction === "number" ? Math.round(facts.fraction * 100) : null;
  return html`<div class="progress">
    ${percent !== null &&
    html`<progress max="100" value=${percent} aria-label="Progress">${percent} %</progress><span>${percent} %</span>`}
    ${facts.message && html`<span class="quiet"><${SafeText} text=${facts.message} /></span>`}
  </div>`;
}

/** How long an execution has run. The clocks of two machines may differ, so this counts from the last report. */
export function formatElapsed(/** @type {Execution} */ facts, /** @type {boolean} */ ended) {
  const since = ended || !facts.heardAt ? 0 : (Date.now() - facts.heardAt) / 1000;
  return formatDuration((facts.seconds ?? 0) + since);
}
