// @ts-check
// The ledger: search, a chart over time, verification and export.

import { get, session } from "../lib/api.js";
import { formatNumber } from "../lib/format.js";
import { loadStylesheet } from "../lib/stylesheet.js";
import { onEvent } from "../lib/live.js";
import { Chart, STATUSES } from "../parts/chart.js";
import {
  Badge,
  Button,
  Code,
  describeState,
  Dialog,
  Empty,
  ErrorBox,
  Field,
  html,
  Loading,
  MoreButton,
  Page,
  SafeText,
  showToast,
  StateBadge,
  Table,
  Time,
  useEffect,
  useLoad,
  useMemo,
  useReload,
  useState,
} from "../parts/ui.js";
import RecordPage from "./record.js";

await loadStylesheet("history.css");

const PAGE = 50;
const MAX_EXPORTED = 10_000;
const FIELDS = ["command", "caller", "inRoom", "door", "status", "code", "call"];
/** @type {Record<string, string>} */
const FIELD_NAMES = { inRoom: "room", status: "outcome", call: "execution" };
const SPANS = [
  ["1h", "Last hour"],
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
  ["3650d", "All"],
  ["", "Custom…"],
];
/** @type {Record<string, number>} */
const UNITS = { h: 3600, d: 86_400 };

/** @typedef {Record<string, string>} Query */

/** @param {PageProps} props */
export default function LedgerPage({ params, navigate }) {
  if (params.id) return html`<${RecordPage} id=${params.id} />`;
  return html`<${RecordList} query=${params.query} navigate=${navigate} />`;
}

/** The time span of a query; an empty `until` means now. @param {Query} query */
function readSpan(query) {
  const age = /^(\d{1,5})([hd])$/.exec(query.since ?? "24h");
  if (age) return { since: new Date(Date.now() - Number(age[1]) * UNITS[age[2]] * 1000).toISOString(), until: "" };
  return { since: query.since, until: query.until ?? "" };
}

/** @param {{query: Query, navigate: Navigate}} props */
function RecordList({ query, navigate }) {
  const key = JSON.stringify(query);
  const span = useMemo(() => readSpan(query), [key]);
  const filters = useMemo(() => Object.fromEntries(FIELDS.filter((one) => query[one]).map((one) => [one, query[one]])), [key]);
  const [loadingMore, setLoadingMore] = useState(false);
  const [moreProblem, setMoreProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [hasNewer, setHasNewer] = useState(false);
  const [verifying, setVerifying] = useState(false);
  const [version, setVersion] = useState(0);
  const refresh = () => setVersion((count) => count + 1);

  const list = (/** @type {any} */ cursor) => get("/audit", { ...filters, ...span, limit: PAGE, cursor: cursor ?? undefined });
  /** @type {Loadable<{items: any[], cursor: any}>} */
  const records = useLoad(() => list(null));
  const chart = useLoad((signal) => get("/audit/timeline", { ...filters, ...span }, { signal }));
  const reload = () => {
    setHasNewer(false);
    setMoreProblem(null);
    records.reload();
    chart.reload();
  };
  useReload(reload, [key, version]);
  const { data: page } = records;
  const { data: timeline } = chart;
  const busy = records.loading || chart.loading || loadingMore;
  const problem = records.problem ?? chart.problem ?? moreProblem;
  // This page's own requests are recorded too, but they are not news.
  useEffect(() => onEvent("ai:command-executed", ({ data }) => data.caller !== session.value?.user && setHasNewer(true)), []);

  const loadMore = async () => {
    setLoadingMore(true);
    try {
      const next = await list(page?.cursor);
      records.setData((before) => ({ items: [...(before?.items ?? []), ...next.items], cursor: next.cursor }));
      setMoreProblem(null);
    } catch (error) {
      setMoreProblem(error);
    }
    setLoadingMore(false);
  };
  const go = (/** @type {Query} */ changes) => {
    const wanted = { ...query, ...changes };
    const text = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value)).toString();
    navigate(text ? `/console/ledger?${text}` : "/console/ledger", { replace: false });
    refresh();
  };

  const actions = html`<${Button} busy=${busy} onClick=${reload}>Refresh</${Button}>
    <${ExportButton} list=${list} />
    ${session.value?.access === "root" && html`<${Button} onClick=${() => setVerifying(true)}>Verify…</${Button}>`}`;
  return html`<${Page} title="Ledger" wide actions=${actions}>
    <${Filters} key=${key} query=${query} go=${go} />
    ${timeline &&
    html`<${Chart} timeline=${timeline} busy=${busy} onSpan=${(since, until) => go({ since: since.toISOString(), until: until.toISOString() })} />`}
    ${!timeline && !problem && html`<div class="chart-space"><${Loading} label="Loading chart…" /></div>`}
    <${ErrorBox} problem=${problem} onRetry=${reload} />
    <p class="newer" role="status">${hasNewer && html`<${Button} kind="quiet small" onClick=${reload}>Show newer records</${Button}>`}</p>
    ${!page && !problem && html`<${Loading} />`}
    ${page &&
    html`<${Table} caption="Records, newest first" columns=${COLUMNS} rows=${page.items}
        onOpen=${(row) => navigate(`/console/ledger/${row.id}`)}
        empty=${html`<${Empty} title="No records found"><p>No record in this time span matches all filters.</p>
          ${filters.command && html`<p>The command filter needs a full name, such as <code>file/write</code>.</p>`}</${Empty}>`} />
      <${MoreButton} more=${page.cursor} busy=${busy} onMore=${loadMore} label="Show older" />`}
    ${timeline?.oldest &&
    new Date(timeline.oldest) > new Date(span.since) &&
    html`<p class="quiet">The oldest record here is from <${Time} at=${timeline.oldest} form="exact" />. Older records may have been moved to files; <code>doorward audit export</code> reads those too.</p>`}
    ${verifying && html`<${VerifyDialog} onClose=${() => setVerifying(false)} />`}
  </${Page}>`;
}

