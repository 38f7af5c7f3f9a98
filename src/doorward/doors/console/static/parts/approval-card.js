// @ts-check
// One approval: who asks, the exact call, the change it would make, the time that is left, and the answers. A person who
// may decide and looks at the card holds it. After the decision the card shows the outcome.

import { encode, get, post } from "../lib/api.js";
import { appendPreview, explainLate, recallPreview, refusals, rememberRefusal } from "../lib/decisions.js";
import { formatNumber, formatTimeLeft, toDate } from "../lib/format.js";
import { Diff } from "./diff.js";
import { isInSequence } from "./keyboard.js";
import { LastingAnswer } from "./lasting-answer.js";
import {
  announce,
  Badge,
  Button,
  Confirm,
  createLazy,
  describeKind,
  ErrorBox,
  html,
  MoreButton,
  SafeText,
  StateBadge,
  Time,
  useEffect,
  useLoad,
  useRef,
  useSignal,
  useState,
  useTick,
} from "./ui.js";

const SubmittedDraft = createLazy(async () => (await import("./submitted-draft.js")).SubmittedDraft);

const EXPIRY_CHECK = 3000;
const PART = 100_000; // characters of a change to load at once

/** The time that is left. It follows the clock, so it is right after the machine slept. */
function Countdown({ until, from, onEnd }) {
  useTick(500);
  const seconds = (toDate(until).getTime() - Date.now()) / 1000;
  const over = seconds <= 0;
  useEffect(() => {
    if (!over) return undefined;
    onEnd?.();
    // The server's clock decides, and this one may be ahead: check until the server reports the end.
    const timer = setInterval(() => onEnd?.(), EXPIRY_CHECK);
    return () => clearInterval(timer);
  }, [over]);
  const total = Math.max(1, (toDate(until).getTime() - toDate(from).getTime()) / 1000);
  return html`<span class=${`countdown ${seconds < 10 ? "short" : ""}`} role="timer" aria-label=${formatTimeLeft(seconds)}>
    <progress max=${total} value=${Math.max(0, seconds)} aria-hidden="true"></progress>
    <span>${formatTimeLeft(seconds)}</span>
  </span>`;
}

/** Hold an approval as soon as its card is on the screen of a person who may decide. @param {Approval} approval */
function useHold(approval) {
  /** @type {{current: HTMLElement | null}} */
  const card = useRef(null);
  const holds = approval.state === "pending" && !approval.cannotDecide && Boolean(approval.holdSeconds) && !approval.heldBy;
  useEffect(() => {
    if (!holds || !card.current) return undefined;
    let onScreen = false;
    let asked = false;
    const look = () => {
      if (asked || !onScreen || document.visibilityState !== "visible") return;
      asked = true;
      // The event about it brings the new time. If it fails, the card keeps its own.
      post(`/approvals/${encode(approval.id)}/hold`).catch(() => {});
    };
    const observer = new IntersectionObserver((entries) => {
      onScreen = entries.some((one) => one.isIntersecting);
      look();
    });
    observer.observe(card.current);
    document.addEventListener("visibilitychange", look);
    return () => {
      observer.disconnect();
      document.removeEventListener("visibilitychange", look);
    };
  }, [approval.id, holds]);
  return card;
}

/**
 * `onChange` receives the approval after the user decided or tried to. In its room, the card is part of the message.
 *
 * @param {{
 *   approval: Approval, onChange?: (approval: Approval) => void, onExpired?: (approval: Approval) => void,
 *   level?: number, inRoom?: boolean
 * }} props
 */
