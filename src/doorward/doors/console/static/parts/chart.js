// @ts-check
// A bar chart over time. Each status has a pattern besides its colour, and the numbers are available as a table.

import { formatNumber } from "../lib/format.js";
import { Button, describeState, html, useLayoutEffect, useRef, useState } from "./ui.js";

/** Every status, from the bottom of a bar to the top. */
export const STATUSES = ["done", "parked", "expired", "denied", "refused", "failed"];
const HEIGHT = 120;

const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const hour = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const second = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

const formatTick = (/** @type {number} */ at, /** @type {number} */ seconds) => (seconds >= 86_400 ? day : seconds >= 60 ? hour : second).format(at);
/** @typedef {Record<string, number>} Counts */

const sum = (/** @type {Counts} */ counts) => Object.values(counts).reduce((total, one) => total + one, 0);

function describeCounts(/** @type {Counts} */ counts) {
  const known = [...STATUSES, ...Object.keys(counts).filter((one) => !STATUSES.includes(one))];
  return known.filter((one) => counts[one]).map((one) => `${formatNumber(counts[one])} ${describeState(one)}`).join(", ");
}

/**
 * `timeline` is the result of audit/timeline. `onSpan` receives the time span that the user selected.
 *
 * @param {{timeline: any, onSpan: (since: Date, until: Date) => void, busy: boolean}} props
 */