const formatMs = (/** @type {number} */ ms) => (ms ? `${ms < 100 ? ms.toFixed(1) : Math.round(ms)} ms` : "–");

/** @type {Column[]} */
const COLUMNS = [
  { key: "id", title: "No.", class: "number", render: (row) => html`<a href=${`/console/ledger/${row.id}`}>${row.id}</a>` },
  { key: "at", title: "Time", render: (row) => html`<${Time} at=${row.at} />` },
  { key: "status", title: "Outcome", render: (row) => html`<${StateBadge} state=${row.status} />` },
  {
    key: "command",
    title: "Command",
    render: (row) => html`<code><${SafeText} text=${row.command} /></code>${row.code && row.code !== "ok" && html` <${Badge}>${row.code}</${Badge}>`}`,
  },
  {
    key: "caller",
    title: "Caller",
    render: (row) => html`<${SafeText} text=${row.caller} />${row.onBehalfOf && html`<span class="quiet"> for <${SafeText} text=${row.onBehalfOf} /></span>`}`,
  },
  { key: "room", title: "Room" },
  { key: "door", title: "Door" },
  { key: "durationMs", title: "Duration", class: "number", render: (row) => formatMs(row.durationMs) },
];

/** @param {{query: Query, go: (changes: Query) => void}} props */
function Filters({ query, go }) {
  const [values, setValues] = useState(query);
  const [open, setOpen] = useState(Boolean(query.caller || query.inRoom || query.door || query.code || query.call));
  const change = (name) => (event) => setValues({ ...values, [name]: event.target.value.trim() });
  const submit = (event) => {
    event.preventDefault();
    go(values);
  };
  const since = query.since ?? "24h";
  const preset = SPANS.some(([value]) => value === since) ? since : "";
  const [custom, setCustom] = useState(!preset);
  const chooseSpan = (event) => {
    if (event.target.value) go({ ...values, since: event.target.value, until: "" });
    else setCustom(true);
  };
  const active = FIELDS.filter((one) => query[one]);
  const clear = () => go(Object.fromEntries([...FIELDS, "since", "until"].map((one) => [one, ""])));
  const statuses = [["", "any"], ...[...STATUSES, "started"].map((one) => [one, describeState(one)])];
  const text = (/** @type {string} */ label, /** @type {string} */ name) =>
    html`<${Field} label=${label} placeholder="any" value=${values[name] ?? ""} onInput=${change(name)} autocomplete="off" />`;
  return html`<form class="ledger-filters card" role="search" aria-label="Records" onSubmit=${submit}>
    <div class="filter-row">
      <${Field} label="Command" type="search" data-search placeholder="any" title="The full name of a command, such as file/write" value=${values.command ?? ""} onInput=${change("command")} autocomplete="off" spellcheck=${false} />
      <${Field} label="Outcome" value=${values.status ?? ""} options=${statuses} onChange=${(event) => go({ ...values, status: event.target.value })} />
      <${Field} label="Time" value=${custom ? "" : preset} options=${SPANS} onChange=${chooseSpan} />
      ${open && html`${text("Caller", "caller")} ${text("Room", "inRoom")} ${text("Door", "door")} ${text("Code", "code")} ${text("Execution", "call")}`}
    </div>
    ${custom && html`<${CustomSpan} query=${query} onGo=${(since, until) => go({ ...values, since, until })} />`}
    <div class="actions">
      <${Button} kind="primary" type="submit">Search</${Button}>
      <${Button} kind="plain" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>${open ? "Fewer filters" : "More filters"}</${Button}>
      ${(active.length > 0 || query.since) && html`<${Button} kind="plain" onClick=${clear}>Clear filters</${Button}>`}
      ${active.map(
        (one) => html`<${Button} key=${one} kind="quiet small" onClick=${() => go({ [one]: "" })} aria-label=${`Remove filter ${FIELD_NAMES[one] ?? one} ${query[one]}`}>
          ${FIELD_NAMES[one] ?? one}: <${SafeText} text=${one === "status" ? describeState(query[one]) : query[one]} /> <span aria-hidden="true">✕</span></${Button}>`,
      )}
    </div>
  </form>`;
}

