// The record of everything that was asked: search it, see it over time, and look at each record whole.

import { get, part, session } from "../api.js";
import { Chart, STATUSES } from "../chart.js";
import { onEvent } from "../live.js";
import { sheet } from "../sheet.js";
import {
  Badge,
  Button,
  Code,
  Dialog,
  Empty,
  ErrorBox,
  Field,
  html,
  Loading,
  More,
  Page,
  State,
  stateWords,
  Table,
  Time,
  toast,
  useEffect,
  useMemo,
  useRef,
  useState,
  Visible,
} from "../ui.js";
import OneRecord from "./record.js";

await sheet("history.css");

const PAGE = 50;
const MOST_EXPORTED = 10_000;
const FIELDS = ["command", "caller", "inRoom", "door", "status", "code", "call"];
const SPANS = [
  ["1h", "The last hour"],
  ["24h", "The last day"],
  ["7d", "The last 7 days"],
  ["30d", "The last 30 days"],
  ["3650d", "All of it"],
  ["", "From … to …"],
];
const UNITS = { h: 3600, d: 86_400 };

export default function Ledger({ params, navigate }) {
  if (params.id) return html`<${OneRecord} id=${params.id} />`;
  return html`<${Search} query=${params.query} navigate=${navigate} />`;
}

/** The span of a query as two moments; `until` is empty for now. */
function spanOf(query) {
  const age = /^(\d{1,5})([hd])$/.exec(query.since ?? "24h");
  if (age) return { since: new Date(Date.now() - age[1] * UNITS[age[2]] * 1000).toISOString(), until: "" };
  return { since: query.since, until: query.until ?? "" };
}

function Search({ query, navigate }) {
  const key = JSON.stringify(query);
  const span = useMemo(() => spanOf(query), [key]);
  const filters = useMemo(() => Object.fromEntries(FIELDS.filter((one) => query[one]).map((one) => [one, query[one]])), [key]);
  const [page, setPage] = useState({ items: null, cursor: null });
  const [timeline, setTimeline] = useState(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(null);
  const [newer, setNewer] = useState(false);
  const [verifying, setVerifying] = useState(false);
  const [again, setAgain] = useState(0);
  const turn = useRef(0);

  const list = (cursor) => get("/audit", { ...filters, ...span, limit: PAGE, cursor: cursor ?? undefined });
  useEffect(() => {
    const mine = ++turn.current;
    const abort = new AbortController();
    setBusy(true);
    setNewer(false);
    const fresh = (set) => (data) => mine === turn.current && set(data);
    Promise.all([
      list().then(fresh(setPage)),
      get("/audit/timeline", { ...filters, ...span }, { signal: abort.signal }).then(fresh(setTimeline)),
    ])
      .then(() => mine === turn.current && setProblem(null))
      .catch((error) => mine === turn.current && error.name !== "AbortError" && setProblem(error))
      .finally(() => mine === turn.current && setBusy(false));
    return () => abort.abort();
  }, [key, again]);
  // What this page itself asks for is recorded too, and no news.
  useEffect(() => onEvent("ai:command-executed", ({ data }) => data.caller !== session.value?.user && setNewer(true)), []);

  const more = async () => {
    setBusy(true);
    try {
      const next = await list(page.cursor);
      setPage((before) => ({ items: [...before.items, ...next.items], cursor: next.cursor }));
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  };
  const go = (changes) => {
    const wanted = { ...query, ...changes };
    const text = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value)).toString();
    navigate(text ? `/console/ledger?${text}` : "/console/ledger", { replace: false });
    setAgain((count) => count + 1);
  };

  const actions = html`<${Button} busy=${busy} onClick=${() => setAgain(again + 1)}>Look again</${Button}>
    <${Export} list=${list} />
    ${session.value?.access === "root" && html`<${Button} onClick=${() => setVerifying(true)}>Verify…</${Button}>`}`;
  return html`<${Page} title="Ledger" wide actions=${actions}>
    <${Filters} key=${key} query=${query} go=${go} />
    ${timeline && html`<${Chart} timeline=${timeline} busy=${busy}
      onSpan=${(since, until) => go({ since: since.toISOString(), until: until.toISOString() })} />`}
    ${!timeline && !problem && html`<div class="chart-space"><${Loading} label="Counting…" /></div>`}
    <${ErrorBox} problem=${problem} onRetry=${() => setAgain(again + 1)} />
    <p class="newer" role="status">${newer && html`<${Button} kind="quiet small" onClick=${() => setAgain(again + 1)}>There are newer records: show them</${Button}>`}</p>
    ${page.items === null && !problem && html`<${Loading} />`}
    ${page.items && html`<${Table} caption="Records, newest first" columns=${COLUMNS} rows=${page.items}
        onOpen=${(row) => navigate(`/console/ledger/${row.id}`)}
        empty=${html`<${Empty} title="No record fits"><p>Nothing was asked in this span that fits all of these conditions.</p>
          ${filters.command && html`<p>A command is looked for by its whole name, such as <code>file/write</code>.</p>`}</${Empty}>`} />
      <${More} more=${page.cursor} busy=${busy} onMore=${more} words="Show older ones" />`}
    ${timeline?.oldest && new Date(timeline.oldest) > new Date(span.since) && html`<p class="quiet">The oldest record here is of${" "}
      <${Time} at=${timeline.oldest} form="exact" />. If there were older ones, they were moved out to files; <code>doorward audit export</code> reads those too.</p>`}
    ${verifying && html`<${Verify} onClose=${() => setVerifying(false)} />`}
  </${Page}>`;
}

