// A message as people see it: who, when, what, with the files and calls that hang on it.

import { run, session } from "../api.js";
import { Marked } from "../markdown.js";
import { fullName, nameOf } from "../names.js";
import { Button, Confirm, ErrorBox, html, Time, toast, useLayoutEffect, useMemo, useRef, useState, Visible } from "../ui.js";
import { visibleText } from "../visible.js";
import { Attached } from "./attached.js";
import { CallCard } from "./card.js";
import { shortName } from "./filewords.js";
import { Folded } from "./folded.js";
import { Named, Sender, senderOf } from "./sender.js";
import { placeOf } from "./timeline.js";

const HUES = 12;

/** A colour for somebody, always the same; only decoration, the name stands beside it. */
export function hue(id) {
  let sum = 7;
  for (const char of id) sum = (sum * 31 + char.codePointAt(0)) % 9973;
  return sum % HUES;
}

const initials = (id) => [...visibleText(id)].slice(0, 1).join("").toUpperCase();

export function Face({ id, kind }) {
  return html`<span class=${`face hue-${hue(id)} ${kind === "human" ? "" : "ai"}`} aria-hidden="true">${initials(id)}</span>`;
}

export function Said({ message, joined, mine, aimed, path, facts, mentions, answered, onReply, reach }) {
  const [editing, setEditing] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const [trace, setTrace] = useState(null);
  const whole = useRef(null);
  const edit = useRef(null);
  const edited = useRef(false);
  // Whoever changed the message, or left it, goes on where they began.
  useLayoutEffect(() => {
    if (edited.current && !editing) {
      whole.current.focus({ preventScroll: true }); // as long as nothing in it has the focus, its buttons are hidden
      (edit.current ?? document.querySelector("[data-composer]"))?.focus();
    }
    edited.current = editing;
  }, [editing]);
  const keeps = ["owner", "admin"].includes(facts.members[session.value.user]);
  // The same node for the same revision, which is then not worked out anew whenever something else in the room changes.
  const body = useMemo(() => message.text && html`<${Folded} text=${message.text} mentions=${mentions} />`, [message.revision, mentions]);
  const gone = message.deletedAt !== null && message.deletedAt !== undefined;
  const cards = (message.attachments ?? []).filter((one) => one.type === "call");
  const files = (message.attachments ?? []).filter((one) => one.type === "file");
  const earlier = async () => {
    try {
      const { result } = await run("room/message", { name: message.room, message: message.id });
      setTrace(result.earlier ?? result.edits ?? []);
    } catch (problem) {
      toast(problem.detail || problem.message);
    }
  };
  return html`<article ref=${whole} class=${`said ${joined ? "joined" : ""} ${aimed ? "aimed" : ""} ${mine ? "mine" : ""} kind-${message.kind}`} tabindex=${reach ? "0" : "-1"} id=${`m-${message.id}`} aria-label=${visibleText(senderOf(message))}>
    ${!joined && html`<${Face} id=${message.sender} kind=${message.kind} />`}
    <div class="said-body">
      ${joined
        ? html`<span class="unseen"><${Visible} text=${senderOf(message)} />, <${Time} at=${message.at} form="day" /></span>`
        : html`<p class="said-head"><span><${Sender} message=${message} /></span>
            ${message.kind !== "human" && html`<span class="kind-word">${message.kind === "ai" ? "AI" : "program"}</span>`}
            <span class="quiet"><${Time} at=${message.at} form="day" /></span></p>`}
      ${answered && html`<a class="answers" href=${placeOf({ room: message.room, id: answered.id })}>↪ ${answered.sender ? html`<strong><${Visible} text=${senderOf(answered)} /></strong> <${Visible} text=${(answered.text || "a message").slice(0, 120)} />` : "an earlier message"}</a>`}
      ${gone
        ? html`<p class="quiet gone">Taken back by <${Visible} text=${nameOf(message.deletedBy)} />.</p>`
        : editing
          ? html`<${Edit} message=${message} onDone=${() => setEditing(false)} />`
          : html`${body}
              ${files.map((one) => html`<${Attached} file=${one} path=${path} key=${one.id} />`)}
              ${cards.map((one, index) => html`<${CallCard} card=${one} key=${index} />`)}`}
      ${message.editedAt && !gone && html`<p class="edited quiet">edited <${Time} at=${message.editedAt} />
        ${keeps && html` · <button type="button" class="linklike" onClick=${earlier}>earlier versions</button>`}</p>`}
      ${gone && keeps && html`<p class="edited quiet"><button type="button" class="linklike" onClick=${earlier}>what it was</button></p>`}
      ${trace && html`<div class="trace">${trace.length ? trace.map((one) => html`<p><span class="quiet"><${Time} at=${one.at} /></span> <${Visible} text=${one.text} lines /></p>`) : html`<p class="quiet">Nothing earlier is kept.</p>`}</div>`}
    </div>
    ${!gone && !editing && !facts.archived && html`<div class="said-actions">
      <${Button} kind="small plain" onClick=${() => onReply(message)}>Reply<span class="unseen"> to ${visibleText(senderOf(message))}</span></${Button}>
      ${mine && !cards.length && html`<${Button} kind="small plain" buttonRef=${edit} onClick=${() => setEditing(true)}>Edit</${Button}>`}
      ${(mine || keeps) && html`<${Button} kind="small plain" onClick=${() => setDeleting(true)}>Take back</${Button}>`}
    </div>`}
    ${deleting && html`<${Confirm} title="Take this message back?" words="Take it back" onClose=${() => setDeleting(false)}
      onYes=${() => run("room/delete", { name: message.room, message: message.id })}>
      <p>Everybody sees that something stood here, and who took it back. Owners and admins of the room can still read it.</p>
    </${Confirm}>`}
  </article>`;
}