/** A time in the format of the browser's picker, in local time. @param {string} at */
function toLocalInput(at) {
  if (!at || Number.isNaN(Date.parse(at))) return "";
  const when = new Date(at);
  return new Date(when.getTime() - when.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function CustomSpan({ query, onGo }) {
  const span = readSpan(query);
  const [since, setSince] = useState(toLocalInput(span.since));
  const [until, setUntil] = useState(toLocalInput(span.until));
  const toIso = (/** @type {string} */ text) => (text ? new Date(text).toISOString() : "");
  return html`<div class="filter-row between">
    <${Field} label="From" type="datetime-local" step="1" value=${since} onInput=${(event) => setSince(event.target.value)} />
    <${Field} label="To" type="datetime-local" step="1" hint="Leave empty for now." value=${until} onInput=${(event) => setUntil(event.target.value)} />
    <${Button} disabled=${!since} onClick=${() => onGo(toIso(since), toIso(until))}>Apply</${Button}>
  </div>`;
}

function VerifyDialog({ onClose }) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  useEffect(() => {
    get("/audit/verify").then(setFound, setProblem);
  }, []);
  return html`<${Dialog} title="Verify the ledger" onClose=${onClose}>
    ${!found && !problem && html`<${Loading} label="Checking every record…" />`}
    <${ErrorBox} problem=${problem} />
    ${found?.verified &&
    html`<p class="note info" role="status"><strong>Verified.</strong> ${formatNumber(found.records)} records, ${formatNumber(found.checkpoints)} checkpoints and ${found.segments} archived files are unchanged.${found.deleted.length > 0 && html` Deleted by the setting <code>ledger.keep_days</code>: ${found.deleted.join(", ")}.`}</p>`}
    ${found &&
    !found.verified &&
    html`<div class="error-box" role="alert"><p><strong>The ledger has been altered.</strong></p><${Code} label="Problem">${found.broken}</${Code}></div>`}
  </${Dialog}>`;
}

/** Saves the matching records as lines of JSON, up to a limit. The terminal exports the whole ledger. */
function ExportButton({ list }) {
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      /** @type {string[]} */
      const lines = [];
      let cursor;
      do {
        const page = await list(cursor);
        for (const item of page.items) lines.push(JSON.stringify(item));
        cursor = page.cursor;
      } while (cursor && lines.length < MAX_EXPORTED);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "application/x-ndjson" }));
      link.download = "ledger.jsonl";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      if (cursor) showToast(`Exported the newest ${lines.length} records. For all records: doorward audit export`);
    } catch (error) {
      showToast(error.detail || error.message);
    }
    setBusy(false);
  };
  return html`<${Button} busy=${busy} onClick=${save}>${busy ? "Exporting…" : "Export"}<span class="unseen"> these records as lines of JSON</span></${Button}>`;
}
