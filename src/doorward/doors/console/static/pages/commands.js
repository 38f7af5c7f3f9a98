// @ts-check
// The commands that the user may run outside rooms, or that a room's recipe offers.

import { encode, get } from "../lib/api.js";
import { loadStylesheet } from "../lib/stylesheet.js";
import { CommandFacts, RoomSelect } from "../parts/command-facts.js";
import {
  Button,
  Empty,
  ErrorBox,
  Field,
  html,
  Loading,
  Page,
  Prose,
  SafeText,
  useLoad,
  useReload,
  useState,
} from "../parts/ui.js";
import CommandPage from "./command.js";

await loadStylesheet("work.css");

const MAX_COMMANDS = 2000;
const SEARCH_DELAY = 200;

/** @param {PageProps} props */
export default function CommandsPage({ params, navigate }) {
  const name = [params.id, ...params.rest].filter(Boolean).join("/");
  const room = params.query.room ?? "";
  return name
    ? html`<${CommandPage} key=${`${name} ${room}`} name=${name} room=${room} navigate=${navigate} />`
    : html`<${CommandList} room=${room} search=${params.query.search ?? ""} navigate=${navigate} />`;
}

function CommandList({ room, search, navigate }) {
  const [words, setWords] = useState(search);
  const go = (/** @type {Record<string, string>} */ next) => {
    const query = new URLSearchParams(Object.entries(next).filter(([, value]) => value));
    navigate(`/console/commands${query.size ? `?${query}` : ""}`, { replace: true });
  };
  /** @type {Loadable<{items: any[], searched: string}>} */
  const from = useLoad(async (signal) => {
    const searched = words.trim();
    let items = [];
    let cursor;
    do {
      const page = await get("/commands", { room, search: searched, limit: searched ? 50 : 200, cursor }, { signal });
      items = [...items, ...page.items];
      cursor = searched ? null : page.next;
    } while (cursor && items.length < MAX_COMMANDS);
    return { items, searched };
  });
  useReload(from.reload, [room, words], SEARCH_DELAY);
  const { data: found, problem } = from;

  const suffix = room ? `?room=${encodeURIComponent(room)}` : "";
  const scope = found?.searched ? ", best match first" : room ? " in this room" : " with your access";
  return html`<${Page} title="Commands">
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${Field} label="Search" type="search" value=${words} placeholder="What do you want to do?" onInput=${(event) => setWords(event.target.value)} />
      <${RoomSelect} room=${room} onChange=${(id) => go({ room: id, search: words })} />
    </form>
    <${ErrorBox} problem=${problem} onRetry=${from.reload} />
    ${!found && !problem && html`<${Loading} />`}
    ${found &&
    html`<p class="quiet" role="status">${found.items.length} ${found.items.length === 1 ? "command" : "commands"}${scope}</p>
      ${found.searched
        ? html`<${CommandCards} items=${found.items} suffix=${suffix} />`
        : groupByCategory(found.items).map(
            ([category, items]) => html`<section key=${category} aria-label=${category}>
              <h2><${SafeText} text=${category} /> <span class="quiet">${items.length}</span></h2>
              <${CommandCards} items=${items} suffix=${suffix} />
            </section>`,
          )}
      ${!found.items.length &&
      html`<${Empty} title=${found.searched ? "No command found" : "No commands"}>
        ${room &&
        html`<p>The recipe of the room decides which commands it offers. <${Button} kind="quiet" onClick=${() => go({ search: words })}>Search outside rooms</${Button}></p>`}
      </${Empty}>`}`}
  </${Page}>`;
}

/** @param {any[]} items @returns {[string, any[]][]} */
function groupByCategory(items) {
  /** @type {Record<string, any[]>} */
  const groups = {};
  for (const one of items) (groups[one.category] ??= []).push(one);
  return Object.entries(groups);
}

function CommandCards({ items, suffix }) {
  return html`<ul class="plain-list command-list">
    ${items.map(
      (one) => html`<li key=${one.name}>
        <a class="command-link" href=${`/console/commands/${one.name.split("/").map(encode).join("/")}${suffix}`}>
          <span class="command-name"><code><${SafeText} text=${one.name} /></code></span>
          <span class="command-summary"><${Prose} text=${one.summary} inline /></span>
        </a>
        <${CommandFacts} of=${one} />
      </li>`,
    )}
  </ul>`;
}