function Edit({ message, onDone }) {
  const [text, setText] = useState(message.text);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const save = async () => {
    if (!text.trim() || text === message.text) return onDone();
    setBusy(true);
    try {
      await run("room/edit", { name: message.room, message: message.id, text });
      return onDone();
    } catch (error) {
      setProblem(error);
      setBusy(false);
      return undefined;
    }
  };
  const key = (event) => {
    if (event.key === "Escape") onDone();
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      save();
    }
  };
  const area = useRef(null);
  useLayoutEffect(() => {
    area.current.focus();
    area.current.setSelectionRange(text.length, text.length);
  }, []);
  return html`<div class="edit">
    <textarea aria-label="The message" rows="3" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${key} ref=${area}></textarea>
    <${ErrorBox} problem=${problem} />
    <div class="actions"><${Button} kind="small primary" busy=${busy} onClick=${save}>Save</${Button}>
      <${Button} kind="small" onClick=${onDone}>Leave it</${Button}></div>
  </div>`;
}

/** What this browser sends, shown before the server has said that it has it. */
export function Sending({ entry, me, onDiscard }) {
  const words = entry.refused ? "not sent" : entry.problem ? "not sent yet; it is tried again" : entry.message ? "sent" : "sending…";
  return html`<article class="said mine sending" aria-label="Being sent">
    <${Face} id=${me} kind="human" />
    <div class="said-body">
      <p class="said-head"><span><${Named} id=${me} /></span>
        <span class="quiet">${words}</span></p>
      <${Folded} text=${entry.text} />
      ${entry.refused && html`<${ErrorBox} problem=${entry.problem} /><${Button} kind="small" onClick=${onDiscard}>Discard it</${Button}>`}
      ${entry.attachments.map((one) => html`<p class="quiet" title=${visibleText(one.name)}>${shortName(visibleText(one.name))}</p>`)}
    </div>
  </article>`;
}

/** An AI's answer while it is written. */
export function Draft({ draft, mentions }) {
  return html`<article class="said draft kind-ai" aria-label=${`${visibleText(fullName(draft.sender))} writes`}>
    <${Face} id=${draft.sender} kind="ai" />
    <div class="said-body">
      <p class="said-head"><span><${Named} id=${draft.sender} /></span><span class="kind-word">AI</span><span class="quiet">writes…</span></p>
      <${Marked} text=${draft.text} mentions=${mentions} />
    </div>
  </article>`;
}
