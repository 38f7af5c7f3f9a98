// The parts that every page is made of. Text from outside goes through `Visible` or is a plain child: nothing here
// turns text into markup, and the page's policy would not let it.

import {
  Component,
  createContext,
  h,
  html,
  render,
  useCallback,
  useContext,
  useEffect,
  useErrorBoundary,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
} from "./vendor/preact.js";
import { saidSince, say, toast } from "./hooks.js";
import { paragraphs } from "./prose.js";
import { visible } from "./visible.js";

export {
  Component,
  createContext,
  h,
  html,
  render,
  useCallback,
  useContext,
  useEffect,
  useErrorBoundary,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
};

export * from "./hooks.js";

export function Page({ title, actions, children, wide = false, plain = false, shown }) {
  const head = useRef(null);
  useEffect(() => {
    document.title = `${title} · Doorward`;
  }, [title]);
  return html`<section class=${`page ${wide ? "wide" : ""} ${plain ? "plain" : ""}`} aria-labelledby="page-title">
    <header class="page-head">
      <h1 id="page-title" tabindex="-1" ref=${head}>${shown ?? html`<${Visible} text=${title} />`}</h1>
      ${actions && html`<div class="actions">${actions}</div>`}
    </header>
    ${children}
  </section>`;
}

/** Rows of facts. `columns` are `{key, title, render(row), class}`; `onOpen(row)` makes rows things to press Enter on. */
export function Table({ columns, rows, keyOf = (row) => row.id, onOpen, caption, empty }) {
  const body = useRef(null);
  const [at, setAt] = useState(0);
  if (!rows.length) return empty ?? html`<${Empty} title="Nothing here yet" />`;
  const go = (event, index) => {
    const to = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to !== undefined && !event.target.closest("input, select, textarea")) {
      event.preventDefault();
      const next = Math.max(0, Math.min(rows.length - 1, to));
      setAt(next);
      body.current.children[next]?.focus();
    } else if (event.key === "Enter" && onOpen && event.target === event.currentTarget) {
      onOpen(rows[index]);
    }
  };
  const opened = (event, row) => {
    if (onOpen && !event.target.closest("a, button, input, select, summary") && !getSelection().toString()) onOpen(row);
  };
  const reach = (index) =>
    onOpen
      ? {
          tabindex: index === Math.min(at, rows.length - 1) ? 0 : -1,
          onKeyDown: (event) => go(event, index),
          onClick: (event) => opened(event, rows[index]),
          onFocus: () => setAt(index),
          class: "opens",
        }
      : {};
  const enter = (event) => {
    if (!onOpen || event.target !== event.currentTarget || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
    event.preventDefault();
    body.current.children[Math.min(at, rows.length - 1)]?.focus();
  };
  return html`<div class="table-wrap" role="region" aria-label=${caption ?? "Table"} tabindex="0" onKeyDown=${enter}>
    <table>
      ${caption && html`<caption class="unseen">${caption}</caption>`}
      <thead>
        <tr>
          ${columns.map((one) => html`<th scope="col" class=${one.class ?? ""} key=${one.key}>${one.title}</th>`)}
        </tr>
      </thead>
      <tbody ref=${body}>
        ${rows.map(
          (row, index) =>
            html`<tr key=${keyOf(row)} ...${reach(index)}>
              ${columns.map(
                (one) =>
                  html`<td class=${one.class ?? ""} data-title=${one.title} key=${one.key}>
                    <div>${one.render ? one.render(row) : html`<${Visible} text=${row[one.key] ?? ""} />`}</div>
                  </td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty">
    <p class="empty-title">${title}</p>
    ${children && html`<div>${children}</div>`}
  </div>`;
}

/** What went wrong, in the server's words, and what to do next. */
export function ErrorBox({ problem, onRetry }) {
  if (!problem) return null;
  const words = problem.detail || problem.message || String(problem);
  return html`<div class="error-box" role="alert">
    <p><strong>${problem.title || "This did not work"}.</strong> <${Visible} text=${words} /></p>
    ${problem.hint && html`<p class="quiet"><${Visible} text=${problem.hint} /></p>`}
    ${problem.rule && html`<p class="quiet">Rule: <code><${Visible} text=${problem.rule} /></code></p>`}
    ${problem.retryAfter && html`<p class="quiet">Try again in ${Math.ceil(problem.retryAfter)} s.</p>`}
    ${onRetry && html`<${Button} onClick=${onRetry}>Try again</${Button}>`}
  </div>`;
}

let fields = 0;

/** A label with what it belongs to: an input made from the other properties, or `children(id, describedBy)`. */
export function Field({ label, hint, error, children, type = "text", options, rows, inputRef, quietLabel, ...input }) {
  const [id] = useState(() => `field-${++fields}`);
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ") || undefined;
  const shared = { id, "aria-describedby": described, "aria-invalid": error ? "true" : undefined, ...input };
  let control;
  if (typeof children === "function") control = children(id, described);
  else if (options)
    control = html`<select ...${shared} ref=${inputRef}>
      ${options.map((one) => {
        const [value, words] = Array.isArray(one) ? one : [one, one];
        return html`<option value=${value} selected=${String(value) === String(input.value)}>${words}</option>`;
      })}
    </select>`;
  else if (type === "textarea") control = html`<textarea rows=${rows ?? 4} ...${shared} ref=${inputRef}></textarea>`;
  else control = html`<input type=${type} ...${shared} ref=${inputRef} />`;
  return html`<div class=${`field ${type === "checkbox" ? "check" : ""}`}>
    <label for=${id} class=${quietLabel ? "unseen" : ""}>${label}</label>
    ${control}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${error && html`<p class="field-error" id=${`${id}-error`}>${error}</p>`}
  </div>`;
}

/** `kind` is primary, danger, quiet or plain; `busy` keeps it from being pressed twice, and does not take it the focus. */
export function Button({ kind = "", busy = false, children, buttonRef, type = "button", disabled, onClick, ...rest }) {
  return html`<button
    type=${type}
    class=${`button ${kind}`}
    disabled=${disabled}
    aria-disabled=${busy ? "true" : undefined}
    aria-busy=${busy ? "true" : undefined}
    ref=${buttonRef}
    onClick=${busy ? (event) => event.preventDefault() : onClick}
    ...${rest}
  >
    ${children}
  </button>`;
}

// What had the focus may be gone by now, or go with what the dialog did: then it goes to the heading of the page.
export function giveBack(before) {
  if (before?.isConnected) before.focus();
  const check = () => {
    if (document.activeElement === document.body) document.getElementById("page-title")?.focus({ preventScroll: true });
  };
  setTimeout(check, 50);
  setTimeout(check, 500);
}

/** A dialog of the browser's own: it keeps the focus inside, closes with Escape, and gives the focus back. */
export function Dialog({ title, onClose, children, actions, wide = false }) {
  const place = useRef(null);
  const gone = useRef(false);
  useEffect(() => {
    const before = document.activeElement;
    const dialog = place.current;
    dialog.showModal();
    dialog.querySelector("form input, form textarea, form select")?.focus();
    return () => {
      gone.current = true;
      dialog.close(); // As long as it is open, nothing behind it takes the focus.
      giveBack(before);
    };
  }, []);
  return html`<dialog
    ref=${place}
    class=${wide ? "wide" : ""}
    aria-label=${title}
    onClose=${() => gone.current || onClose()}
    onMouseDown=${(event) => event.target === place.current && onClose()}
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

/** A short word about a state. The tone is good, warn, bad, info or calm; the word itself says it all. */
export const Badge = ({ tone = "calm", children, title }) =>
  html`<span class=${`badge ${tone}`} title=${title}>${children}</span>`;

const TONES = {
  done: "good",
  ok: "good",
  completed: "good",
  approved: "good",
  used: "good",
  connected: "good",
  ready: "good",
  running: "info",
  started: "info",
  waiting: "info",
  queued: "info",
  parked: "warn",
  pending: "warn",
  expired: "warn",
  timed_out: "warn",
  cancelled: "warn",
  refused: "bad",
  denied: "bad",
  failed: "bad",
  broken: "bad",
};

/** States whose own word says too little. */
const WORDS = { used: "approved and run", parked: "waited for a person" };

/** A state in the words for people. */
export const stateWords = (state) => WORDS[state] ?? String(state ?? "").replaceAll("_", " ");

/** A state as a badge. */
export const State = ({ state, words }) => html`<${Badge} tone=${TONES[state] ?? "calm"}>${words ?? stateWords(state)}</${Badge}>`;

const SPANS = [
  [60, "second", 1],
  [3600, "minute", 60],
  [86_400, "hour", 3600],
  [86_400 * 30, "day", 86_400],
];
const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const clock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const minutes = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

/** A moment, given as ISO text or in seconds since 1970. */
export const moment = (at) => new Date(typeof at === "number" ? at * 1000 : at);

export function relative(at) {
  const seconds = (moment(at) - Date.now()) / 1000;
  const span = SPANS.find(([most]) => Math.abs(seconds) < most);
  return span ? ago.format(Math.round(seconds / span[2]), span[1]) : clock.format(moment(at));
}

/** When something was: "3 minutes ago" with the exact time beside the pointer, or the time of day with `of-day`. */
export function Time({ at, form = "relative" }) {
  if (at === null || at === undefined || at === "") return html`<span class="quiet">–</span>`;
  const when = moment(at);
  const words = { relative: relative(at), exact: clock.format(when), day: minutes.format(when) }[form];
  return html`<time datetime=${when.toISOString()} title=${clock.format(when)}>${words}</time>`;
}

/** Text as a program wrote it, or a value as JSON, with nothing hidden in it. */
export function Code({ children, value, wrap = true, label }) {
  const text = value !== undefined ? JSON.stringify(value, null, 2) : String(children ?? "");
  return html`<pre class=${`code ${wrap ? "wrap" : ""}`} tabindex="0" role="group" aria-label=${label ?? "Text"}><code
    ><${Visible} text=${text} lines
  /></code></pre>`;
}

export function Copy({ text, label = "Copy" }) {
  const [done, set] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      set(true);
      say("Copied");
      setTimeout(() => set(false), 2000);
    } catch {
      toast("The browser does not let this page copy; select the text and copy it yourself.");
    }
  };
  return html`<${Button} kind="quiet small" onClick=${copy}>${done ? "Copied" : label}</${Button}>`;
}

/** Text in which characters that hide something (control, bidi, invisible) are written out. `lines` keeps line breaks. */
export function Visible({ text, lines = false }) {
  return visible(String(text ?? ""), lines).map((one) =>
    typeof one === "string"
      ? one
      : html`<span class="hidden-char" title=${one.name}><span aria-hidden="true">${one.mark}</span
          ><span class="unseen">${` ${one.name} `}</span></span>`,
  );
}

/** What a command says of itself: paragraphs, with code where it has backticks; `inline` leaves them in one line. */
export function Prose({ text, inline = false }) {
  const one = (pieces) => pieces.map((piece) => (typeof piece === "string" ? html`<${Visible} text=${piece} />`
    : html`<code><${Visible} text=${piece.code} /></code>`));
  const all = paragraphs(String(text ?? ""));
  return inline ? all.map((pieces, at) => html`${at > 0 && " "}${one(pieces)}`) : all.map((pieces) => html`<p>${one(pieces)}</p>`);
}

/** The button below a list that has more. */
export function More({ more, busy, onMore, words = "Show more" }) {
  if (!more) return null;
  return html`<p class="more"><${Button} busy=${busy} onClick=${onMore}>${busy ? "Loading…" : words}</${Button}></p>`;
}

export const Loading = ({ label = "Loading…" }) =>
  html`<p class="loading" role="status"><span class="spinner" aria-hidden="true"></span>${label}</p>`;

/** What a load gave: its loading state, its problem, or what `children(data)` makes of it. */
export function Loaded({ from, children, label }) {
  if (from.problem && !from.data) return html`<${ErrorBox} problem=${from.problem} onRetry=${from.reload} />`;
  if (!from.data) return html`<${Loading} label=${label} />`;
  return html`${from.problem && html`<${ErrorBox} problem=${from.problem} onRetry=${from.reload} />`}
  ${children(from.data)}`;
}

/** Ask before something that cannot be taken back. */
export function Confirm({ title, children, words = "Do it", kind = "danger", onYes, onClose }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const yes = async () => {
    setBusy(true);
    const began = Date.now();
    try {
      await onYes();
      if (!saidSince(began)) say("Done");
      onClose();
    } catch (error) {
      setProblem(error);
      setBusy(false);
    }
  };
  const actions = html`<${Button} kind=${kind} busy=${busy} onClick=${yes}>${words}</${Button}>
    <${Button} onClick=${onClose}>Leave it</${Button}>`;
  return html`<${Dialog} title=${title} onClose=${onClose} actions=${actions}>
    ${children}
    <${ErrorBox} problem=${problem} />
  </${Dialog}>`;
}
