// @ts-check
// The time machine: past decisions, decided again under the recipe that is being edited.

import { encode, post } from "../lib/api.js";
import { formatNumber, shorten } from "../lib/format.js";
import { DecisionBadge } from "./permission-preview.js";
import { announce, Button, ErrorBox, Field, html, Loading, MoreButton, SafeText, Time, useEffect, useState } from "./ui.js";

const SPANS = [
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
  ["365d", "Last 365 days"],
];
const MAX_ITEMS = 8;
/** @type {Record<string, string>} */
const SKIPPED = { dry_run: "dry runs", resumed: "continued after approval" };

/** @param {{id: string, text: string, room: string, valid: boolean}} props */
export function Replay({ id, text, room, valid }) {
  const [since, setSince] = useState("7d");
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [busy, setBusy] = useState(false);
  const [replayed, setReplayed] = useState("");
  const [all, setAll] = useState(false);
  useEffect(() => {
    setFound(null);
  }, [room, since]);
  const replay = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const answer = await post(`/recipes/${encode(id)}/diff`, { text, since, ...(room ? { inRoom: room } : {}) });
      setFound(answer);
      setReplayed(text);
      announce(answer.says);
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  return html`<p class="quiet">Decides past calls again under this recipe, and lists the decisions that would change. Nothing runs.</p>
    <${Field} label="Time span" value=${since} options=${SPANS} onChange=${(event) => setSince(event.target.value)} />
    <p><${Button} kind="primary" busy=${busy} disabled=${!valid} onClick=${replay}>${busy ? "Replaying…" : "Replay"}</${Button}>
      ${!valid && html` <span class="quiet">The recipe must be valid.</span>`}</p>
    <${ErrorBox} problem=${problem} />
    ${busy && html`<${Loading} label="Replaying past decisions…" />`}
    ${found &&
    !busy &&
    html`<div role="region" aria-label="Decisions that would change">
      ${replayed !== text && html`<p class="note">The recipe has changed since. Replay again.</p>`}
      <p class=${found.complete ? "" : "note"}><strong><${SafeText} text=${found.says} /></strong></p>
      ${found.items.slice(0, all ? undefined : MAX_ITEMS).map((one, at) => html`<${ReplayItem} key=${at} item=${one} />`)}
      <${MoreButton} more=${!all && found.items.length > MAX_ITEMS} onMore=${() => setAll(true)} label=${`Show all ${found.items.length}`} />
      ${found.beyond > 0 && html`<p class="quiet">${formatNumber(found.beyond)} more not shown.</p>`}
      ${Object.keys(found.leftOut).length > 0 &&
      html`<p class="quiet">Skipped, because no recipe decided them: ${Object.entries(found.leftOut)
        .map(([why, count]) => `${count} ${SKIPPED[why] ?? why.replaceAll("_", " ")}`)
        .join(", ")}.</p>`}
    </div>`}`;
}

/** Calls of one command whose decision would change in the same way. */
function ReplayItem({ item }) {
  const more = item.moreCallers || item.callers.length > 6;
  return html`<section class="card flip">
    <h2><code><${SafeText} text=${item.command} /></code> <span class="times">${item.count === 1 ? "once" : `${formatNumber(item.count)} times`}</span>
      <span class="decisions"><${DecisionBadge} of=${item.was} /> <span aria-hidden="true">→</span><span class="unseen"> would be </span> <${DecisionBadge} of=${item.would} /></span></h2>
    <p>${item.would === "unknown" ? "Reason: " : "Rule: "}<code><${SafeText} text=${item.rule} /></code></p>
    <p class="quiet">by <${SafeText} text=${item.callers.slice(0, 6).join(", ")} />${more && " and others"}; last <${Time} at=${item.last} /></p>
    ${item.examples.length > 0 &&
    html`<details><summary>Examples</summary><ul class="examples">
      ${item.examples.map(
        (call) => html`<li key=${call.record}><a href=${`/console/ledger/${call.record}`}>Record ${call.record}</a>
        <span class="quiet"> <${SafeText} text=${call.caller} />, <${Time} at=${call.at} /></span>
        <code class="params"><${SafeText} text=${shorten(typeof call.params === "string" ? call.params : JSON.stringify(call.params), 300)} /></code></li>`,
      )}
    </ul></details>`}
  </section>`;
}