export function ApprovalCard({ approval, onChange, onExpired, level = 3, inRoom = false }) {
  const [busy, setBusy] = useState("");
  const refusal = useSignal(refusals)[approval.id];
  const [confirming, setConfirming] = useState(false);
  const [lasting, setLasting] = useState(/** @type {import("./lasting-answer.js").Scope | ""} */ (""));
  const [reason, setReason] = useState("");
  const card = useHold(approval);
  const draftKeys = useRef(/** @type {{approve: () => void, deny: () => void} | null} */ (null));
  const waiting = approval.state === "pending";
  const submits = approval.command === "draft/submit" && Boolean(approval.room); // a draft is reviewed by file and hunk
  const approvals = (approval.decisions ?? []).filter((one) => one.verdict === "approve" && one.counts).length;
  const decide = async (/** @type {"approve" | "deny"} */ verdict, /** @type {Record<string, string>} */ answer = {}) => {
    setBusy(verdict);
    let refused = null;
    try {
      await post(`/approvals/${encode(approval.id)}/${verdict}`, answer);
      announce(verdict === "approve" ? "Approved" : "Denied");
    } catch (error) {
      refused = error;
    }
    try {
      const found = await get(`/approvals/${encode(approval.id)}`);
      const late = refused?.code === "conflict" && explainLate(verdict, found);
      rememberRefusal(approval.id, late ? { late } : refused);
      onChange?.(found);
    } catch (error) {
      rememberRefusal(approval.id, refused ?? error);
    }
    setBusy("");
  };
  const approve = () => {
    if (submits) draftKeys.current?.approve();
    else if (approval.safety === "dangerous") setConfirming(true);
    else decide("approve");
  };
  const deny = () => (submits ? draftKeys.current?.deny() : decide("deny", reason.trim() ? { reason: reason.trim() } : {}));
  const mayDecide = waiting && !approval.cannotDecide;
  const mayLast = Boolean(approval.room) && approval.quorum === 1;
  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !mayDecide || busy) return;
    if (isInSequence() || event.target.closest("dialog, input")) return;
    if (event.key === "a" || event.key === "d") {
      event.preventDefault();
      event.stopPropagation();
      if (event.key === "a") approve();
      else deny();
    }
  };
  const id = `approval-${approval.id}`;
  const Heading = `h${level}`;
  const Container = inRoom ? "div" : "article";
  return html`<${Container}
    class=${`card approval ${approval.state}`}
    role=${inRoom ? "group" : undefined}
    id=${id}
    ref=${card}
    tabindex="0"
    onKeyDown=${onKey}
    aria-labelledby=${`${id}-title`}
    aria-keyshortcuts=${mayDecide ? "a d" : undefined}
  >
    <header class="card-head">
      <${Heading} id=${`${id}-title`}>
        <strong><${SafeText} text=${approval.caller} /></strong>${approval.onBehalfOf && approval.onBehalfOf !== approval.caller
          ? html` for <${SafeText} text=${approval.onBehalfOf} />`
          : ""}
        ${waiting ? " wants " : " asked "}<${Wish} approval=${approval} />
      </${Heading}>
      ${waiting
        ? html`<${Countdown} until=${approval.expiresAt} from=${approval.createdAt} onEnd=${() => onExpired?.(approval)} />`
        : html`<${StateBadge} state=${approval.state} />`}
    </header>
    ${refusal?.late && html`<p class="note" role="alert"><${SafeText} text=${refusal.late} /></p>`}
    <p class="bits">
      ${approval.kind && html`<${Badge}>${describeKind(approval.kind)}</${Badge}>`}
      ${approval.room &&
      !inRoom &&
      html`<span>in <a href=${`/console/rooms/${encode(approval.room)}`}><${SafeText} text=${approval.room} /></a></span>`}
      <span>asked <${Time} at=${approval.createdAt} /></span>
      ${approval.safety &&
      html`<${Badge} tone=${{ dangerous: "bad", caution: "warn" }[approval.safety] ?? "calm"}>${approval.safety}</${Badge}>`}
      ${approval.quorum > 1 && html`<span>${approvals} of ${approval.quorum} approvals</span>`}
    </p>
    ${submits
      ? approval.params?.message && html`<p class="review-message"><${SafeText} text=${approval.params.message} lines /></p>`
      : approval.shown &&
    html`<p class="label" id=${`${id}-runs`}>Exact call</p>
      <pre class="code wrap" tabindex="0" role="group" aria-labelledby=${`${id}-runs`}><code><${SafeText} text=${approval.shown} lines /></code></pre>`}
    ${!(submits && waiting) && html`<${ExpectedChange} approval=${approval} open=${waiting} />`}
    ${approval.why && html`<p class="quiet"><${SafeText} text=${approval.why} /></p>`}
    <${Decisions} approval=${approval} />
    ${!refusal?.late && html`<${ErrorBox} problem=${refusal} />`}
    ${waiting && submits && html`<${SubmittedDraft} approval=${approval} onChange=${onChange} keys=${draftKeys} />`}
    ${waiting &&
    !submits &&
    (approval.cannotDecide
      ? html`<p class="quiet"><${SafeText} text=${approval.cannotDecide} /></p>`
      : html`<div class="actions start">
          <${Button} kind="primary" busy=${busy === "approve"} disabled=${Boolean(busy)} onClick=${approve}
            >Approve<span class="unseen"> ${approval.command}</span></${Button}>
          ${mayLast &&
          html`<${Button} disabled=${Boolean(busy)} onClick=${() => setLasting("session")}>For this session…</${Button}>
            <${Button} disabled=${Boolean(busy)} onClick=${() => setLasting("always")}>Always…</${Button}>`}
          <${Button} kind="danger" busy=${busy === "deny"} disabled=${Boolean(busy)} onClick=${deny}
            >Deny<span class="unseen"> ${approval.command}</span></${Button}>
          <input class="reason" aria-label="Reason for a denial" placeholder="Reason, if you deny it" maxlength="500" value=${reason}
            onInput=${(event) => setReason(event.currentTarget.value)} />
          <span class="quiet keys" aria-hidden="true">Keys: <kbd>a</kbd> approve, <kbd>d</kbd> deny</span>
        </div>`)}
    ${lasting &&
    html`<${LastingAnswer} approval=${approval} scope=${lasting} onAnswer=${(answer) => decide("approve", answer)} onClose=${() => setLasting("")} />`}
    ${confirming &&
    html`<${Confirm} title="Approve a dangerous command?" action="Approve" onConfirm=${() => decide("approve")}
      onClose=${() => setConfirming(false)}>
      <p><code><${SafeText} text=${approval.command} /></code> is marked dangerous. This exact call will run:</p>
      <pre class="code wrap" tabindex="0" role="group" aria-label="Exact call"><code><${SafeText} text=${approval.shown} lines /></code></pre>
    </${Confirm}>`}
  </${Container}>`;
}

