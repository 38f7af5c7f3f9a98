// Where one writes: Enter sends, Shift+Enter breaks the line, files come by button, paste or drop, @ completes members.

import { Problem, request } from "../api.js";
import { names } from "../names.js";
import { Button, ErrorBox, html, toast, useEffect, useRef, useState, Visible } from "../ui.js";
import { visibleText } from "../visible.js";
import { notAttached, shortName } from "./filewords.js";
import { Named, Sender } from "./sender.js";

const MOST_FILES = 8;
const MOST_CHARACTERS = 100_000;
const number = new Intl.NumberFormat("en");
const BETWEEN_TYPING = 2000;
const kept = new Map();

export function Composer({ path, members, replying, onUnreply, send }) {
  const [text, setText] = useState(kept.get(path)?.text ?? "");
  const [files, setFiles] = useState(kept.get(path)?.files ?? []);
  const [problem, setProblem] = useState(null);
  const [refused, setRefused] = useState([]); // a sentence for each file that was not attached
  const [bringing, setBringing] = useState(0);
  const [over, setOver] = useState(false);
  const [offered, setOffered] = useState(null);
  const area = useRef(null);
  const picker = useRef(null);
  const typed = useRef(0);
  const here = useRef(true);
  const count = useRef(0); // files that are here or on their way, also those that come before the next drawing
  const coming = useRef(0);
  count.current = files.length + coming.current;
  useEffect(() => () => {
    here.current = false;
  }, []);
  useEffect(() => {
    kept.set(path, { text, files });
  }, [text, files]);
  useEffect(() => {
    if (replying) area.current.focus();
  }, [replying?.id]);
  useEffect(() => {
    const box = area.current;
    box.style.height = "auto";
    box.style.height = `${Math.min(box.scrollHeight + 2, 240)}px`;
  }, [text]);

  const write = (value) => {
    setText(value);
    setOffered(completions(value, area.current.selectionStart, members));
    if (value.trim() && Date.now() - typed.current > BETWEEN_TYPING) {
      typed.current = Date.now();
      request("POST", `${path}/typing`, { raw: true }).catch(() => {});
    }
  };

  const complete = (id) => {
    const before = text.slice(0, offered.from);
    const next = `${before}@${id} ${text.slice(area.current.selectionStart)}`;
    setText(next);
    setOffered(null);
    const at = before.length + id.length + 2;
    requestAnimationFrame(() => {
      area.current.focus();
      area.current.setSelectionRange(at, at);
    });
  };

  const submit = async () => {
    if ((!text.trim() && !files.length) || bringing) return;
    const length = [...text].length;
    if (length > MOST_CHARACTERS) {
      const detail = `A message has at most ${number.format(MOST_CHARACTERS)} characters, and this one has ${number.format(length)}. Shorten it, or attach it as a file.`;
      setProblem(new Problem({ title: "This is too long", detail }));
      return;
    }
    const [said, brought] = [text, files];
    setText("");
    setFiles([]);
    setProblem(null);
    setRefused([]);
    setOffered(null);
    try {
      await send(said, brought);
    } catch (error) {
      // What was refused is not lost: it stands here again with the server's sentence, before what was written meanwhile.
      if (!here.current) {
        const now = kept.get(path) ?? { text: "", files: [] };
        kept.set(path, { text: now.text ? `${said}\n${now.text}` : said, files: [...brought, ...now.files] });
        toast(`Your message was not taken, and stands in the room's field again: ${error.detail || error.message}`);
        return;
      }
      setText((now) => (now ? `${said}\n${now}` : said));
      setFiles((now) => [...brought, ...now]);
      setProblem(error);
    }
  };

  const bring = async (list) => {
    if (count.current + list.length > MOST_FILES) {
      const there = count.current ? `${count.current} are here already, and ` : "";
      setRefused((now) => [...now, `A message comes with at most ${MOST_FILES} files; ${there}${list.length} were chosen. None of these was attached.`]);
      return;
    }
    coming.current += list.length;
    count.current += list.length;
    for (const file of list) {
      setBringing((count) => count + 1);
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
        setRefused((now) => [...now, notAttached(visibleText(shortName(name)), error)]);
      } finally {
        coming.current -= 1;
        setBringing((count) => count - 1);
      }
    }
  };

  const key = (event) => {
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
        complete(offered.ids[offered.at]);
        return;
      }
    }
    if (event.key === "Escape") {
      if (offered) setOffered(null);
      else if (replying) onUnreply();
      else area.current.blur();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      submit();
    }
  };
  const paste = (event) => {
    const given = [...(event.clipboardData?.files ?? [])];
    if (given.length) {
      event.preventDefault();
      bring(given);
    }
  };
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    bring([...(event.dataTransfer?.files ?? [])]);
  };
  return html`<form class=${`composer ${over ? "over" : ""}`} onSubmit=${(event) => {
      event.preventDefault();
      submit();
    }}
    onDragOver=${(event) => {
      event.preventDefault();
      setOver(true);
    }}
    onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <${ErrorBox} problem=${problem} />
    ${refused.length > 0 && html`<div class="error-box not-attached" role="alert"><div>${refused.map((one, at) => html`<p key=${at}>${one}</p>`)}</div>
      <${Button} kind="small quiet" onClick=${() => {
        setRefused([]);
        area.current.focus();
      }}>Close</${Button}></div>`}
    ${replying && html`<p class="replying">↪ Answering <${Sender} message=${replying} />: <span class="quiet"><${Visible} text=${replying.text.slice(0, 80)} /></span>
      <${Button} kind="small plain" onClick=${onUnreply}>Not as an answer</${Button}></p>`}
    ${files.length > 0 && html`<ul class="brought">${files.map((one) => html`<li key=${one.id} title=${visibleText(one.name)}>${shortName(visibleText(one.name))}
      <${Button} kind="small plain icon" aria-label=${`Leave out ${visibleText(one.name)}`} onClick=${() => setFiles(files.filter((other) => other !== one))}>✕</${Button}></li>`)}</ul>`}
    ${offered && html`<ul class="completions" role="listbox" id="completions" aria-label="Members">
      ${offered.ids.map((id, index) => html`<li role="option" id=${`completion-${index}`} key=${id} aria-selected=${index === offered.at ? "true" : "false"}
        onMouseDown=${(event) => {
          event.preventDefault();
          complete(id);
        }}><${Named} id=${id} /> ${members.kinds?.[id] !== "human" && html`<span class="kind-word">AI</span>`}</li>`)}
    </ul>`}
    <div class="composer-line">
      <textarea ref=${area} rows="1" data-composer aria-label="Message" placeholder="Write a message" value=${text}
        aria-controls=${offered ? "completions" : undefined} aria-autocomplete="list"
        aria-activedescendant=${offered ? `completion-${offered.at}` : undefined}
        onInput=${(event) => write(event.target.value)} onKeyDown=${key} onPaste=${paste} onBlur=${() => setOffered(null)}></textarea>
      <input type="file" multiple hidden ref=${picker} onChange=${(event) => {
        bring([...event.target.files]);
        event.target.value = "";
      }} />
      <${Button} kind="plain icon" aria-label="Attach a file" title="Attach a file" busy=${bringing > 0} onClick=${() => picker.current.click()}>+</${Button}>
      <${Button} kind="primary" type="submit" disabled=${bringing > 0}>Send</${Button}>
    </div>
  </form>`;
}

/** The members that an @ in front of the cursor could mean, by their ids or by what they are called. */
export function completions(text, at, members, called = names.value) {
  const match = /(^|\s)@([\w.-]{0,62})$/.exec(text.slice(0, at));
  if (!match) return null;
  const begun = match[2].toLowerCase();
  const ids = Object.keys(members.members)
    .filter((id) => [id, ...(called[id] ?? "").split(/\s+/)].some((one) => one.toLowerCase().startsWith(begun)))
    .slice(0, 8);
  return ids.length ? { from: at - match[2].length - 1, ids, at: 0 } : null;
}
