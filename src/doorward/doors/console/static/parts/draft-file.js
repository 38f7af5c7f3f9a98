// @ts-check
// One file of a draft's difference: its counts, its warnings, and its hunks, which are loaded when it is opened.

import { run } from "../lib/api.js";
import { parseDiff } from "../lib/diff.js";
import { chooseFile, chooseHunk, isHunkChosen, readState } from "../lib/draft-choice.js";
import { escapeInvisible } from "../lib/escape-invisible.js";
import { formatNumber } from "../lib/format.js";
import { DiffLines } from "./diff.js";
import { Badge, ErrorBox, html, Loading, SafeText, useLayoutEffect, useLoad, useMemo, useRef, useState } from "./ui.js";

/**
 * Where a difference comes from: the draft with `id` as it is now, or what was submitted with `approval`.
 *
 * @typedef {{room: string, id?: string, approval?: string}} DraftSource
 */

/** @type {Record<DraftFile["change"], [string, string] | null>} */
const CHANGES = { created: ["good", "new"], deleted: ["bad", "deleted"], changed: null };

const PART = 50_000; // characters of a hunk to load at once

/** A checkbox that can be half-checked. */
export function Tick({ state, label, onChange, disabled = false }) {
  /** @type {import("../vendor/preact.js").Ref<HTMLInputElement>} */
  const element = useRef(null);
  useLayoutEffect(() => {
    element.current.indeterminate = state === "some";
  }, [state]);
  return html`<input type="checkbox" ref=${element} checked=${state === "all"} aria-label=${label} disabled=${disabled}
    onChange=${(event) => onChange(event.currentTarget.checked)} />`;
}

/** The path of a file, with its folder less prominent than its name. */
function FilePath(/** @type {{path: string}} */ { path }) {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const folder = path.slice(0, path.length - name.length);
  return html`<span class="review-path"
    >${folder && html`<span class="quiet"><${SafeText} text=${folder} /></span>`}<strong><${SafeText} text=${name} /></strong></span
  >`;
}

/** Numbers of added and removed lines. */
export function LineCounts({ added, removed }) {
  return html`<span class="review-counts">
    <span class="plus" aria-hidden="true">+${formatNumber(added)}</span> <span class="minus" aria-hidden="true">−${formatNumber(removed)}</span>
    <span class="unseen">, ${formatNumber(added)} added, ${formatNumber(removed)} removed</span>
  </span>`;
}

/** @typedef {import("../lib/draft-choice.js").Left} Left */

/**
 * @typedef {{
 *   file: DraftFile, source: DraftSource, version: string, left: Left, setLeft: (change: (before: Left) => Left) => void,
 *   choosable: boolean, opened: boolean, onChanged: () => void
 * }} FileProps `opened` says whether it is open at first; `onChanged` is called when the draft changed since it was listed
 */

/** A file in the list. It renders again only when the choice of this very file changes, since there may be many. */
export function DraftFileEntry(/** @type {FileProps} */ props) {
  return useMemo(() => html`<${OpenableFile} ...${props} />`, [props.file, props.left.get(props.file.path), props.version, props.choosable]);
}

/** @param {FileProps} props */
function OpenableFile({ file, source, version, left, setLeft, choosable, opened, onChanged }) {
  const [open, setOpen] = useState(opened);
  const name = escapeInvisible(file.path);
  const change = CHANGES[file.change];
  const state = readState(file, left);
  return html`<li class=${`review-file ${state === "none" ? "left" : ""}`}>
    <div class="review-head">
      ${choosable && html`<${Tick} state=${state} label=${`Merge ${name}`} onChange=${(chosen) => setLeft((before) => chooseFile(before, file, chosen))} />`}
      <button type="button" class="review-toggle" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>
        <span class="review-arrow" aria-hidden="true">${open ? "▾" : "▸"}</span>
        <${FilePath} path=${file.path} />
        ${change && html`<${Badge} tone=${change[0]}>${change[1]}</${Badge}>`}
        ${state === "none" && html`<${Badge}>stays in the draft</${Badge}>`}
        <${LineCounts} added=${file.linesAdded} removed=${file.linesRemoved} />
      </button>
    </div>
    ${file.later && html`<p class="review-warning"><strong>Runs later:</strong> <${SafeText} text=${file.later} /></p>`}
    ${open &&
    html`<div class="review-body">
      ${file.note && html`<p class="quiet review-note"><${SafeText} text=${sentence(file.note)} /></p>`}
      ${file.mergedByLines && html`<p class="quiet review-note">You changed this file too. Both changes are merged.</p>`}
      ${file.hunks > 0 &&
      html`<${Hunks} file=${file} source=${source} version=${version} left=${left} setLeft=${setLeft} choosable=${choosable} onChanged=${onChanged} />`}
    </div>`}
  </li>`;
}