export function Chart({ timeline, onSpan, busy }) {
  /** @type {import("./ui.js").ElementRef} */
  const element = useRef(null);
  const [width, setWidth] = useState(800);
  const [brush, setBrush] = useState(/** @type {[number, number] | null} */ (null));
  const [over, setOver] = useState(/** @type {number | null} */ (null));
  useLayoutEffect(() => {
    const measure = () => setWidth(Math.max(200, element.current?.clientWidth ?? 800));
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element.current);
    return () => watch.disconnect();
  }, []);

  const begin = Date.parse(timeline.since);
  const end = Date.parse(timeline.until);
  const step = timeline.seconds * 1000;
  const count = Math.max(1, Math.round((end - begin) / step));
  const each = width / count;
  const most = Math.max(1, ...timeline.items.map((one) => sum(one.counts)));
  const bucketOf = (at) => Math.round((Date.parse(at) - begin) / step);
  const bucketAt = (event) => {
    const box = element.current.getBoundingClientRect();
    return Math.max(0, Math.min(count - 1, Math.floor(((event.clientX - box.left) / box.width) * count)));
  };
  /** @type {(one: number, other: number) => [Date, Date]} */
  const toSpan = (one, other) => {
    const [first, last] = one <= other ? [one, other] : [other, one];
    return [new Date(begin + first * step), new Date(begin + (last + 1) * step)];
  };
  const down = (event) => {
    if (event.button) return;
    event.currentTarget.setPointerCapture?.(event.pointerId);
    const at = bucketAt(event);
    setBrush([at, at]);
  };
  const move = (event) => {
    const at = bucketAt(event);
    setOver(at);
    setBrush((before) => before && [before[0], at]);
  };
  const up = () => {
    if (brush) onSpan(...toSpan(...brush));
    setBrush(null);
  };

  const bars = timeline.items.flatMap((item) => {
    const index = bucketOf(item.at);
    let top = HEIGHT;
    return [...STATUSES, ...Object.keys(item.counts).filter((one) => !STATUSES.includes(one))].map((status) => {
      const n = item.counts[status];
      if (!n) return null;
      const high = Math.max(1.5, (n / most) * (HEIGHT - 8));
      top -= high;
      const gap = each > 4 ? 1 : 0;
      return html`<rect key=${`${index}-${status}`} x=${index * each + gap / 2} y=${Math.max(0, top)}
        width=${Math.max(1, each - gap)} height=${high} class=${`bar ${status}`} fill=${`url(#chart-${status})`} />`;
    });
  });
  const shown = over === null ? null : timeline.items.find((one) => bucketOf(one.at) === over);
  const marked = brush && [Math.min(...brush), Math.max(...brush)];
  const summary = `${describeCounts(timeline.totals) || "No calls"} from ${hour.format(begin)} to ${hour.format(end)}`;

  return html`<figure class=${`chart ${busy ? "busy" : ""}`}>
    <figcaption class="legend">
      ${STATUSES.map(
        (one) => html`<span key=${one}><svg width="14" height="14" aria-hidden="true"><rect class=${`bar ${one}`} width="14" height="14"
          fill=${`url(#chart-${one})`} /></svg>${describeState(one)} <strong>${formatNumber(timeline.totals[one] ?? 0)}</strong></span>`,
      )}
    </figcaption>
    <div class="chart-area" ref=${element}>
      <svg width=${width} height=${HEIGHT} viewBox=${`0 0 ${width} ${HEIGHT}`} role="img" aria-label=${summary}
        onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerCancel=${() => setBrush(null)}
        onPointerLeave=${() => setOver(null)}>
        <defs>
          <pattern id="chart-done" width="4" height="4" patternUnits="userSpaceOnUse"><rect width="4" height="4" /></pattern>
          <pattern id="chart-parked" width="6" height="6" patternUnits="userSpaceOnUse">
            <rect width="6" height="6" class="soft" /><circle cx="3" cy="3" r="1.6" />
          </pattern>
          <pattern id="chart-expired" width="6" height="6" patternUnits="userSpaceOnUse">
            <rect width="6" height="6" class="soft" /><rect width="6" height="2" />
          </pattern>
          <pattern id="chart-denied" width="6" height="6" patternUnits="userSpaceOnUse">
            <rect width="6" height="6" class="soft" /><rect width="2" height="6" />
          </pattern>
          <pattern id="chart-refused" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect width="6" height="6" class="soft" /><rect width="3" height="6" />
          </pattern>
          <pattern id="chart-failed" width="6" height="6" patternUnits="userSpaceOnUse">
            <rect width="6" height="6" class="soft" /><path d="M0 0L6 6M6 0L0 6" />
          </pattern>
        </defs>
        ${over !== null && html`<rect class="over" x=${over * each} y="0" width=${each} height=${HEIGHT} />`}
        ${marked && html`<rect class="brush" x=${marked[0] * each} y="0" width=${(marked[1] - marked[0] + 1) * each} height=${HEIGHT} />`}
        <line class="floor" x1="0" x2=${width} y1=${HEIGHT - 0.5} y2=${HEIGHT - 0.5} />
        ${bars}
      </svg>
      <p class="axis" aria-hidden="true"><span>${formatTick(begin, timeline.seconds)}</span><span>${formatTick((begin + end) / 2, timeline.seconds)}</span
        ><span>${formatTick(end, timeline.seconds)}</span></p>
    </div>
    <p class="chart-says quiet" aria-hidden="true">${
      over === null
        ? "Click a bar, or drag across several, to zoom in."
        : `${formatTick(begin + over * step, timeline.seconds)}: ${shown ? describeCounts(shown.counts) : "no calls"}`
    }</p>
    <details class="chart-table">
      <summary>Show as table</summary>
      <${ChartTable} timeline=${timeline} onSpan=${onSpan} />
    </details>
  </figure>`;
}

function ChartTable({ timeline, onSpan }) {
  if (!timeline.items.length) return html`<p class="quiet">No calls in this time span.</p>`;
  const zoom = (item) => {
    const at = new Date(item.at);
    onSpan(at, new Date(at.getTime() + timeline.seconds * 1000));
  };
  return html`<div class="table-wrap" role="region" aria-label="Outcomes over time" tabindex="0"><table>
    <caption class="unseen">Outcomes over time</caption>
    <thead><tr><th scope="col">From</th>${STATUSES.map((one) => html`<th scope="col" class="number" key=${one}>${describeState(one)}</th>`)}<th scope="col">Zoom</th></tr></thead>
    <tbody>${timeline.items.map(
      (item) => html`<tr key=${item.at}>
        <td data-title="From">${hour.format(Date.parse(item.at))}</td>
        ${STATUSES.map((one) => html`<td class="number" data-title=${describeState(one)} key=${one}>${formatNumber(item.counts[one] ?? 0)}</td>`)}
        <td><${Button} kind="quiet small" onClick=${() => zoom(item)}
          >Zoom in<span class="unseen"> on ${hour.format(Date.parse(item.at))}</span></${Button}></td>
      </tr>`,
    )}</tbody>
  </table></div>`;
}
