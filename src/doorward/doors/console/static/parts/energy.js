// @ts-check
// The energy of an agent: a gauge of the present level, and its curve over time.

import { encode, get } from "../lib/api.js";
import { formatTime } from "../lib/format.js";
import { Badge, ErrorBox, Field, html, Loading, useLive, useReload, useState, useTick } from "./ui.js";

const FLOOR = -50;
const CEILING = 100;
const SPAN = CEILING - FLOOR;
/** The levels at which the status changes. */
const THRESHOLDS = [0, 20, 50];
const HEIGHT = 100;
const WIDTH = 600;
const POINTS = 160;

/** Every status with its tone and what it means for the agent. @type {Record<string, [string, string]>} */
const STATUSES = {
  high: ["good", "It works as usual."],
  medium: ["info", "It writes shorter answers."],
  low: ["warn", "It writes short answers with models that cost little."],
  urgent: ["bad", "It waits until it has recovered."],
};

const statusOf = (/** @type {number} */ level) => (level > 50 ? "high" : level > 20 ? "medium" : level > 0 ? "low" : "urgent");
const clamp = (/** @type {number} */ level) => Math.max(FLOOR, Math.min(CEILING, level));
const round = (/** @type {number} */ level) => Math.round(level * 10) / 10;

/** An amount of energy, such as "8.3 energy". @param {number} amount */
export const formatEnergy = (amount) => (amount > 0 && amount < 0.05 ? "under 0.1 energy" : `${round(amount)} energy`);

/** The level now: what the server reported, and what has recovered since. @param {AgentEffort} agent */
const levelNow = ({ energy, heardAt }) =>
  Math.max(energy.level, Math.min(CEILING, energy.level + ((Date.now() - heardAt) / 1000) * energy.recoveryPerSecond));

/** @param {{agent: AgentEffort}} props */
export function EnergyGauge({ agent }) {
  useTick(1000);
  const level = clamp(levelNow(agent));
  const status = statusOf(level);
  const [tone, meaning] = STATUSES[status];
  const start = Math.min(0, level) - FLOOR;
  return html`<div class=${`gauge ${tone}`}>
    <p class="gauge-level"><strong>${Math.round(level)}</strong> <${Badge} tone=${tone}>${status}</${Badge}></p>
    <div role="meter" aria-label=${`Energy of ${agent.agent}`} aria-valuemin=${FLOOR} aria-valuemax=${CEILING}
      aria-valuenow=${Math.round(level)} aria-valuetext=${`${Math.round(level)}, ${status}`}>
      <svg viewBox=${`0 0 ${SPAN} 10`} preserveAspectRatio="none" aria-hidden="true">
        <rect class="gauge-back" width=${SPAN} height="10" />
        <rect class="gauge-fill" x=${start} width=${Math.max(0.5, Math.abs(level))} height="10" />
        <line class="gauge-zero" x1=${-FLOOR} x2=${-FLOOR} y1="0" y2="10" />
      </svg>
    </div>
    <p class="gauge-scale" aria-hidden="true"><span>${FLOOR}</span><span>0</span><span>${CEILING}</span></p>
    <p class="quiet">${meaning} A second of work costs ${round(agent.energy.perSecond)}, and each minute restores ${round(agent.energy.recoveryPerSecond * 60)}.
      ${agent.energy.spent > 0 && ` It spent ${formatEnergy(agent.energy.spent)} so far.`}</p>
  </div>`;
}

const SPANS = /** @type {[string, string][]} */ ([
  ["1h", "1 hour"],
  ["6h", "6 hours"],
  ["1d", "1 day"],
  ["7d", "7 days"],
]);

/** `revision` changes when energy was charged. @param {{agent: string, revision: number}} props */
export function EnergyCurve({ agent, revision }) {
  const [span, setSpan] = useState("1h");
  const from = useLive(async () => (await get(`/agents/${encode(agent)}/energy`, { since: span, points: POINTS })).items, {});
  useReload(from.reload, [span]);
  useReload(from.reload, [revision], 1000);
  return html`<figure class="curve">
    <figcaption class="bits"><${Field} label=${`Energy of ${agent} over`} options=${SPANS} value=${span} onChange=${(event) => setSpan(event.target.value)} /></figcaption>
    <${ErrorBox} problem=${from.problem} onRetry=${from.reload} />
    ${!from.data && !from.problem && html`<${Loading} />`}
    ${from.data && html`<${Curve} points=${from.data} span=${span} />`}
  </figure>`;
}

/** @param {{points: EnergyPoint[], span: string}} props */
function Curve({ points, span }) {
  const [over, setOver] = useState(/** @type {number | null} */ (null));
  if (points.length < 2) return html`<p class="quiet">No history yet.</p>`;
  const begin = Date.parse(points[0].at);
  const end = Date.parse(points[points.length - 1].at);
  const x = (/** @type {string} */ at) => ((Date.parse(at) - begin) / Math.max(1, end - begin)) * WIDTH;
  const y = (/** @type {number} */ level) => ((CEILING - clamp(level)) / SPAN) * HEIGHT;
  const line = points.map((one) => `${x(one.at).toFixed(1)},${y(one.level).toFixed(1)}`).join(" ");
  const levels = points.map((one) => one.level);
  const low = round(Math.min(...levels));
  const high = round(Math.max(...levels));
  const tick = (/** @type {number} */ at) => formatTime(at / 1000, span === "7d" ? "exact" : "day");
  const onMove = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
    setOver(Math.round(share * (points.length - 1)));
  };
  const shown = over === null ? null : points[Math.min(over, points.length - 1)];
  return html`<div class="curve-area">
      <p class="curve-scale" aria-hidden="true"><span>${CEILING}</span><span>0</span><span>${FLOOR}</span></p>
      <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img"
        aria-label=${`Energy from ${tick(begin)} to ${tick(end)}: between ${low} and ${high}, at last ${round(levels[levels.length - 1])}`}
        onPointerMove=${onMove} onPointerLeave=${() => setOver(null)}>
        ${THRESHOLDS.map((one) => html`<line key=${one} class=${one ? "threshold" : "zero"} x1="0" x2=${WIDTH} y1=${y(one)} y2=${y(one)} />`)}
        <polygon class="curve-fill" points=${`0,${y(0)} ${line} ${WIDTH},${y(0)}`} />
        <polyline class="curve-line" points=${line} />
        ${shown && html`<line class="curve-over" x1=${x(shown.at)} x2=${x(shown.at)} y1="0" y2=${HEIGHT} />`}
      </svg>
      <p class="axis" aria-hidden="true"><span>${tick(begin)}</span><span>${tick((begin + end) / 2)}</span><span>${tick(end)}</span></p>
    </div>
    <p class="quiet curve-says">${shown ? `${formatTime(shown.at, "exact")}: ${round(shown.level)}` : low === high ? `Always ${low}.` : `Between ${low} and ${high}.`}</p>`;
}
