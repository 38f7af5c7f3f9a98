// @ts-check
// The components that every page is made of. Pages import these, the hooks and Preact from here.

import { announce, announcedSince } from "../lib/announce.js";
import { escapeInvisible } from "../lib/escape-invisible.js";
import { useSignal } from "../lib/hooks.js";
import { pendingApprovals, selectMine } from "../lib/store.js";
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { Button } from "./controls.js";
import { SafeText } from "./text.js";

export {
  html,
  render,
  useCallback,
  useEffect,
  useErrorBoundary,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "../vendor/preact.js";
export * from "../lib/announce.js";
export * from "../lib/hooks.js";
export * from "./controls.js";
export * from "./table.js";
export * from "./text.js";

/** @typedef {import("../vendor/preact.js").Ref<HTMLElement>} ElementRef */

/** Set the title of the window: the page, with the number of approvals that wait for the user. @param {string} title */
export function useTitle(title) {
  const waiting = selectMine(useSignal(pendingApprovals)).length;
  useEffect(() => {
    document.title = `${waiting ? `(${waiting}) ` : ""}${escapeInvisible(title)} · Doorward`;
  }, [title, waiting]);
}

/** A page with its heading. `heading` replaces the title in the heading, but not in the title of the window. */
export function Page({ title, actions, children, wide = false, plain = false, heading }) {
  useTitle(title);
  return html`<section class=${`page ${wide ? "wide" : ""} ${plain ? "plain" : ""}`} aria-labelledby="page-title">
    <header class="page-head">
      <h1 id="page-title" tabindex="-1">${heading ?? html`<${SafeText} text=${title} />`}</h1>
      ${actions && html`<div class="actions">${actions}</div>`}
    </header>
    ${children}
  </section>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty">
    <p class="empty-title">${title}</p>
    ${children && html`<div>${children}</div>`}
  </div>`;
}

/**
 * An error in the server's words, with its hint.
 *
 * @param {{problem: ProblemFacts | null | undefined, onRetry?: () => void}} props
 */
export function ErrorBox({ problem, onRetry }) {
  if (!problem) return null;
  const text = problem.detail || problem.message || String(problem);
  return html`<div class="error-box" role="alert">
    <p><strong>${problem.title || "Something went wrong"}.</strong> <${SafeText} text=${text} /></p>
    ${problem.retrying && html`<p>This page retries automatically.</p>`}
    ${problem.hint && html`<p class="quiet"><${SafeText} text=${problem.hint} /></p>`}
    ${problem.rule && html`<p class="quiet">Rule: <code><${SafeText} text=${problem.rule} /></code></p>`}
    ${problem.retryAfter && html`<p class="quiet">Retry in ${Math.ceil(problem.retryAfter)} s.</p>`}
    ${onRetry && html`<${Button} onClick=${onRetry}>Retry</${Button}>`}
  </div>`;
}

/** Return the focus. If its element is gone by now, or goes soon, the heading of the page gets it. */
export function restoreFocus(/** @type {HTMLElement | null} */ before) {
  if (before?.isConnected) before.focus();
  const check = () => {
    if (document.activeElement === document.body) document.getElementById("page-title")?.focus({ preventScroll: true });
  };
  setTimeout(check, 50);
  setTimeout(check, 500);
}

/** A native modal dialog. It traps the focus, closes on Escape, and restores the focus. */
export function Dialog({ title, onClose, children, actions, wide = false }) {
  /** @type {import("../vendor/preact.js").Ref<HTMLDialogElement>} */
  const element = useRef(null);
  const unmounted = useRef(false);
  useEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    const dialog = element.current;
    dialog.showModal();
    /** @type {HTMLElement | null} */ (dialog.querySelector("form input, form textarea, form select"))?.focus();
    return () => {
      unmounted.current = true;
      dialog.close(); // while it is open, nothing behind it can take the focus
      restoreFocus(before);
    };
  }, []);
  return html`<dialog
    ref=${element}
    class=${wide ? "wide" : ""}
    aria-label=${title}
    onClose=${() => unmounted.current || onClose()}
    onMouseDown=${(event) => event.target === element.current && onClose()}
  >
    <div class="dialog-inside">
      <header>
        <h2>${title}</h2>
        <${Button} kind="plain icon" aria-label="Close" onClick=${onClose}>✕</${Button}>
      </header>
      ${children}
      ${actions && html`<footer class="actions">${actions}</footer>`}
    </div>
  </dialog>`;
}

