// @ts-check
// Actions that the current user may not run are not offered; the reason is shown instead. The gate is asked once for each
// command, and decides again when the action runs.

import { post, session } from "../lib/api.js";
import { html, SafeText, useEffect, useState } from "./ui.js";

/** @type {Map<string, Promise<string>>} */
const known = new Map();

/** @param {string} command */
function fetchRefusal(command) {
  const { tenant, user, access } = session.value ?? {};
  const key = `${tenant}/${user}/${access}/${command}`;
  const before = known.get(key);
  if (before) return before;
  const answer = post("/explain", { command }).then(({ decision, reason }) => (decision === "refused" ? reason : ""));
  known.set(key, answer);
  answer.catch(() => known.delete(key));
  return answer;
}

/** Why the user may not run a command outside rooms: "" when they may, null before it is known. @param {string} command */
export function useRefusal(command) {
  const [reason, setReason] = useState(/** @type {string | null} */ (null));
  useEffect(() => {
    let gone = false;
    fetchRefusal(command).then(
      (found) => gone || setReason(found),
      () => gone || setReason(""), // if it cannot be asked, the action itself will report it
    );
    return () => {
      gone = true;
    };
  }, [command]);
  return reason;
}

/** The children if the user may run a command, else the reason. `action` names the action, such as "Add a server". */
export function Permitted({ command, action, children }) {
  const reason = useRefusal(command);
  if (reason === null) return null;
  return reason ? html`<p class="quiet">${action}: <${SafeText} text=${reason} /></p>` : children;
}
