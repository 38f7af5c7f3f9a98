// Bars over time. Each status has a pattern beside its colour, and the same numbers are there as a table.

import { Button, html, stateWords, useLayoutEffect, useRef, useState } from "./ui.js";

/** Every status, from the bottom of a bar to its top. */
export const STATUSES = ["done", "parked", "refused", "failed"];
const HEIGHT = 120;
const number = new Intl.NumberFormat("en");

const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const hour = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const second = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

const told = (at, seconds) => (seconds >= 86_400 ? day : seconds >= 60 ? hour : second).format(at);
const total = (counts) => Object.values(counts).reduce((sum, one) => sum + one, 0);

function inWords(counts) {
  const known = [...STATUSES, ...Object.keys(counts).filter((one) => !STATUSES.includes(one))];
  return known.filter((one) => counts[one]).map((one) => `${number.format(counts[one])} ${stateWords(one)}`).join(", ");
}

/** `timeline` is what audit/timeline gives; `onSpan(since, until)` is called with two moments that were picked. */
export function Chart({ timeline, onSpan, busy }) {
  const place = useRef(null);
  const [width, setWidth] = useState(800);
  const [brush, setBrush] = useState(null);
  const [over, setOver] = useState(null);
  useLayoutEffect(() => {
    const measure = () => setWidth(Math.max(200, place.current?.clientWidth ?? 800));
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(place.current);
    return () => watch.disconnect();
  }, []);

  const begin = Date.parse(timeline.since);
  const end = Date.parse(timeline.until);
  const step = timeline.seconds * 1000;
  const count = Math.max(1, Math.round((end - begin) / step));
  const each = width / count;
  const most = Math.max(1, ...timeline.items.map((one) => total(one.counts)));
  const place_ = (at) => Math.round((Date.parse(at) - begin) / step);
  const bucketAt = (event) => {
    const box = place.current.getBoundingClientRect();
    return Math.max(0, Math.min(count - 1, Math.floor(((event.clientX - box.left) / box.width) * count)));
  };
  const moments = (one, other) => {
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
    if (brush) onSpan(...moments(...brush));
    setBrush(null);
  };

  const bars = timeline.items.flatMap((item) => {
    const index = place_(item.at);
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
  const shown = over === null ? null : timeline.items.find((one) => place_(one.at) === over);
  const marked = brush && [Math.min(...brush), Math.max(...brush)];
  const words = `${inWords(timeline.totals) || "Nothing"} from ${hour.format(begin)} to ${hour.format(end)}`;

  return html`<figure class=${`chart ${busy ? "busy" : ""}`}>
    <figcaption class="legend">
      ${STATUSES.map(
        (one) => html`<span key=${one}><svg width="14" height="14" aria-hidden="true"><rect class=${`bar ${one}`} width="14" height="14"
          fill=${`url(#chart-${one})`} /></svg>${stateWords(one)} <strong>${number.format(timeline.totals[one] ?? 0)}</strong></span>`,
      )}
    </figcaption>
    <div class="chart-area" ref=${place}>
      <svg width=${width} height=${HEIGHT} viewBox=${`0 0 ${width} ${HEIGHT}`} role="img" aria-label=${words}
        onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerCancel=${() => setBrush(null)}
        onPointerLeave=${() => setOver(null)}>
        <defs>
          <pattern id="chart-done" width="4" height="4" patternUnits="userSpaceOnUse"><rect width="4" height="4" /></pattern>
          <pattern id="chart-parked" width="6" height="6" patternUnits="userSpaceOnUse">
            <rect width="6" height="6" class="soft" /><circle cx="3" cy="3" r="1.6" />
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
      <p class="axis" aria-hidden="true"><span>${told(begin, timeline.seconds)}</span><span>${told((begin + end) / 2, timeline.seconds)}</span
        ><span>${told(end, timeline.seconds)}</span></p>
    </div>
    <p class="chart-says quiet" aria-hidden="true">${
      over === null
        ? "Each bar stands for the same span; click one, or drag over several, to look closer."
        : `${told(begin + over * step, timeline.seconds)}: ${shown ? inWords(shown.counts) : "nothing"}`
    }</p>
    <details class="chart-table">
      <summary>The same as a table</summary>
      <${AsTable} timeline=${timeline} onSpan=${onSpan} />
    </details>
  </figure>`;
}

function AsTable({ timeline, onSpan }) {
  if (!timeline.items.length) return html`<p class="quiet">Nothing happened in this span.</p>`;
  const closer = (item) => {
    const at = new Date(item.at);
    onSpan(at, new Date(at.getTime() + timeline.seconds * 1000));
  };
  return html`<div class="table-wrap" role="region" aria-label="How calls ended, over time" tabindex="0"><table>
    <caption class="unseen">How calls ended, over time</caption>
    <thead><tr><th scope="col">From</th>${STATUSES.map((one) => html`<th scope="col" class="number" key=${one}>${stateWords(one)}</th>`)}<th scope="col">closer</th></tr></thead>
    <tbody>${timeline.items.map(
      (item) => html`<tr key=${item.at}>
        <td data-title="From">${hour.format(Date.parse(item.at))}</td>
        ${STATUSES.map((one) => html`<td class="number" data-title=${stateWords(one)} key=${one}>${number.format(item.counts[one] ?? 0)}</td>`)}
        <td><${Button} kind="quiet small" onClick=${() => closer(item)}
          >Look closer<span class="unseen"> at ${hour.format(Date.parse(item.at))}</span></${Button}></td>
      </tr>`,
    )}</tbody>
  </table></div>`;
}
