// @ts-check
// A message: sender, time, text, files and calls. Also messages being sent, and drafts of AIs.

import { run, session } from "../lib/api.js";
import { escapeInvisible } from "../lib/escape-invisible.js";
import { shortenFileName, truncateText } from "../lib/format.js";
import { fullName, nameOf, senderName } from "../lib/names.js";
import { messageUrl } from "../lib/timeline.js";
import { Attachment } from "./attachment.js";
import { CallCard } from "./call-card.js";
import { Markdown } from "./markdown.js";
import { Avatar, MemberName, Sender } from "./member.js";
import { Button, Confirm, describeKind, ErrorBox, html, SafeText, showToast, Time, useLayoutEffect, useMemo, useRef, useState } from "./ui.js";

/**
 * @param {{
 *   message: Message, joined: boolean, mine: boolean, targeted: boolean, path: string, facts: Room, mentions: Set<string>,
 *   original: Partial<Message> | null, onReply: (message: Message) => void, focusable: boolean
 * }} props `joined` continues the message before; `original` is the message it replies to
 */
export function MessageView({ message, joined, mine, targeted, path, facts, mentions, original, onReply, focusable }) {
  const [editing, setEditing] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const [versions, setVersions] = useState(/** @type {{at: string, text: string}[] | null} */ (null));
  /** @type {import("./ui.js").ElementRef} */
  const element = useRef(null);
  /** @type {import("./ui.js").ElementRef} */
  const editButton = useRef(null);
  const wasEditing = useRef(false);
  // After editing, the focus returns to the Edit button.
  useLayoutEffect(() => {
    if (wasEditing.current && !editing) {
      element.current.focus({ preventScroll: true }); // its buttons are hidden while nothing in it has the focus
      (editButton.current ?? /** @type {HTMLElement | null} */ (document.querySelector("[data-composer]")))?.focus();
    }
    wasEditing.current = editing;
  }, [editing]);
  const moderates = ["owner", "admin"].includes(facts.members[session.value?.user ?? ""]);
  // The same node for the same revision, so that other changes in the room do not render it again.
  const body = useMemo(
    () => message.text && html`<${CollapsibleText} text=${message.text} mentions=${mentions} />`,
    [message.revision, mentions],
  );
  const deleted = message.deletedAt !== null && message.deletedAt !== undefined;
  const cards = (message.attachments ?? []).filter((one) => one.type === "call");
  const files = (message.attachments ?? []).filter((one) => one.type === "file");
  const loadVersions = async () => {
    try {
      const { result } = await run("room/message", { name: message.room, message: message.id });
      setVersions(result.earlier ?? result.edits ?? []);
    } catch (problem) {
      showToast(problem.detail || problem.message);
    }
  };
  const versionsButton = (/** @type {string} */ label) =>
    html`<button type="button" class="linklike" onClick=${loadVersions}>${label}</button>`;
  return html`<article ref=${element} class=${`said ${joined ? "joined" : ""} ${targeted ? "aimed" : ""} ${mine ? "mine" : ""} kind-${message.kind}`}
    tabindex=${focusable ? "0" : "-1"} id=${`m-${message.id}`} aria-label=${escapeInvisible(senderName(message))}>
    ${!joined && html`<${Avatar} id=${message.sender} kind=${message.kind} />`}
    <div class="said-body">
      ${joined
        ? html`<span class="unseen"><${SafeText} text=${senderName(message)} />, <${Time} at=${message.at} form="day" /></span>`
        : html`<p class="said-head"><span><${Sender} message=${message} /></span>
            ${message.kind !== "human" && html`<span class="kind-word">${describeKind(message.kind)}</span>`}
            <span class="quiet"><${Time} at=${message.at} form="day" /></span></p>`}
      ${original &&
      html`<a class="answers" href=${messageUrl({ room: message.room, id: original.id ?? "" })}>↪ ${original.sender
        ? html`<strong><${SafeText} text=${senderName(/** @type {Message} */ (original))} /></strong> <${SafeText} text=${(original.text || "a message").slice(0, 120)} />`
        : "an earlier message"}</a>`}
      ${deleted
        ? html`<p class="quiet gone">Deleted by <${SafeText} text=${nameOf(message.deletedBy ?? "")} />.</p>`
        : editing
          ? html`<${MessageEditor} message=${message} onDone=${() => setEditing(false)} />`
          : html`${body}
              ${files.map((one) => html`<${Attachment} file=${one} path=${path} key=${one.id} />`)}
              ${cards.map((one, index) => html`<${CallCard} card=${one} key=${index} />`)}`}
      ${message.editedAt &&
      !deleted &&
      html`<p class="edited quiet">edited <${Time} at=${message.editedAt} />${moderates && html` · ${versionsButton("earlier versions")}`}</p>`}
      ${deleted && moderates && html`<p class="edited quiet">${versionsButton("show deleted text")}</p>`}
      ${versions &&
      html`<div class="trace">${versions.length
        ? versions.map((one) => html`<p><span class="quiet"><${Time} at=${one.at} /></span> <${SafeText} text=${one.text} lines /></p>`)
        : html`<p class="quiet">No earlier versions are stored.</p>`}</div>`}
    </div>
    ${!deleted &&
    !editing &&
    !facts.archived &&
    html`<div class="said-actions">
      <${Button} kind="small plain" onClick=${() => onReply(message)}>Reply<span class="unseen"> to ${escapeInvisible(senderName(message))}</span></${Button}>
      ${mine && !cards.length && html`<${Button} kind="small plain" buttonRef=${editButton} onClick=${() => setEditing(true)}>Edit</${Button}>`}
      ${(mine || moderates) && html`<${Button} kind="small plain" onClick=${() => setDeleting(true)}>Delete</${Button}>`}
    </div>`}
    ${deleting &&
    html`<${Confirm} title="Delete this message?" action="Delete" onClose=${() => setDeleting(false)}
      onConfirm=${() => run("room/delete", { name: message.room, message: message.id })}>
      <p>Everyone sees that a message was deleted, and by whom. Owners and admins of the room can still read it.</p>
    </${Confirm}>`}
  </article>`;
}

