// What each agent could and could not do under a recipe; what would change stands first.

import { Badge, html, useState, Visible } from "./ui.js";

export const DECISIONS = { allowed: ["good", "allowed"], approval: ["warn", "asks first"], refused: ["bad", "refused"], unknown: ["calm", "cannot be told"] };

export function Decision({ of }) {
  const [tone, words] = DECISIONS[of] ?? ["calm", "not known"];
  return html`<${Badge} tone=${tone}>${words}</${Badge}>`;
}

export function Rights({ preview }) {
  if (!preview.valid) return html`<p class="quiet">Once the text is a valid recipe, this says what each agent could do.</p>`;
  return html`${!preview.known && html`<p class="note info">No recipe of this id is in force yet, so that everything allowed here is new.</p>`}
    ${preview.items.map((one) => html`<${Group} key=${one.who.join()} one=${one} />`)}`;
}

function Group({ one }) {
  const names = one.who.map((who) => (who === "any agent" ? "any agent of yours" : who));
  const count = (number, word) => `${number} ${word}`;
  const refused = one.refused.reduce((sum, rule) => sum + rule.commands.length, 0);
  const summary = [count(one.allowed.length, "allowed"), count(one.approval.length, "ask first"), count(refused, "refused")].join(", ");
  return html`<section class="card rights">
    <h2>${names.slice(0, 8).map((who, at) => html`${at > 0 && ", "}<${Visible} text=${who} />`)}${names.length > 8 && ` and ${names.length - 8} more`}</h2>
    <p class="quiet">${summary}; access ${one.access}${one.rooms.length > 0 && html` in <${Visible} text=${one.rooms.join(", ")} />`}</p>
    ${one.changes.length > 0
      ? html`<p><strong>${one.changes.length === 1 ? "One command changes" : `${one.changes.length} commands change`}:</strong></p><${Changes} changes=${one.changes} />`
      : html`<p>Nothing changes.</p>`}
    <${Some} title=${`Allowed (${one.allowed.length})`} names=${one.allowed} />
    <${Some} title=${`A person is asked first (${one.approval.length})`} names=${one.approval} />
    ${refused > 0 && html`<details><summary>Refused (${refused})</summary>
      ${one.refused.map((rule) => html`<p key=${rule.rule}><code><${Visible} text=${rule.rule} /></code></p><${Names} names=${rule.commands} />`)}
    </details>`}
  </section>`;
}

const FEW = 12;

function Changes({ changes }) {
  const [all, setAll] = useState(false);
  const shown = all ? changes : changes.slice(0, FEW);
  return html`<ul class="changes">
      ${shown.map((one) => html`<li key=${one.command} title=${one.rule}><code><${Visible} text=${one.command} /></code>
        <span><${Decision} of=${one.was ?? "refused"} /> <span aria-hidden="true">→</span><span class="unseen"> becomes </span> <${Decision} of=${one.would} /></span></li>`)}
    </ul>
    ${changes.length > shown.length && html`<p><button type="button" class="link" onClick=${() => setAll(true)}>Show all ${changes.length}</button></p>`}`;
}

const Some = ({ title, names }) => names.length > 0 && html`<details><summary>${title}</summary><${Names} names=${names} /></details>`;

const Names = ({ names }) => html`<ul class="names">${names.map((name) => html`<li key=${name}><code><${Visible} text=${name} /></code></li>`)}</ul>`;
