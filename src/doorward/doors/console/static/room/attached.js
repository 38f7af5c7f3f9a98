// A file that hangs on a message. The page fetches it, since only the page can show who asks, and gives it to the browser as
// bytes of a kind that is fixed here: nothing that somebody brought is ever opened as a page of this address.

import { part, request } from "../api.js";
import { html, toast, useEffect, useRef, useState } from "../ui.js";
import { visibleText } from "../visible.js";
import { shortName, sizeWords } from "./filewords.js";

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const DATA = "application/octet-stream";

async function fetched(path, file, kind) {
  const answer = await request("GET", `${path}/attachments/${part(file.id)}`, { raw: true, headers: { Accept: "*/*" } });
  return URL.createObjectURL(new Blob([await answer.arrayBuffer()], { type: kind }));
}

export function Attached({ file, path }) {
  return IMAGES.has(file.mediaType) ? html`<${Picture} file=${file} path=${path} />` : html`<${Download} file=${file} path=${path} />`;
}

/** Fetched when it comes into view, and let go of with its message. */
function Picture({ file, path }) {
  const [where, setWhere] = useState("");
  const [failed, setFailed] = useState(false);
  const place = useRef(null);
  useEffect(() => {
    let [url, gone] = ["", false];
    const seen = new IntersectionObserver(async (entries) => {
      if (!entries.some((one) => one.isIntersecting)) return;
      seen.disconnect();
      try {
        url = await fetched(path, file, file.mediaType);
        if (gone) URL.revokeObjectURL(url);
        else setWhere(url);
      } catch {
        if (!gone) setFailed(true);
      }
    }, { rootMargin: "400px" });
    seen.observe(place.current);
    return () => {
      gone = true;
      seen.disconnect();
      URL.revokeObjectURL(url);
    };
  }, [file.id]);
  const name = visibleText(file.name);
  if (failed)
    return html`<p class="quiet not-shown">The picture <span title=${name}>${shortName(name)}</span> (${sizeWords(file.size)}) cannot be shown.</p>
      <${Download} file=${file} path=${path} />`;
  return html`<a class="attached-image" ref=${place} href=${where || undefined} target="_blank" rel="noopener">
    ${where ? html`<img src=${where} alt=${name} onError=${() => setFailed(true)} />` : html`<span class="quiet">${shortName(name)}</span>`}</a>`;
}

function Download({ file, path }) {
  const [busy, setBusy] = useState(false);
  const name = visibleText(file.name);
  const save = async () => {
    setBusy(true);
    try {
      const url = await fetched(path, file, DATA);
      Object.assign(document.createElement("a"), { href: url, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    } catch (problem) {
      toast(`${name} could not be fetched: ${problem.detail || problem.message}`);
    } finally {
      setBusy(false);
    }
  };
  return html`<button type="button" class="attached" title=${name} disabled=${busy} onClick=${save}><span aria-hidden="true">📄</span> <span>${shortName(name)}</span> <span class="quiet">${sizeWords(file.size)}</span></button>`;
}
