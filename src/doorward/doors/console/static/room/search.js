// Messages of a room by their words; each leads to its place in the room.

import { run } from "../api.js";
import { Button, Empty, ErrorBox, Field, html, More, Time, useState, Visible } from "../ui.js";
import { excerpt } from "./excerpt.js";
import { Sender } from "./sender.js";
import { placeOf } from "./timeline.js";

export function Search({ facts, onFound }) {
  const [words, setWords] = useState("");
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const search = async (before = "") => {
    if (!words.trim()) return;
    setBusy(true);
    try {
      const { result } = await run("room/search", { words, name: facts.room, limit: 30, ...(before ? { before } : {}) });
      setFound((earlier) => ({ items: [...(before ? earlier.items : []), ...result.items], next: result.next, words }));
      setProblem(null);
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return html`<form role="search" onSubmit=${(event) => {
      event.preventDefault();
      search();
    }}>
      <${Field} label="Words in this room" type="search" value=${words} onInput=${(event) => setWords(event.target.value)} />
      <${Button} type="submit" busy=${busy}>Search</${Button}>
    </form>
    <${ErrorBox} problem=${problem} />
    ${found && !found.items.length && html`<${Empty} title="Nothing was found">Try fewer or other words.</${Empty}>`}
    <ul class="found" aria-live="polite">${found?.items.map((one) => html`<li key=${one.id}><a href=${placeOf(one)} onClick=${onFound}>
      <span class="said-head"><${Sender} message=${one} /> <span class="quiet"><${Time} at=${one.at} form="exact" /></span></span>
      <span class="found-text">${excerpt(one.text, found.words).map((piece) => (piece.hit ? html`<mark><${Visible} text=${piece.hit} /></mark>` : html`<${Visible} text=${piece} lines />`))}</span></a></li>`)}</ul>
    <${More} more=${found?.next} busy=${busy} onMore=${() => search(found.next)} />`;
}
