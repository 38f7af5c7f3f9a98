// What people and AIs are called. A name may be given to anybody, also that of somebody else; the id is each one's own,
// so wherever the two differ, both can be seen.

import { get } from "./api.js";
import { signal } from "./signal.js";

/** By id: the name that somebody was given. */
export const names = signal({});

export async function loadNames() {
  const [users, personas] = await Promise.all(["/users", "/personas"].map((path) => get(path).catch(() => ({ items: [] }))));
  names.set(Object.fromEntries([...users.items, ...personas.items].map((one) => [one.id, one.name]).filter(([, name]) => name)));
}

/** The name of somebody; the id where there is none. */
export const nameOf = (id) => names.value[id] || id;

/** What to put beside a name, so that it is clear whose it is; "" where the name is the id, but for capitals. */
export const handleOf = (id) => (nameOf(id).toLowerCase() === id.toLowerCase() ? "" : `@${id}`);

/** A name with whose it is, in one text. */
export const fullName = (id) => [nameOf(id), handleOf(id)].filter(Boolean).join(" ");