const COLUMNS = [
  { key: "id", title: "No.", class: "number", render: (row) => html`<a href=${`/console/ledger/${row.id}`}>${row.id}</a>` },
  { key: "at", title: "When", render: (row) => html`<${Time} at=${row.at} />` },
  { key: "status", title: "Status", render: (row) => html`<${State} state=${row.status} />` },
  {
    key: "command",
    title: "Command",
    render: (row) => html`<code><${Visible} text=${row.command} /></code>${row.code && row.code !== "ok" && html` <${Badge}>${row.code}</${Badge}>`}`,
  },
  {
    key: "caller",
    title: "Who",
    render: (row) => html`<${Visible} text=${row.caller} />${row.onBehalfOf && html`<span class="quiet"> for <${Visible} text=${row.onBehalfOf} /></span>`}`,
  },
  { key: "room", title: "Room" },
  { key: "door", title: "Door" },
  { key: "durationMs", title: "Took", class: "number", render: (row) => (row.durationMs ? `${row.durationMs < 100 ? row.durationMs.toFixed(1) : Math.round(row.durationMs)} ms` : "–") },
];

function Filters({ query, go }) {
  const [given, setGiven] = useState(query);
  const [open, setOpen] = useState(Boolean(query.caller || query.inRoom || query.door || query.code || query.call));
  const set = (name) => (event) => setGiven({ ...given, [name]: event.target.value.trim() });
  const submit = (event) => {
    event.preventDefault();
    go(given);
  };
  const since = query.since ?? "24h";
  const preset = SPANS.some(([value]) => value === since) ? since : "";
  const [custom, setCustom] = useState(!preset);
  const pick = (event) => {
    if (event.target.value) go({ ...given, since: event.target.value, until: "" });
    else setCustom(true);
  };
  const shown = FIELDS.filter((one) => query[one]);
  return html`<form class="ledger-filters card" role="search" aria-label="Records" onSubmit=${submit}>
    <div class="filter-row">
      <${Field} label="Command" type="search" data-search placeholder="any" title="The whole name of a command, such as file/write" value=${given.command ?? ""} onInput=${set("command")} autocomplete="off" spellcheck=${false} />
      <${Field} label="Status" value=${given.status ?? ""} options=${[["", "any"], ...[...STATUSES, "started"].map((one) => [one, stateWords(one)])]}
        onChange=${(event) => go({ ...given, status: event.target.value })} />
      <${Field} label="When" value=${custom ? "" : preset} options=${SPANS} onChange=${pick} />
      ${open &&
      html`<${Field} label="Who" placeholder="anybody" value=${given.caller ?? ""} onInput=${set("caller")} autocomplete="off" />
        <${Field} label="Room" placeholder="any" value=${given.inRoom ?? ""} onInput=${set("inRoom")} autocomplete="off" />
        <${Field} label="Door" placeholder="any" value=${given.door ?? ""} onInput=${set("door")} autocomplete="off" />
        <${Field} label="Code" placeholder="any" value=${given.code ?? ""} onInput=${set("code")} autocomplete="off" />
        <${Field} label="Execution" placeholder="any" value=${given.call ?? ""} onInput=${set("call")} autocomplete="off" />`}
    </div>
    ${custom && html`<${Between} query=${query} onGo=${(since, until) => go({ ...given, since, until })} />`}
    <div class="actions">
      <${Button} kind="primary" type="submit">Search</${Button}>
      <${Button} kind="plain" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>${open ? "Fewer conditions" : "More conditions"}</${Button}>
      ${(shown.length > 0 || query.since) &&
      html`<${Button} kind="plain" onClick=${() => go(Object.fromEntries([...FIELDS, "since", "until"].map((one) => [one, ""])))}>Start anew</${Button}>`}
      ${shown.map(
        (one) => html`<${Button} key=${one} kind="quiet small" onClick=${() => go({ [one]: "" })} aria-label=${`Without ${one} ${query[one]}`}>
          ${one === "inRoom" ? "room" : one}: <${Visible} text=${one === "status" ? stateWords(query[one]) : query[one]} /> <span aria-hidden="true">✕</span></${Button}>`,
      )}
    </div>
  </form>`;
}

