// Running a command while it tells what goes on: what it writes, how far it is, and at last its outcome.

import { post, Problem } from "./api.js";

/** Run, or resume with a ticket; `told(notice)` hears of started, output, progress, logged and asked. Gives the outcome.
 *
 * What is refused or fails is thrown as a Problem, as it is without a stream. Closing the page cancels what was asked for. */
export async function runTelling(command, params, { room = "", ticket = "" } = {}, told = () => {}) {
  const body = { ...(ticket ? { ticket } : { command, params }), ...(room ? { room } : {}) };
  const answer = await post("/run", body, { headers: { Accept: "text/event-stream" }, raw: true });
  for await (const { event, data } of events(answer.body)) {
    if (event === "outcome") return whole(data.outcome);
    if (event === "error") throw new Problem(data);
    told({ ...data, type: data.type ?? event });
  }
  throw new Problem({
    title: "The answer broke off",
    detail: "The connection ended before the command did; what became of it is among the executions.",
    hint: "Whoever hangs up cancels what it asked for.",
  });
}

function whole(outcome) {
  if (outcome.status === "done" || outcome.status === "parked") return outcome;
  throw new Problem({
    ...outcome,
    title: outcome.status === "refused" ? "It was refused, and nothing ran" : "It failed",
    detail: outcome.message,
    outcome: outcome.status,
    status: 0,
  });
}

/** Server-sent events out of a stream of bytes. */
export async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    while (true) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += value.replaceAll("\r\n", "\n");
      const parts = rest.split("\n\n");
      rest = parts.pop();
      for (const piece of parts) {
        const found = one(piece);
        if (found) yield found;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function one(piece) {
  let event = "message";
  const data = [];
  for (const line of piece.split("\n")) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { event, data: JSON.parse(data.join("\n")) } : null;
}
