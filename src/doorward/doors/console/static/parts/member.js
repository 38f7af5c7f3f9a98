// @ts-check
// People and AIs: avatar and name.

import { escapeInvisible } from "../lib/escape-invisible.js";
import { handleOf, nameOf, principalOf, senderName } from "../lib/names.js";
import { html, SafeText } from "./ui.js";

const HUES = 12;

/** A stable colour for an id. It is decoration only: the name stands beside it. @param {string} id */
function pickHue(id) {
  let sum = 7;
  for (const char of id) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 9973;
  return sum % HUES;
}

/** @param {{id: string, kind?: string}} props */
export function Avatar({ id, kind }) {
  const initial = [...escapeInvisible(id)].slice(0, 1).join("").toUpperCase();
  return html`<span class=${`face hue-${pickHue(id)} ${kind === "human" ? "" : "ai"}`} aria-hidden="true">${initial}</span>`;
}

/** A member's name, followed by the id where it differs. @param {{id: string}} props */
export function MemberName({ id }) {
  const handle = handleOf(id);
  return html`<strong><${SafeText} text=${nameOf(id)} /></strong>${handle && html` <span class="quiet handle"><${SafeText} text=${handle} /></span>`}`;
}

/** The sender of a message. Every person's keeper has the same name, so the person is named too. */
export function Sender(/** @type {{message: Message}} */ { message }) {
  if (principalOf(message)) return html`<strong><${SafeText} text=${senderName(message)} /></strong>`;
  return html`<${MemberName} id=${message.sender} />`;
}
