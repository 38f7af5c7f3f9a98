// Every command that one may run: here outside rooms, or as a room's recipe offers it.

import { get, part } from "../api.js";
import { Facts, RoomChoice } from "../commandfacts.js";
import {
  Button,
  Empty,
  ErrorBox,
  Field,
  html,
  Loading,
  Page,
  Prose,
  useCallback,
  useEffect,
  useRef,
  useState,
  Visible,
} from "../ui.js";
import OneCommand from "./command.js";
import { sheet } from "../sheet.js";

await sheet("work.css");

export default function Commands({ params, navigate }) {
  const name = [params.id, ...params.rest].filter(Boolean).join("/");
  const room = params.query.room ?? "";
  return name
    ? html`<${OneCommand} key=${`${name} ${room}`} name=${name} room=${room} navigate=${navigate} />`
    : html`<${All} room=${room} search=${params.query.search ?? ""} navigate=${navigate} />`;
}

function All({ room, search, navigate }) {
  const [words, setWords] = useState(search);
  const [found, setFound] = useState(null);
  const [problem, setProblem] = useState(null);
  const turn = useRef(0);
  const to = (next) => {
    const query = new URLSearchParams(Object.entries(next).filter(([, value]) => value));
    navigate(`/console/commands${query.size ? `?${query}` : ""}`, { replace: true });
  };
  const load = useCallback(async () => {
    const mine = ++turn.current;
    try {
      let items = [];
      let cursor;
      do {
        const page = await get("/commands", { room, search: words.trim(), limit: words.trim() ? 50 : 200, cursor });
        items = [...items, ...page.items];
        cursor = words.trim() ? null : page.next;
      } while (cursor && items.length < 2000);
      if (mine === turn.current) {
        setFound({ items, searched: words.trim() });
        setProblem(null);
      }
    } catch (error) {
      if (mine === turn.current) setProblem(error);
    }
  }, [room, words]);
  useEffect(() => {
    const timer = setTimeout(load, words === search && !found ? 0 : 200);
    return () => clearTimeout(timer);
  }, [load]);

  const groups = Object.entries(Object.groupBy?.(found?.items ?? [],
    (one) => one.category) ?? grouped(found?.items ?? []));
  const suffix = room ? `?room=${encodeURIComponent(room)}` : "";
  return html`<${Page} title="Commands">
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${Field} label="Search" type="search" value=${words} placeholder="what you want to do, in a few words"
        onInput=${(event) => setWords(event.target.value)} />
      <${RoomChoice} room=${room} onChange=${(id) => to({ room: id, search: words })} />
    </form>
    <${ErrorBox} problem=${problem} onRetry=${load} />
    ${!found && !problem && html`<${Loading} />`}
    ${found &&
    html`<p class="quiet" role="status">
        ${found.items.length} ${found.items.length === 1 ? "command" : "commands"}${found.searched ? ", best first"
          : room ? ", exactly those that this room offers you" : ", as far as your own access reaches"}
      </p>
      ${found.searched
        ? html`<${Cards} items=${found.items} suffix=${suffix} />`
        : groups.map(
            ([category, items]) => html`<section key=${category} aria-label=${category}>
              <h2><${Visible} text=${category} /> <span class="quiet">${items.length}</span></h2>
              <${Cards} items=${items} suffix=${suffix} />
            </section>`,
          )}
      ${!found.items.length &&
      html`<${Empty} title=${found.searched ? "No command fits these words" : "No command is offered here"}>
        ${room && html`<p>The recipe of the room decides what it offers. <${Button} kind="quiet"
          onClick=${() => to({ search: words })}>Look outside rooms</${Button}></p>`}
      </${Empty}>`}`}
  </${Page}>`;
}

function grouped(items) {
  const groups = {};
  for (const one of items) (groups[one.category] ??= []).push(one);
  return groups;
}

function Cards({ items, suffix }) {
  return html`<ul class="plain-list command-list">
    ${items.map(
      (one) => html`<li key=${one.name}>
        <a class="command-link" href=${`/console/commands/${one.name.split("/").map(part).join("/")}${suffix}`}>
          <span class="command-name"><code><${Visible} text=${one.name} /></code></span>
          <span class="command-summary"><${Prose} text=${one.summary} inline /></span>
        </a>
        <${Facts} of=${one} />
      </li>`,
    )}
  </ul>`;
}
