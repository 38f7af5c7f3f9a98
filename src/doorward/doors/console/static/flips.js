// The time machine: what was decided in the past, decided again under the text that is being written.

import { part, post } from "./api.js";
import { Decision } from "./rights.js";
import { Button, ErrorBox, Field, html, Loading, More, say, Time, useEffect, useState, Visible } from "./ui.js";

const SPANS = [
  ["24h", "The last day"],
  ["7d", "The last 7 days"],
  ["30d", "The last 30 days"],
  ["365d", "The last year"],
];
const FEW = 8;
const LEFT_OUT = { dry_run: "only tried out", resumed: "went on after a person decided" };

export function Flips({ id, text, room, valid }) {
  const [since, setSince] = useState("7d");
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const [of, setOf] = useState("");
  const [all, setAll] = useState(false);
  useEffect(() => {
    setFound(null);
  }, [room, since]);
  const look = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const told = await post(`/recipes/${part(id)}/diff`, { text, since, ...(room ? { inRoom: room } : {}) });
      setFound(told);
      setOf(text);
      say(told.says);
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  return html`<p class="quiet">Decides again, under this text, what was decided in the past, and shows what would be decided otherwise. Nothing runs.</p>
    <${Field} label="How far back" value=${since} options=${SPANS} onChange=${(event) => setSince(event.target.value)} />
    <p><${Button} kind="primary" busy=${busy} disabled=${!valid} onClick=${look}>${busy ? "Looking back…" : "Look back"}</${Button}>
      ${!valid && html` <span class="quiet">The text must be a valid recipe.</span>`}</p>
    <${ErrorBox} problem=${problem} />
    ${busy && html`<${Loading} label="Deciding again…" />`}
    ${found && !busy && html`<div role="region" aria-label="What would flip">
      ${of !== text && html`<p class="note">The text was changed since; look back again.</p>`}
      <p class=${found.complete ? "" : "note"}><strong><${Visible} text=${found.says} /></strong></p>
      ${found.items.slice(0, all ? undefined : FEW).map((one, at) => html`<${Flip} key=${at} one=${one} />`)}
      <${More} more=${!all && found.items.length > FEW} onMore=${() => setAll(true)} words=${`Show all ${found.items.length} kinds`} />
      ${found.beyond > 0 && html`<p class="quiet">${found.beyond} more are of further kinds, for which there was no room.</p>`}
      ${Object.keys(found.leftOut).length > 0 && html`<p class="quiet">Left out, since no recipe decided about it: ${Object.entries(found.leftOut)
        .map(([why, count]) => `${count} ${LEFT_OUT[why] ?? why.replaceAll("_", " ")}`)
        .join(", ")}.</p>`}
    </div>`}`;
}

function Flip({ one }) {
  return html`<section class="card flip">
    <h2><code><${Visible} text=${one.command} /></code> <span class="times">${one.count === 1 ? "once" : `${one.count.toLocaleString("en")} times`}</span>
      <span class="decisions"><${Decision} of=${one.was} /> <span aria-hidden="true">→</span><span class="unseen"> would be </span> <${Decision} of=${one.would} /></span></h2>
    <p>${one.would === "unknown" ? "Why: " : "Rule: "}<code><${Visible} text=${one.rule} /></code></p>
    <p class="quiet">by <${Visible} text=${one.callers.slice(0, 6).join(", ")} />${(one.moreCallers || one.callers.length > 6) && " and others"};
      last <${Time} at=${one.last} /></p>
    ${one.examples.length > 0 && html`<details><summary>Examples</summary><ul class="examples">
      ${one.examples.map((call) => html`<li key=${call.record}><a href=${`/console/ledger/${call.record}`}>Record ${call.record}</a>
        <span class="quiet"> <${Visible} text=${call.caller} />, <${Time} at=${call.at} /></span>
        <code class="params"><${Visible} text=${shortly(call.params)} /></code></li>`)}
    </ul></details>`}
  </section>`;
}

function shortly(params) {
  const text = typeof params === "string" ? params : JSON.stringify(params);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