/** A long text is collapsed to its beginning. @param {{text: string, mentions?: Set<string>}} props */
function CollapsibleText({ text, mentions }) {
  const [open, setOpen] = useState(false);
  /** @type {import("./ui.js").ElementRef} */
  const element = useRef(null);
  const truncated = truncateText(text);
  useLayoutEffect(() => {
    if (open) element.current.dispatchEvent(new Event("unfolded", { bubbles: true }));
  }, [open]);
  if (!truncated) return html`<${Markdown} text=${text} mentions=${mentions} />`;
  return html`<div class=${open ? "" : "folded"} ref=${element}>
    <${Markdown} text=${open ? text : truncated.text} mentions=${mentions} />
    <${Button} kind="small quiet" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>${open ? "Show less" : `Show ${truncated.all}`}</${Button}>
  </div>`;
}

/** @param {{message: Message, onDone: () => void}} props */
function MessageEditor({ message, onDone }) {
  const [text, setText] = useState(message.text);
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
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
  const onKey = (event) => {
    if (event.key === "Escape") onDone();
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      save();
    }
  };
  /** @type {import("../vendor/preact.js").Ref<HTMLTextAreaElement>} */
  const area = useRef(null);
  useLayoutEffect(() => {
    area.current.focus();
    area.current.setSelectionRange(text.length, text.length);
  }, []);
  return html`<div class="edit">
    <textarea aria-label="Message text" rows="3" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${onKey} ref=${area}></textarea>
    <${ErrorBox} problem=${problem} />
    <div class="actions"><${Button} kind="small primary" busy=${busy} onClick=${save}>Save</${Button}>
      <${Button} kind="small" onClick=${onDone}>Cancel</${Button}></div>
  </div>`;
}

/** A message that this browser is sending. @param {{entry: OutboxEntry, me: string, onDiscard: () => void}} props */
export function OutgoingMessage({ entry, me, onDiscard }) {
  const status = entry.refused ? "not sent" : entry.problem ? "not sent yet, retrying" : entry.message ? "sent" : "sending…";
  return html`<article class="said mine sending" aria-label="Sending">
    <${Avatar} id=${me} kind="human" />
    <div class="said-body">
      <p class="said-head"><span><${MemberName} id=${me} /></span> <span class="quiet">${status}</span></p>
      <${CollapsibleText} text=${entry.text} />
      ${entry.refused && html`<${ErrorBox} problem=${entry.problem} /><${Button} kind="small" onClick=${onDiscard}>Discard</${Button}>`}
      ${entry.attachments.map((one) => html`<p class="quiet" title=${escapeInvisible(one.name)}>${shortenFileName(escapeInvisible(one.name))}</p>`)}
    </div>
  </article>`;
}

/** The answer of an AI while it is written. @param {{draft: Draft, mentions: Set<string>}} props */
export function DraftMessage({ draft, mentions }) {
  return html`<article class="said draft kind-ai" aria-label=${`${escapeInvisible(fullName(draft.sender))} is typing`}>
    <${Avatar} id=${draft.sender} kind="ai" />
    <div class="said-body">
      <p class="said-head"><span><${MemberName} id=${draft.sender} /></span><span class="kind-word">AI</span><span class="quiet">typing…</span></p>
      <${Markdown} text=${draft.text} mentions=${mentions} />
    </div>
  </article>`;
}