/** Ask before an action. `action` is the label of its button; `onConfirm` runs it. */
export function Confirm({ title, children, action, dismiss = "Cancel", kind = "danger", disabled = false, onConfirm, onClose }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const confirm = async () => {
    setBusy(true);
    const started = Date.now();
    try {
      await onConfirm();
      if (!announcedSince(started)) announce("Done");
      onClose();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  const actions = html`<${Button} kind=${kind} busy=${busy} disabled=${disabled} onClick=${confirm}>${action}</${Button}>
    <${Button} onClick=${onClose}>${dismiss}</${Button}>`;
  return html`<${Dialog} title=${title} onClose=${onClose} actions=${actions}>
    ${children}
    <${ErrorBox} problem=${problem} />
  </${Dialog}>`;
}

/** A short label. `tone` is good, warn, bad, info or calm; the text alone must be sufficient. */
export const Badge = ({ tone = "calm", children, title = undefined }) =>
  html`<span class=${`badge ${tone}`} title=${title}>${children}</span>`;

/**
 * Every state the server reports, with its tone and the word for people. Outcomes have one vocabulary everywhere: done,
 * failed, refused, waiting, denied, expired, cancelled.
 *
 * @type {Record<string, [string, string, string?]>}
 */
const STATES = {
  done: ["good", "done"],
  completed: ["good", "done"],
  approved: ["good", "approved"],
  used: ["good", "approved"],
  started: ["info", "started"],
  running: ["info", "running"],
  queued: ["info", "queued"],
  checking: ["info", "checking"],
  parked: ["warn", "waiting"],
  pending: ["warn", "waiting"],
  expired: ["warn", "expired"],
  cancelled: ["warn", "cancelled"],
  refused: ["bad", "refused"],
  denied: ["bad", "denied"],
  failed: ["bad", "failed"],
  timed_out: ["bad", "failed", "The time limit was exceeded."],
};

/** The word for a state. @param {string} state */
export const describeState = (state) => STATES[state]?.[1] ?? String(state ?? "").replaceAll("_", " ");

/** A state as a badge. @param {{state: string}} props */
export function StateBadge({ state }) {
  const [tone, , title] = STATES[state] ?? ["calm"];
  return html`<${Badge} tone=${tone} title=${title}>${describeState(state)}</${Badge}>`;
}

/** @type {Record<string, string>} */
const KINDS = { ai: "AI", human: "person", service: "program" };

/** The word for a kind of caller. @param {string} kind */
export const describeKind = (kind) => KINDS[kind] ?? kind;

/** The button below a list that continues. */
export function MoreButton({ more, busy = false, onMore, label = "Show more" }) {
  if (!more) return null;
  return html`<p class="more"><${Button} busy=${busy} onClick=${onMore}>${busy ? "Loading…" : label}</${Button}></p>`;
}

export const Loading = ({ label = "Loading…" }) =>
  html`<p class="loading" role="status"><span class="spinner" aria-hidden="true"></span>${label}</p>`;

/**
 * The state of a load: loading, its problem, or `children(data)`.
 *
 * @param {{from: Loadable<any>, children?: any, label?: string}} props
 */
export function Loaded({ from, children, label }) {
  if (from.problem && !from.data) return html`<${ErrorBox} problem=${from.problem} onRetry=${from.reload} />`;
  if (!from.data) return html`<${Loading} label=${label} />`;
  return html`${from.problem && html`<${ErrorBox} problem=${from.problem} onRetry=${from.reload} />`}
  ${children(from.data)}`;
}

/**
 * Create a component whose module is loaded when it is first shown, which keeps the first page small.
 *
 * @param {() => Promise<(props: any) => any>} load
 */
export function createLazy(load) {
  /** @type {((props: any) => any) | null} */
  let loaded = null;
  return (/** @type {object} */ props) => {
    const [component, setComponent] = useState(() => loaded);
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      if (component) return undefined;
      let gone = false;
      const show = (/** @type {(props: any) => any} */ found) => {
        loaded = found;
        if (!gone) setComponent(() => found);
      };
      load().then(show, () => gone || setFailed(true));
      return () => {
        gone = true;
      };
    }, []);
    if (failed)
      return html`<${ErrorBox} problem=${{ title: "Loading failed", detail: "Reload the page." }} onRetry=${() => location.reload()} />`;
    return component && html`<${component} ...${props} />`;
  };
}