const sentence = (/** @type {string} */ text) => `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}.`;

/** @param {Omit<FileProps, "opened">} props */
function Hunks({ file, source, version, left, setLeft, choosable, onChanged }) {
  const { room, ...which } = source;
  /** @type {Loadable<DraftHunk[]>} */
  const from = useLoad(async () => {
    const { result } = await run("draft/hunks", { ...which, path: file.path }, { room });
    if (result.version !== version) onChanged();
    return result.hunks;
  }, [file.path, version]);
  if (from.problem && !from.data) return html`<${ErrorBox} problem=${from.problem} onRetry=${from.reload} />`;
  if (!from.data) return html`<${Loading} label="Loading hunks…" />`;
  const loadMore = (/** @type {DraftHunk} */ hunk) => async () => {
    const params = { ...which, path: file.path, hunk: hunk.number, offset: hunk.next, limit: PART };
    const [more] = (await run("draft/hunks", params, { room })).result.hunks;
    const joined = { ...hunk, text: hunk.text + more.text, next: more.next };
    from.setData((before) => before && before.map((one) => (one.number === hunk.number ? joined : one)));
  };
  return from.data.map(
    (hunk) => html`<${Hunk} key=${hunk.number} hunk=${hunk} name=${escapeInvisible(file.path)} total=${file.hunks}
      chosen=${isHunkChosen(file, hunk.number, left)} choosable=${choosable && file.hunks > 1} loadMore=${hunk.next === null ? null : loadMore(hunk)}
      onChange=${(chosen) => setLeft((before) => chooseHunk(before, file, hunk.number, chosen))} />`,
  );
}

/**
 * @param {{
 *   hunk: DraftHunk, name: string, total: number, chosen: boolean, choosable: boolean,
 *   loadMore: (() => Promise<void>) | null, onChange: (chosen: boolean) => void
 * }} props
 */
function Hunk({ hunk, name, total, chosen, choosable, loadMore, onChange }) {
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const lines = useMemo(() => parseDiff(hunk.text).filter((line) => line.kind !== "place"), [hunk.text]);
  const place = /^@@ [^@]* @@/.exec(hunk.text)?.[0] ?? "";
  const label = `Hunk ${hunk.number} of ${total} of ${name}`;
  const load = async () => {
    try {
      await loadMore?.();
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
  };
  return html`<div class=${`review-hunk ${chosen ? "" : "left"}`}>
    <div class="review-hunk-head">
      ${choosable
        ? html`<label><${Tick} state=${chosen ? "all" : "none"} label=${`Merge hunk ${hunk.number} of ${total} of ${name}`} onChange=${onChange} />
            <span aria-hidden="true">Hunk ${hunk.number} of ${total}</span></label>`
        : total > 1 && html`<span>Hunk ${hunk.number} of ${total}</span>`}
      <code class="quiet">${place}</code>
      ${choosable && !chosen && html`<${Badge}>stays in the draft</${Badge}>`}
      <${LineCounts} added=${hunk.linesAdded} removed=${hunk.linesRemoved} />
    </div>
    <${DiffLines} lines=${lines} label=${label} numbers loadMore=${loadMore && load} />
    <${ErrorBox} problem=${problem} />
  </div>`;
}
