// @ts-check
// An answer that covers later calls too: the rule it would take, with what that rule would have decided, before it is taken.

import { encode, get } from "../lib/api.js";
import { formatNumber } from "../lib/format.js";
import { Confirm, html, Loaded, SafeText, useLoad, useState } from "./ui.js";

/** @typedef {"session" | "always"} Scope */
/** @typedef {{asked: number, unknown: number, checked: number, complete: boolean}} PastCalls */
/** @typedef {{rule: string, text: string, past: PastCalls | null}} OfferedRule */
/** @typedef {{items: OfferedRule[], session: string, always: string, recipe: string, rooms: string[]}} OfferedRules */

/**
 * @param {{approval: Approval, scope: Scope, onAnswer: (answer: {scope: Scope, rule: string}) => Promise<void>, onClose: () => void}} props
 */
export function LastingAnswer({ approval, scope, onAnswer, onClose }) {
  /** @type {Loadable<OfferedRules>} */
  const from = useLoad(() => get(`/approvals/${encode(approval.id)}/rules`), [approval.id]);
  const [rule, setRule] = useState("exact");
  const refusal = from.data?.[scope] ?? "";
  const title = scope === "session" ? "Approve for this session" : "Always approve";
  return html`<${Confirm} title=${title} action=${title} kind="primary" disabled=${!from.data || Boolean(refusal)}
    onConfirm=${() => onAnswer({ scope, rule })} onClose=${onClose}>
    <${Loaded} from=${from} label="Computing the rule…">
      ${(/** @type {OfferedRules} */ data) =>
        refusal
          ? html`<p role="alert"><${SafeText} text=${refusal} /></p>`
          : html`<fieldset class="rules">
                <legend>Calls that run without asking</legend>
                ${data.items.map(
                  (one) => html`<label key=${one.rule}>
                    <input type="radio" name="rule" value=${one.rule} checked=${rule === one.rule} onChange=${() => setRule(one.rule)} />
                    <span><${SafeText} text=${one.text} />${scope === "always" && one.past && html`<span class="hint">${describePast(one.past)}</span>`}</span>
                  </label>`,
                )}
              </fieldset>
              <p class="quiet">${scope === "session"
                ? html`For the session of <${SafeText} text=${approval.caller} />, in this room. It ends with the session.`
                : html`This changes the recipe <${SafeText} text=${data.recipe} />, for everybody in ${data.rooms.join(", ")}. It can be undone.`}</p>`}
    </${Loaded}>
  </${Confirm}>`;
}

function describePast(/** @type {PastCalls} */ past) {
  const unsure = past.unknown ? ` For ${formatNumber(past.unknown)} the record does not tell.` : "";
  const partly = past.complete ? "" : " Not the whole week was checked.";
  return `Last seven days: ${formatNumber(past.asked)} of ${formatNumber(past.checked)} calls would have run without asking.${unsure}${partly}`;
}
