// One approval, as people decide about it: who asks, exactly what runs, why a person is asked, what it would change, how
// long there is, and two buttons. What happened afterwards stays.

import { get, part, post } from "./api.js";
import { differenceOf, keepRefusal, refusals, tooLate } from "./decided.js";
import { Diff } from "./diff.js";
import { goesSomewhere } from "./keys.js";
import {
  Badge,
  Button,
  Confirm,
  ErrorBox,
  html,
  moment,
  say,
  State,
  Time,
  useEffect,
  useSignal,
  useState,
  useTick,
  Visible,
} from "./ui.js";

/** Seconds in words that do not jump in width more than they must. */
export function left(seconds) {
  if (seconds <= 0) return "no time left";
  if (seconds < 100) return `${Math.ceil(seconds)} s left`;
  if (seconds < 5400) return `${Math.ceil(seconds / 60)} min left`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min left`;
}

/** How long there is to decide: by the clock and not by counting, so that it is right after the machine slept. */
export function Countdown({ until, from, onEnd }) {
  useTick(500);
  const seconds = (moment(until) - Date.now()) / 1000;
  const over = seconds <= 0;
  useEffect(() => {
    if (!over) return undefined;
    onEnd?.();
    // The server's clock decides, and this one may be ahead of it: ask again until it says that time is up.
    const again = setInterval(() => onEnd?.(), 3000);
    return () => clearInterval(again);
  }, [over]);
  const whole = Math.max(1, (moment(until) - moment(from)) / 1000);
  return html`<span class=${`countdown ${seconds < 10 ? "short" : ""}`} role="timer" aria-label=${left(seconds)}>
    <progress max=${whole} value=${Math.max(0, seconds)} aria-hidden="true"></progress>
    <span>${left(seconds)}</span>
  </span>`;
}

/** `approval` is what approval/show gives; `onChange(approval)` is told of how it stands after one tried to decide. In its
 * room it is a part of the message that asked. */
export function ApprovalCard({ approval, onChange, onExpired, level = 3, inRoom = false }) {
  const [busy, setBusy] = useState("");
  const refusal = useSignal(refusals)[approval.id];
  const [sure, setSure] = useState(false);
  const waits = approval.state === "pending";
  const yes = (approval.decisions ?? []).filter((one) => one.verdict === "approve").length;
  const decide = async (verdict) => {
    setBusy(verdict);
    let refused = null;
    try {
      await post(`/approvals/${part(approval.id)}/${verdict}`);
      say(verdict === "approve" ? "Approved" : "Denied");
    } catch (error) {
      refused = error;
    }
    try {
      const found = await get(`/approvals/${part(approval.id)}`);
      const late = refused?.code === "conflict" && tooLate(verdict, found);
      keepRefusal(approval.id, late ? { late } : refused);
      onChange?.(found);
    } catch (error) {
      keepRefusal(approval.id, refused ?? error);
    }
    setBusy("");
  };
  const approve = async () => (approval.safety === "dangerous" ? setSure(true) : decide("approve"));
  const mayDecide = waits && !approval.cannotDecide;
  const keys = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !mayDecide || busy) return;
    if (goesSomewhere() || event.target.closest("dialog")) return;
    if (event.key === "a" || event.key === "d") {
      event.preventDefault();
      event.stopPropagation();
      if (event.key === "a") approve();
      else decide("deny");
    }
  };
  const difference = differenceOf(approval);
  const foreign = approval.command.startsWith("mcp/");
  const changes = difference && (foreign
    ? html`<p class="label">What is known of it</p><pre class="code wrap" tabindex="0" role="group"
        aria-label="What is known of it"><code><${Visible} text=${difference} lines /></code></pre>`
    : html`<${Diff} text=${difference} />`);
  const Heading = `h${level}`;
  const Whole = inRoom ? "div" : "article";
  return html`<${Whole}
    class=${`card approval ${approval.state}`}
    role=${inRoom ? "group" : undefined}
    id=${`approval-${approval.id}`}
    tabindex="0"
    onKeyDown=${keys}
    aria-labelledby=${`approval-${approval.id}-title`}
    aria-keyshortcuts=${mayDecide ? "a d" : undefined}
  >
    <header class="card-head">
      <${Heading} id=${`approval-${approval.id}-title`}>
        <strong><${Visible} text=${approval.caller} /></strong>${approval.onBehalfOf &&
          approval.onBehalfOf !== approval.caller ? html` for <${Visible} text=${approval.onBehalfOf} />` : ""}
        ${waits ? " wants to run " : " wanted to run "}<code><${Visible} text=${approval.command} /></code>
      </${Heading}>
      ${waits
        ? html`<${Countdown} until=${approval.expiresAt} from=${approval.createdAt} onEnd=${() => onExpired?.(approval)}
          />`
        : html`<${State} state=${approval.state} />`}
    </header>
    ${refusal?.late && html`<p class="note" role="alert"><${Visible} text=${refusal.late} /></p>`}
    <p class="bits">
      ${approval.kind && html`<${Badge}>${{ ai: "AI", human: "person",
        service: "program" }[approval.kind] ?? approval.kind}</${Badge}>`}
      ${approval.room && !inRoom && html`<span>in <a href=${`/console/rooms/${part(approval.room)}`}><${Visible}
        text=${approval.room} /></a></span>`}
      <span>asked <${Time} at=${approval.createdAt} /></span>
      ${approval.safety &&
        html`<${Badge} tone=${{ dangerous: "bad",
          caution: "warn" }[approval.safety] ?? "calm"}>${approval.safety}</${Badge}>`}
      ${approval.quorum > 1 && html`<span>${yes} of ${approval.quorum} people who must agree said yes</span>`}
    </p>
    ${approval.shown &&
    html`<p class="label" id=${`approval-${approval.id}-runs`}>Exactly this ${waits ? "runs" : "was asked for"}</p>
      <pre class="code wrap" tabindex="0" role="group"
        aria-labelledby=${`approval-${approval.id}-runs`}><code><${Visible} text=${approval.shown} lines
          /></code></pre>`}
    ${waits ? changes : changes && html`<details><summary>${foreign ? "What was known of it"
      : "What it would change, as it was foreseen"}</summary>${changes}</details>`}
    ${approval.why && html`<p class="quiet"><${Visible} text=${approval.why} /></p>`}
    <${Decisions} approval=${approval} />
    ${!refusal?.late && html`<${ErrorBox} problem=${refusal} />`}
    ${waits &&
    (approval.cannotDecide
      ? html`<p class="quiet"><${Visible} text=${approval.cannotDecide} /></p>`
      : html`<div class="actions start">
          <${Button} kind="primary" busy=${busy === "approve"} disabled=${Boolean(busy)}
            onClick=${approve}>Approve<span class="unseen"> ${approval.command}</span></${Button}>
          <${Button} kind="danger" busy=${busy === "deny"} disabled=${Boolean(busy)}
            onClick=${() => decide("deny")}>Deny<span class="unseen"> ${approval.command}</span></${Button}>
          <span class="quiet keys" aria-hidden="true">On this card, <kbd>a</kbd> approves and <kbd>d</kbd> denies</span>
        </div>`)}
    ${sure &&
    html`<${Confirm} title="Approve something dangerous?" words="Approve" onYes=${() => decide("approve")}
      onClose=${() => setSure(false)}>
      <p><code><${Visible} text=${approval.command} /></code> is declared dangerous. Exactly this runs:</p>
      <pre class="code wrap" tabindex="0" role="group" aria-label="Exactly this runs"><code><${Visible}
        text=${approval.shown} lines /></code></pre>
    </${Confirm}>`}
  </${Whole}>`;
}

function Decisions({ approval }) {
  const made = approval.decisions ?? [];
  return html`${made.length > 0 &&
    html`<ul class="plain-list decisions">
      ${made.map(
        (one) => html`<li key=${one.decider}>
          <strong><${Visible} text=${one.decider} /></strong>${one.verdict === "approve" ? " approved"
            : " denied"} <${Time} at=${one.at} />
        </li>`,
      )}
    </ul>`}
    ${approval.state === "expired" && html`<p class="quiet">Nobody decided in time, which counts as no.</p>`}
    ${approval.state === "approved" &&
      html`<p class="quiet">Approved, and not used so far: whoever asked has to come back for it.</p>`}
    ${approval.usedBy && html`<p>It ran as execution <a
      href=${`/console/executions/${part(approval.usedBy)}`}><code>${approval.usedBy}</code></a><${Became}
        execution=${approval.usedBy} />.</p>`}`;
}

/** What came of the execution that used it, where one may see that. */
function Became({ execution }) {
  const [state, set] = useState("");
  useEffect(() => {
    let gone = false;
    get(`/executions/${part(execution)}`).then(
      (found) => !gone && set(found.state),
      () => {},
    );
    return () => {
      gone = true;
    };
  }, [execution]);
  return state ? html`, which is <${State} state=${state} />` : "";
}
