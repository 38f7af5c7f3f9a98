// @ts-check
// What each agent could do under a recipe. Changes come first.

import { formatCount, formatNumber } from "../lib/format.js";
import { Badge, html, SafeText, useState } from "./ui.js";

/** @type {Record<string, [string, string]>} */
const DECISIONS = {
  allowed: ["good", "allowed"],
  approval: ["warn", "needs approval"],
  refused: ["bad", "refused"],
  unknown: ["calm", "unknown"],
};

/** @param {{of: string}} props */
export function DecisionBadge({ of }) {
  const [tone, text] = DECISIONS[of] ?? DECISIONS.unknown;
  return html`<${Badge} tone=${tone}>${text}</${Badge}>`;
}

export function PermissionPreview({ preview }) {
  if (!preview.valid) return html`<p class="quiet">Fix the recipe to see what each agent could do.</p>`;
  return html`${!preview.known && html`<p class="note info">This recipe does not exist yet, so everything it allows is new.</p>`}
    ${preview.items.map((one) => html`<${AgentGroup} key=${one.who.join()} group=${one} />`)}`;
}

const MAX_NAMES = 8;

/** Agents with the same permissions. */
function AgentGroup({ group }) {
  const names = group.who.map((who) => (who === "any agent" ? "any agent of yours" : who));
  const refused = group.refused.reduce((sum, rule) => sum + rule.commands.length, 0);
  const summary = `${group.allowed.length} allowed, ${group.approval.length} need approval, ${refused} refused`;
  return html`<section class="card rights">
    <h2>${names.slice(0, MAX_NAMES).map((who, at) => html`${at > 0 && ", "}<${SafeText} text=${who} />`)}${names.length > MAX_NAMES && ` and ${names.length - MAX_NAMES} more`}</h2>
    <p class="quiet">${summary}; access ${group.access}${group.rooms.length > 0 && html` in <${SafeText} text=${group.rooms.join(", ")} />`}</p>
    ${group.changes.length > 0
      ? html`<p><strong>${formatCount(group.changes.length, "change")}:</strong></p><${ChangeList} changes=${group.changes} />`
      : html`<p>No changes.</p>`}
    <${CommandGroup} title=${`Allowed (${group.allowed.length})`} names=${group.allowed} />
    <${CommandGroup} title=${`Needs approval (${group.approval.length})`} names=${group.approval} />
    ${refused > 0 &&
    html`<details><summary>Refused (${formatNumber(refused)})</summary>
      ${group.refused.map((rule) => html`<p key=${rule.rule}><code><${SafeText} text=${rule.rule} /></code></p><${CommandNames} names=${rule.commands} />`)}
    </details>`}
  </section>`;
}

const MAX_CHANGES = 12;

function ChangeList({ changes }) {
  const [all, setAll] = useState(false);
  const shown = all ? changes : changes.slice(0, MAX_CHANGES);
  return html`<ul class="changes">
      ${shown.map(
        (one) => html`<li key=${one.command} title=${one.rule}><code><${SafeText} text=${one.command} /></code>
        <span><${DecisionBadge} of=${one.was ?? "refused"} /> <span aria-hidden="true">→</span><span class="unseen"> becomes </span> <${DecisionBadge} of=${one.would} /></span></li>`,
      )}
    </ul>
    ${changes.length > shown.length && html`<p><button type="button" class="link" onClick=${() => setAll(true)}>Show all ${changes.length}</button></p>`}`;
}

const CommandGroup = ({ title, names }) =>
  names.length > 0 && html`<details><summary>${title}</summary><${CommandNames} names=${names} /></details>`;

const CommandNames = ({ names }) =>
  html`<ul class="names">${names.map((name) => html`<li key=${name}><code><${SafeText} text=${name} /></code></li>`)}</ul>`;