/** A moment in the form that the browser's own picker takes, in the time of this place. */
function local(at) {
  if (!at || Number.isNaN(Date.parse(at))) return "";
  const when = new Date(at);
  return new Date(when.getTime() - when.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function Between({ query, onGo }) {
  const span = spanOf(query);
  const [since, setSince] = useState(local(span.since));
  const [until, setUntil] = useState(local(span.until));
  const iso = (text) => (text ? new Date(text).toISOString() : "");
  return html`<div class="filter-row between">
    <${Field} label="From" type="datetime-local" step="1" value=${since} onInput=${(event) => setSince(event.target.value)} />
    <${Field} label="To" type="datetime-local" step="1" hint="Empty for now" value=${until} onInput=${(event) => setUntil(event.target.value)} />
    <${Button} disabled=${!since} onClick=${() => onGo(iso(since), iso(until))}>Use this span</${Button}>
  </div>`;
}

function Verify({ onClose }) {
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    get("/audit/verify").then(setFound, setProblem);
  }, []);
  return html`<${Dialog} title="Is the record as it was written?" onClose=${onClose}>
    ${!found && !problem && html`<${Loading} label="Checking every record…" />`}
    <${ErrorBox} problem=${problem} />
    ${found?.verified && html`<p class="note info" role="status"><strong>Verified.</strong> ${found.records.toLocaleString("en")} records,${" "}
      ${found.checkpoints} checkpoints and ${found.segments} moved-out files are as they were written.</p>`}
    ${found && !found.verified && html`<div class="error-box" role="alert"><p><strong>The ledger is not as it was written.</strong></p>
      <${Code} label="What is wrong">${found.broken}</${Code}></div>`}
  </${Dialog}>`;
}

/** What fits the conditions, as lines of JSON, up to a limit; the whole ledger is for the terminal. */
function Export({ list }) {
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      const lines = [];
      let cursor;
      do {
        const page = await list(cursor);
        for (const item of page.items) lines.push(JSON.stringify(item));
        cursor = page.cursor;
      } while (cursor && lines.length < MOST_EXPORTED);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "application/x-ndjson" }));
      link.download = "ledger.jsonl";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      if (cursor) toast(`The newest ${lines.length} records were saved. For all of them: doorward audit export`);
    } catch (error) {
      toast(error.detail || error.message);
    }
    setBusy(false);
  };
  return html`<${Button} busy=${busy} onClick=${save}>${busy ? "Reading…" : "Export"}<span class="unseen"> these records as lines of JSON</span></${Button}>`;
}