/** The request in words: to reach a host, or to run a command. */
function Wish(/** @type {{approval: Approval}} */ { approval }) {
  const { host, port } = approval.params ?? {};
  if (approval.command === "network/connect" && host)
    return html`to reach <code><${SafeText} text=${`${host}:${port}`} /></code>`;
  return html`to run <code><${SafeText} text=${approval.command} /></code>`;
}

/** The change that the call would make. For tools of MCP servers only their own description is known. */
function ExpectedChange(/** @type {{approval: Approval, open: boolean}} */ { approval, open }) {
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [, setLoaded] = useState(0); // the part that was loaded last, to render again
  const preview = recallPreview(approval);
  if (!preview) return null;
  const loadMore = async () => {
    try {
      appendPreview(await get(`/approvals/${encode(approval.id)}`, { offset: preview.next, limit: PART }));
      setLoaded(preview.next ?? 0);
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
  };
  const upstream = approval.command.startsWith("mcp/");
  const label = upstream ? "About this tool" : "Expected changes";
  const content = upstream || approval.command === "network/connect"
    ? html`<pre class="code wrap" tabindex="0" role="group" aria-label=${label}><code><${SafeText} text=${preview.text} lines /></code></pre>
        <${MoreButton} more=${preview.next} onMore=${loadMore} />`
    : html`<${Diff} text=${preview.text} label=${label} totals=${preview} loadMore=${preview.next && loadMore} />`;
  const all = html`${content}
    ${preview.next && html`<p class="quiet">${formatNumber(preview.next)} of ${formatNumber(preview.length)} characters are loaded.</p>`}
    ${preview.lost && html`<p class="quiet">The rest is no longer stored, because the request was decided.</p>`}
    <${ErrorBox} problem=${problem} />`;
  if (!open) return html`<details><summary>${label}</summary>${all}</details>`;
  return html`${upstream && html`<p class="label">${label}</p>`}${all}`;
}

function Decisions(/** @type {{approval: Approval}} */ { approval }) {
  const decisions = approval.decisions ?? [];
  return html`${decisions.length > 0 &&
    html`<ul class="plain-list decisions">
      ${decisions.map(
        (one) => html`<li key=${one.decider}>
          <strong><${SafeText} text=${one.decider} /></strong>${one.verdict === "approve" ? " approved" : " denied"} <${Time} at=${one.at} />
          ${one.rule && html`, ${one.scope === "always" ? "always" : "for the session"}: <${SafeText} text=${one.rule} />`}
          ${approval.reason && html`: <${SafeText} text=${approval.reason} />`}
        </li>`,
      )}
    </ul>`}
    ${approval.state === "expired" && html`<p class="quiet">${approval.reason || "Nobody decided in time, so the call did not run."}</p>`}
    ${approval.state === "approved" &&
    html`<p class="quiet">Approved, not run yet. The caller runs it with its ticket.</p>`}
    ${approval.usedBy &&
    html`<p>Ran as execution <a href=${`/console/executions/${encode(approval.usedBy)}`}><code>${approval.usedBy}</code></a>
      <${ExecutionState} execution=${approval.usedBy} /></p>`}`;
}

/** The state of an execution, if the user may see it. */
function ExecutionState(/** @type {{execution: string}} */ { execution }) {
  const from = useLoad(() => get(`/executions/${encode(execution)}`), [execution]);
  return from.data ? html` <${StateBadge} state=${from.data.state} />` : "";
}
