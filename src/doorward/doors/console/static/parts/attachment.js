// @ts-check
// A file attached to a message. The page fetches it, because only the page can send the CSRF header, and passes it to the
// browser with a fixed type: an uploaded file is never opened as a page of this origin.

import { encode, request } from "../lib/api.js";
import { escapeInvisible } from "../lib/escape-invisible.js";
import { formatFileSize, shortenFileName } from "../lib/format.js";
import { html, showToast, useEffect, useRef, useState } from "./ui.js";

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const BINARY = "application/octet-stream";

/** @typedef {{file: FileAttachment, path: string}} Props */

/** @param {string} path @param {FileAttachment} file @param {string} type */
async function fetchFile(path, file, type) {
  const response = await request("GET", `${path}/attachments/${encode(file.id)}`, { raw: true, headers: { Accept: "*/*" } });
  return URL.createObjectURL(new Blob([await response.arrayBuffer()], { type }));
}

export function Attachment(/** @type {Props} */ { file, path }) {
  return IMAGES.has(file.mediaType) ? html`<${Picture} file=${file} path=${path} />` : html`<${Download} file=${file} path=${path} />`;
}

/** An image, fetched when it scrolls into view. */
function Picture(/** @type {Props} */ { file, path }) {
  const [source, setSource] = useState("");
  const [failed, setFailed] = useState(false);
  /** @type {import("./ui.js").ElementRef} */
  const element = useRef(null);
  useEffect(() => {
    let [url, gone] = ["", false];
    const observer = new IntersectionObserver(
      async (entries) => {
        if (!entries.some((one) => one.isIntersecting)) return;
        observer.disconnect();
        try {
          url = await fetchFile(path, file, file.mediaType);
          if (gone) URL.revokeObjectURL(url);
          else setSource(url);
        } catch {
          if (!gone) setFailed(true);
        }
      },
      { rootMargin: "400px" },
    );
    observer.observe(element.current);
    return () => {
      gone = true;
      observer.disconnect();
      URL.revokeObjectURL(url);
    };
  }, [file.id]);
  const name = escapeInvisible(file.name);
  if (failed)
    return html`<p class="quiet not-shown">The image <span title=${name}>${shortenFileName(name)}</span> (${formatFileSize(file.size)}) cannot be displayed.</p>
      <${Download} file=${file} path=${path} />`;
  return html`<a class="attached-image" ref=${element} href=${source || undefined} target="_blank" rel="noopener">
    ${source ? html`<img src=${source} alt=${name} onError=${() => setFailed(true)} />` : html`<span class="quiet">${shortenFileName(name)}</span>`}</a>`;
}

function Download(/** @type {Props} */ { file, path }) {
  const [busy, setBusy] = useState(false);
  const name = escapeInvisible(file.name);
  const download = async () => {
    setBusy(true);
    try {
      const url = await fetchFile(path, file, BINARY);
      Object.assign(document.createElement("a"), { href: url, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    } catch (problem) {
      showToast(`Downloading ${name} failed: ${problem.detail || problem.message}`);
    } finally {
      setBusy(false);
    }
  };
  return html`<button type="button" class="attached" title=${name} disabled=${busy} onClick=${download}><span aria-hidden="true">📄</span> <span>${shortenFileName(name)}</span> <span class="quiet">${formatFileSize(file.size)}</span></button>`;
}
