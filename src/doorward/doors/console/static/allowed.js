// What one may not do is not offered, and the reason is said instead. It is asked of the gate, once for each command; the
// gate decides again when something is asked for.

import { post, session } from "./api.js";
import { html, useEffect, useState, Visible } from "./ui.js";

const known = new Map();

function asked(command) {
  const { tenant, user, access } = session.value;
  const key = `${tenant}/${user}/${access}/${command}`;
  if (!known.has(key)) {
    const answer = post("/explain", { command }).then(({ decision, reason }) => (decision === "refused" ? reason : ""));
    known.set(key, answer);
    answer.catch(() => known.delete(key));
  }
  return known.get(key);
}

/** Why one may not run a command outside rooms: "" when one may, and null before that is known. */
export function useRefusal(command) {
  const [reason, set] = useState(null);
  useEffect(() => {
    let gone = false;
    asked(command).then(
      (found) => gone || set(found),
      () => gone || set(""), // Where that cannot be asked, the try itself will say it.
    );
    return () => {
      gone = true;
    };
  }, [command]);
  return reason;
}

/** What needs a command, or why it is not there for whoever looks; `what` says what is meant. */
export function Offered({ command, what, children }) {
  const reason = useRefusal(command);
  if (reason === null) return null;
  return reason ? html`<p class="quiet">${what}: <${Visible} text=${reason} /></p>` : children;
}
