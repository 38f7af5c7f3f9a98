// @ts-check
// What the user has begun to write. It belongs to one user in one tab, survives a reload, and ends with logging out.

import { session } from "./api.js";

const PREFIX = "doorward-draft/";
/** All drafts: storage may be full or disabled. @type {Map<string, any>} */
const known = new Map();

const keyOf = (/** @type {string} */ name) => `${PREFIX}${session.value?.tenant}/${session.value?.user}/${name}`;

/** What was written under a name, or null. @param {string} name @returns {any} */
export function readDraft(name) {
  const key = keyOf(name);
  if (known.has(key)) return known.get(key);
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/** Keep what was written under a name; null removes it. @param {string} name @param {any} draft */
export function writeDraft(name, draft) {
  const key = keyOf(name);
  known.set(key, draft);
  try {
    sessionStorage.removeItem(key); // so that a text that does not fit leaves no older one behind
    if (draft !== null) sessionStorage.setItem(key, JSON.stringify(draft));
  } catch {
    // The draft lasts as long as the page is open.
  }
}

/** Remove the drafts of every user. */
export function clearDrafts() {
  known.clear();
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
  } catch {
    // Then nothing was stored.
  }
}
