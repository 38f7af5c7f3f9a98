// @ts-check
// Display names of people and AIs. Two members may have the same name, but ids are unique: where the two differ, the
// console shows both.

import { get } from "./api.js";
import { createSignal } from "./signal.js";

/** Display names by id. */
export const names = createSignal(/** @type {Record<string, string>} */ ({}));

export async function loadNames() {
  const empty = { items: [] };
  const [users, personas] = await Promise.all(["/users", "/personas"].map((path) => get(path).catch(() => empty)));
  const known = [...users.items, ...personas.items].filter((one) => one.name);
  names.set(Object.fromEntries(known.map((one) => [one.id, one.name])));
}

/** The name of a member, or the id when there is none. @param {string} id */
export const nameOf = (id) => names.value[id] || id;

/** `@id`, or "" when the name is the id except for capitals. @param {string} id */
export const handleOf = (id) => (nameOf(id).toLowerCase() === id.toLowerCase() ? "" : `@${id}`);

/** Name and handle in one text. @param {string} id */
export const fullName = (id) => [nameOf(id), handleOf(id)].filter(Boolean).join(" ");

/** @typedef {Pick<Message, "sender" | "onBehalfOf">} Authored */

/** The person a keeper acts for, if the sender is one. Every person's keeper has the same id. @param {Authored} message */
export const principalOf = (message) => (message.sender === "keeper" && message.onBehalfOf) || "";

/** The sender of a message in one text. @param {Authored} message */
export function senderName(message) {
  const principal = principalOf(message);
  return principal ? `${nameOf(message.sender)} for ${fullName(principal)}` : fullName(message.sender);
}

/** Whether two messages have the same sender, acting for the same person. @param {Authored} one @param {Authored} other */
export const isSameSender = (one, other) => one.sender === other.sender && principalOf(one) === principalOf(other);
