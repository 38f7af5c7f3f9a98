// Whom a message is of. The keepers of two people have one name, so whose it is stands beside it.

import { fullName, handleOf, nameOf } from "../names.js";
import { html, Visible } from "../ui.js";

const acts = (message) => message.sender === "keeper" && message.onBehalfOf;

/** The sender in one text. */
export function senderOf(message) {
  return acts(message) ? `${nameOf(message.sender)} for ${fullName(message.onBehalfOf)}` : fullName(message.sender);
}

/** Whether two messages are of the same sender, for the same person. */
export const sameSender = (one, other) => one.sender === other.sender && (acts(one) || "") === (acts(other) || "");

/** The sender, with the id quietly beside a name that says something else. */
export function Sender({ message }) {
  if (acts(message)) return html`<strong><${Visible} text=${senderOf(message)} /></strong>`;
  return html`<${Named} id=${message.sender} />`;
}

/** Somebody by name, with the id quietly beside it where that is another. */
export function Named({ id }) {
  const handle = handleOf(id);
  return html`<strong><${Visible} text=${nameOf(id)} /></strong>${handle && html` <span class="quiet handle"><${Visible} text=${handle} /></span>`}`;
}
