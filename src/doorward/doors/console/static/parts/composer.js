// @ts-check
// The message field: Enter sends, Shift+Enter breaks the line, @ completes members. Files come by button, paste or drop.

import { Problem, request } from "../lib/api.js";
import { readDraft, writeDraft } from "../lib/drafts.js";
import { escapeInvisible } from "../lib/escape-invisible.js";
import { explainUpload, formatNumber, shortenFileName } from "../lib/format.js";
import { names } from "../lib/names.js";
import { MemberName, Sender } from "./member.js";
import { Button, ErrorBox, html, SafeText, showToast, useEffect, useLayoutEffect, useRef, useState } from "./ui.js";

const MAX_FILES = 8;
const MAX_CHARACTERS = 100_000;
const TYPING_INTERVAL = 2000;

/** @typedef {{id: string, name: string}} Upload */

/** @typedef {{text: string, files: Upload[]}} MessageDraft */

/** The unsent text and files of a room. @param {string} path @returns {MessageDraft} */
const readMessage = (path) => readDraft(path) ?? { text: "", files: [] };

/**
 * @param {{
 *   path: string, facts: Room, replying: Message | null, onCancelReply: () => void,
 *   send: (text: string, files: Upload[]) => Promise<void>
 * }} props
 */
export function Composer({ path, facts, replying, onCancelReply, send }) {
  const [text, setText] = useState(() => readMessage(path).text);
  const [files, setFiles] = useState(() => readMessage(path).files);
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [rejected, setRejected] = useState(/** @type {string[]} */ ([])); // a sentence for each file that was not attached
  const [uploading, setUploading] = useState(0);
  const [dragging, setDragging] = useState(false);
  const [offered, setOffered] = useState(/** @type {ReturnType<typeof completeMention>} */ (null));
  /** @type {import("../vendor/preact.js").Ref<HTMLTextAreaElement>} */
  const area = useRef(null);
  /** @type {import("../vendor/preact.js").Ref<HTMLInputElement>} */
  const picker = useRef(null);
  const lastTyping = useRef(0);
  const mounted = useRef(true);
  const fileCount = useRef(0); // attached files and uploads, up to date between renders
  const pendingUploads = useRef(0);
  fileCount.current = files.length + pendingUploads.current;
  useEffect(
    () => () => {
      mounted.current = false;
    },
    [],
  );
  useLayoutEffect(() => {
    writeDraft(path, text || files.length ? { text, files } : null);
  }, [text, files]);
  useEffect(() => {
    if (replying) area.current.focus();
  }, [replying?.id]);
  useEffect(() => {
    const box = area.current;
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight + 2, 240)}px`;
  }, [text]);

  const onInput = (event) => {
    const { value } = event.target;
    setText(value);
    setOffered(completeMention(value, area.current.selectionStart, facts));
    if (value.trim() && Date.now() - lastTyping.current > TYPING_INTERVAL) {
      lastTyping.current = Date.now();
      request("POST", `${path}/typing`, { raw: true }).catch(() => {});
    }
  };

  const insertMention = (/** @type {string} */ id) => {
    const before = text.slice(0, offered?.from);
    setText(`${before}@${id} ${text.slice(area.current.selectionStart)}`);
    setOffered(null);
    const at = before.length + id.length + 2;
    requestAnimationFrame(() => {
      area.current.focus();
      area.current.setSelectionRange(at, at);
    });
  };

  const submit = async () => {
    if ((!text.trim() && !files.length) || uploading) return;
    const length = [...text].length;
    if (length > MAX_CHARACTERS) {
      const detail = `A message has at most ${formatNumber(MAX_CHARACTERS)} characters; this one has ${formatNumber(length)}. Shorten it, or attach it as a file.`;
      setProblem(new Problem({ title: "Message too long", detail }));
      return;
    }
    const [sentText, sentFiles] = [text, files];
    setText("");
    setFiles([]);
    setProblem(null);
    setRejected([]);
    setOffered(null);
    try {
      await send(sentText, sentFiles);
    } catch (error) {
      // A refused message returns to the field, before anything written in the meantime.
      if (!mounted.current) {
        const now = readMessage(path);
        writeDraft(path, { text: now.text ? `${sentText}\n${now.text}` : sentText, files: [...sentFiles, ...now.files] });
        showToast(`Your message was refused and is back in the room's message field: ${error.detail || error.message}`);
        return;
      }
      setText((now) => (now ? `${sentText}\n${now}` : sentText));
      setFiles((now) => [...sentFiles, ...now]);
      setProblem(error);
    }
  };

  const upload = async (/** @type {File[]} */ list) => {
    if (fileCount.current + list.length > MAX_FILES) {
      const attached = fileCount.current ? ` ${fileCount.current} already attached,` : "";
      setRejected((now) => [...now, `At most ${MAX_FILES} files per message:${attached} ${list.length} selected. None of these were attached.`]);
      return;
    }
    pendingUploads.current += list.length;
    fileCount.current += list.length;
    for (const file of list) {
      setUploading((count) => count + 1);
      const name = file.name || "image.png";
      try {
        if (!file.size) throw new Problem({ code: "empty" });
        const taken = await request("POST", `${path}/attachments`, {
          body: file,
          query: { file: name },
          headers: { "Content-Type": file.type || "application/octet-stream" },
        });
        setFiles((now) => [...now, { id: taken.id, name: taken.name ?? name }]);
      } catch (error) {
        setRejected((now) => [...now, explainUpload(escapeInvisible(shortenFileName(name)), error)]);
      } finally {
        pendingUploads.current -= 1;
        setUploading((count) => count - 1);
      }
    }
  };

  const onKey = (event) => {
    if (event.isComposing) return;
    if (offered) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) {
        event.preventDefault();
        setOffered({ ...offered, at: (offered.at + step + offered.ids.length) % offered.ids.length });
        return;
      }
      if (event.key === "Enter" || event.key === "Tab") {
        event.preventDefault();
        insertMention(offered.ids[offered.at]);
        return;
      }
    }
    if (event.key === "Escape") {
      if (offered) setOffered(null);
      else if (replying) onCancelReply();
      else area.current.blur();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      submit();
    }
  };
  const onPaste = (event) => {
    const pasted = [...(event.clipboardData?.files ?? [])];
    if (pasted.length) {
      event.preventDefault();
      upload(pasted);
    }
  };
  const onDrop = (event) => {
    event.preventDefault();
    setDragging(false);
    upload([...(event.dataTransfer?.files ?? [])]);
  };
  const onDragOver = (event) => {
    event.preventDefault();
    setDragging(true);
  };
  const onSubmit = (event) => {
    event.preventDefault();
    submit();
  };
  const closeRejected = () => {
    setRejected([]);
    area.current.focus();
  };
  return html`<form class=${`composer ${dragging ? "over" : ""}`} onSubmit=${onSubmit} onDragOver=${onDragOver}
    onDragLeave=${() => setDragging(false)} onDrop=${onDrop}>
    <${ErrorBox} problem=${problem} />
    ${rejected.length > 0 &&
    html`<div class="error-box not-attached" role="alert"><div>${rejected.map((one, at) => html`<p key=${at}>${one}</p>`)}</div>
      <${Button} kind="small quiet" onClick=${closeRejected}>Close</${Button}></div>`}
    ${replying &&
    html`<p class="replying">↪ Replying to <${Sender} message=${replying} />: <span class="quiet"><${SafeText} text=${replying.text.slice(0, 80)} /></span>
      <${Button} kind="small plain" onClick=${onCancelReply}>Cancel reply</${Button}></p>`}
    ${files.length > 0 &&
    html`<ul class="brought">${files.map(
      (one) => html`<li key=${one.id} title=${escapeInvisible(one.name)}>${shortenFileName(escapeInvisible(one.name))}
      <${Button} kind="small plain icon" aria-label=${`Remove ${escapeInvisible(one.name)}`} onClick=${() => setFiles(files.filter((other) => other !== one))}>✕</${Button}></li>`,
    )}</ul>`}
    ${offered &&
    html`<ul class="completions" role="listbox" id="completions" aria-label="Members">
      ${offered.ids.map(
        (id, index) => html`<li role="option" id=${`completion-${index}`} key=${id} aria-selected=${index === offered.at ? "true" : "false"}
        onMouseDown=${(event) => {
          event.preventDefault();
          insertMention(id);
        }}><${MemberName} id=${id} /> ${facts.kinds?.[id] !== "human" && html`<span class="kind-word">AI</span>`}</li>`,
      )}
    </ul>`}
    <div class="composer-line">
      <textarea ref=${area} rows="1" data-composer aria-label="Message" placeholder="Write a message" value=${text}
        aria-controls=${offered ? "completions" : undefined} aria-autocomplete="list"
        aria-activedescendant=${offered ? `completion-${offered.at}` : undefined}
        onInput=${onInput} onKeyDown=${onKey} onPaste=${onPaste} onBlur=${() => setOffered(null)}></textarea>
      <input type="file" multiple hidden ref=${picker} onChange=${(event) => {
        upload([...event.target.files]);
        event.target.value = "";
      }} />
      <${Button} kind="plain icon" aria-label="Attach files" title="Attach files" busy=${uploading > 0} onClick=${() => picker.current.click()}>+</${Button}>
      <${Button} kind="primary" type="submit" disabled=${uploading > 0}>Send</${Button}>
    </div>
  </form>`;
}

/**
 * The members that an @ before the cursor may mean, by id or by name; null when there are none.
 *
 * @param {string} text
 * @param {number} cursor
 * @param {Pick<Room, "members">} room
 * @param {Record<string, string>} [known]
 */
export function completeMention(text, cursor, room, known = names.value) {
  const match = /(^|\s)@([\w.-]{0,62})$/.exec(text.slice(0, cursor));
  if (!match) return null;
  const begun = match[2].toLowerCase();
  const ids = Object.keys(room.members)
    .filter((id) => [id, ...(known[id] ?? "").split(/\s+/)].some((one) => one.toLowerCase().startsWith(begun)))
    .slice(0, 8);
  return ids.length ? { from: cursor - match[2].length - 1, ids, at: 0 } : null;
}
