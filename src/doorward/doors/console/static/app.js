// The shell of the console: who is logged in, where one is, and what stands around every page.

import { logout, login, refresh, session } from "./api.js";
import { Keys, PLACES, useKeys } from "./keys.js";
import { start, stop } from "./live.js";
import { codeInAddress, Login, Other } from "./login.js";
import { onOtherProof } from "./proof.js";
import { begin, rooms, waiting } from "./state.js";
import { setTheme, theme } from "./themes.js";
import {
  Button,
  ErrorBox,
  html,
  Loading,
  Page,
  render,
  useCallback,
  useConnected,
  useEffect,
  useErrorBoundary,
  useLayoutEffect,
  useRef,
  useSignal,
  useState,
  Visible,
} from "./ui.js";

const NAMES = new Set(PLACES.map(([, name]) => name));
const loaded = new Map();
const AGAIN = 2000; // milliseconds until a server that did not answer is asked again

/** Where one is: /console/NAME[/ID[/REST]]?query, as the page's component gets it; `first` where no page is named. */
function here() {
  const parts = location.pathname.split("/").slice(2).filter(Boolean);
  const name = parts[0] ?? "rooms";
  let given = parts.slice(1);
  try {
    given = given.map(decodeURIComponent);
  } catch {
    given = [];
  }
  const query = Object.fromEntries(new URLSearchParams(location.search));
  const path = location.pathname + location.search;
  return { name, id: given[0] ?? "", rest: given.slice(1), query, path, first: !parts.length };
}

function App() {
  const who = useSignal(session);
  const [problem, setProblem] = useState(null);
  const [other, setOther] = useState(null);
  useEffect(() => {
    let again = 0;
    const enter = async (code) => {
      clearTimeout(again);
      try {
        if (code) await login({ code });
        else await refresh();
        setProblem(null);
      } catch (error) {
        if (code && error.code === "conflict") setOther({ code, words: error.detail });
        else setProblem(error);
        if (error.code === "unreachable") again = setTimeout(enter, AGAIN, code);
        else await refresh().catch(() => {});
      }
    };
    enter(codeInAddress());
    const linked = () => location.hash.startsWith("#login=") && enter(codeInAddress());
    addEventListener("hashchange", linked);
    const leave = onOtherProof(() => refresh().catch(() => {}));
    return () => {
      clearTimeout(again);
      removeEventListener("hashchange", linked);
      leave();
    };
  }, []);
  if (!who && problem)
    return html`<main class="login" id="main"><div class="login-card"><h1>Doorward</h1>
      <${ErrorBox} problem=${problem} onRetry=${() => location.reload()} /></div></main>`;
  if (!who) return html`<p class="starting">Opening the console…</p>`;
  if (!who.loggedIn) return html`<${Login} problem=${problem} lost=${who.lost} note=${who.note} />`;
  return html`<${Shell} key=${`${who.tenant}/${who.user}`} who=${who} />
    ${other && html`<${Other} link=${other} onClose=${() => setOther(null)} />`}`;
}

function Shell({ who }) {
  const [place, setPlace] = useState(here);
  const [drawer, setDrawer] = useState(false);
  const moved = useRef(false);
  const navigate = useCallback((path, { replace = false } = {}) => {
    if (!path.startsWith("/console/")) return;
    if (path !== location.pathname + location.search) history[replace ? "replaceState" : "pushState"](null, "", path);
    moved.current = !replace;
    setPlace(here());
    setDrawer(false);
  }, []);
  const [help, setHelp] = useKeys(navigate);

  useEffect(() => {
    start();
    const leave = begin();
    const back = () => setPlace(here());
    addEventListener("popstate", back);
    return () => {
      removeEventListener("popstate", back);
      leave();
      stop();
    };
  }, []);

  // Links of pages are plain links; those that stay in the console change the place without loading it anew.
  useEffect(() => {
    const click = (event) => {
      const link = event.target.closest?.("a[href]");
      if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
      if (link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
      if (!link.pathname.startsWith("/console/") || link.hash) return;
      event.preventDefault();
      navigate(link.pathname + link.search);
    };
    document.addEventListener("click", click);
    return () => document.removeEventListener("click", click);
  }, [navigate]);

  useLayoutEffect(() => {
    if (moved.current) document.getElementById("main")?.focus({ preventScroll: true });
    moved.current = false;
  }, [place.name, place.id]);

  return html`<a class="skip" href="#main">Skip to the page</a>
    <div class=${`shell ${drawer ? "drawer-open" : ""}`}>
      <${Top} who=${who} drawer=${drawer} setDrawer=${setDrawer} onHelp=${() => setHelp(true)} />
      <${Navigation} place=${place} onClose=${() => setDrawer(false)} open=${drawer} who=${who} onHelp=${() => setHelp(true)} />
      ${drawer && html`<div class="veil" onClick=${() => setDrawer(false)}></div>`}
      <main id="main" tabindex="-1"><${Place} place=${place} navigate=${navigate} key=${place.name} /></main>
    </div>
    ${help && html`<${Keys} onClose=${() => setHelp(false)} />`}
    <div class="unseen" id="said" aria-live="polite"></div>
    <div class="unseen" id="said-now" aria-live="assertive"></div>
    <div id="toasts" role="status" aria-live="polite"></div>`;
}

const WORDS = {
  live: ["good", "Live"],
  reconnecting: ["warn", "Reconnecting…"],
  resting: ["calm", "Resting"],
  looking: ["warn", "Looking every 5 s", "Many pages of Doorward are open in this browser, and others of them have the streams."],
  off: ["calm", "Connecting…"],
};

function Top({ who, drawer, setDrawer, onHelp }) {
  const state = useConnected();
  const [tone, words, why] = WORDS[state];
  const leave = () => logout().catch(() => refresh());
  return html`<header class="top">
    <${Button} kind="plain icon menu" aria-label="Menu" aria-expanded=${drawer ? "true" : "false"}
      aria-controls="navigation" onClick=${() => setDrawer(!drawer)}>☰</${Button}>
    <a class="brand" href="/console/rooms"><span class="mark" aria-hidden="true"></span>Doorward</a>
    <p class=${`connection ${tone}`} role="status" title=${why}><span class="dot" aria-hidden="true"></span>${words}</p>
    <div class="top-right">
      <span class="wide-only"><${ThemeButton} /></span>
      <${Button} kind="plain small keys-button" onClick=${onHelp} aria-label="Keys">?</${Button}>
      <span class="me" title=${`${who.user} of ${who.tenant}, access ${who.access}`}><${Visible} text=${who.name || who.user} /></span>
      <${Button} kind="plain small" onClick=${leave}>Log out</${Button}>
    </div>
  </header>`;
}

/** From light to dark to what the system has. */
function ThemeButton() {
  const chosen = useSignal(theme);
  const next = { system: "light", light: "dark", dark: "system" }[chosen];
  return html`<${Button} kind="plain small" onClick=${() => setTheme(next)} title="Light, dark, or as the system has it">
    Theme: ${{ system: "auto", light: "light", dark: "dark" }[chosen]}
  </${Button}>`;
}

function Navigation({ place, onClose, open, who, onHelp }) {
  const mine = useSignal(rooms);
  const asked = useSignal(waiting);
  const list = useRef(null);
  const move = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && open) onClose();
    if (!step) return;
    const links = [...list.current.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (at < 0) return;
    event.preventDefault();
    links[Math.max(0, Math.min(links.length - 1, at + step))].focus();
  };
  useEffect(() => {
    if (open) list.current.querySelector("a")?.focus();
  }, [open]);
  const waits = (room) => asked.filter((one) => one.room === room && one.waitsForYou).length;
  const open_ = (mine ?? []).filter((one) => !one.archived);
  const link = (name, title, count, what) => html`<li>
    <a href=${`/console/${name}`} aria-current=${place.name === name && !(name === "rooms" && place.id) ? "page" : undefined}>
      <span>${title}</span>${count > 0 && html`<span class="count">${count}<span class="unseen"> ${what}</span></span>`}
    </a>
  </li>`;
  return html`<nav id="navigation" aria-label="Console" ref=${list} onKeyDown=${move}>
    <ul>${link("rooms", "Rooms", 0, "")}</ul>
    <ul class="room-links" aria-label="Your rooms">
      ${open_.map(
        (one) => html`<li key=${one.room}>
          <a href=${`/console/rooms/${encodeURIComponent(one.room)}`}
            aria-current=${place.name === "rooms" && place.id === one.room ? "page" : undefined}>
            <span class="room-name"><span class="sigil" aria-hidden="true">${one.direct ? "@" : "#"}</span><${Visible} text=${roomTitle(one)} /></span>
            ${waits(one.room) > 0 && html`<span class="count asks">${waits(one.room)} ${waits(one.room) === 1 ? "waits" : "wait"}<span class="unseen"> for your decision</span></span>`}
            ${one.unread > 0 && html`<span class="count">${one.unread > 99 ? "99+" : one.unread}<span class="unseen"> unread</span></span>`}
          </a>
        </li>`,
      )}
    </ul>
    <ul>
      ${link("approvals", "Approvals", asked.filter((one) => one.waitsForYou).length, "waiting for you")}
      ${link("executions", "Executions")} ${link("commands", "Commands")} ${link("ledger", "Ledger")}
      ${link("recipes", "Recipes")} ${link("servers", "Servers")} ${link("personas", "Personas")}
      ${link("settings", "Settings")}
    </ul>
    <p class="narrow-only">You are <${Visible} text=${who.name || who.user} /><br /><${ThemeButton} /> <${Button} kind="plain small" onClick=${onHelp}>Keys</${Button}></p>
  </nav>`;
}

/** What to call a room: its name, or in a direct room the other one's. */
function roomTitle(one) {
  if (!one.direct) return one.title || one.room;
  const others = Object.keys(one.members ?? {}).filter((id) => id !== session.value.user);
  return others[0] ?? one.title ?? one.room;
}

function Place({ place, navigate }) {
  const [failed, reset] = useErrorBoundary((error) => console.error(error));
  const [page, setPage] = useState(() => loaded.get(place.name) ?? null);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    if (!NAMES.has(place.name) || page) return undefined;
    let [timer, gone] = [0, false];
    const load = async (tries) => {
      try {
        if (tries) await refresh();
        // A browser does not fetch again what did not come, so it is another address that is fetched then.
        const module = await import(`./pages/${place.name}.js${tries ? `?again=${tries}` : ""}`);
        loaded.set(place.name, module.default);
        if (gone) return;
        setPage(() => module.default);
        setProblem(null);
      } catch (error) {
        if (gone) return;
        // Of a file that did not come the browser does not say why: the server knows, if it is there.
        const why = tries ? error : await refresh().then(() => error, (reason) => reason);
        if (why.code === "unreachable") {
          setProblem(why);
          timer = setTimeout(load, AGAIN, tries + 1);
          return;
        }
        console.error(error);
        setProblem({
          title: "This page could not be loaded",
          detail: "Doorward may have been started anew with another version of the console.",
          hint: "Load the page again.",
        });
      }
    };
    load(0);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [place.name]);
  if (!NAMES.has(place.name))
    return html`<${Page} title="There is no such page">
      <p>The console has no page of this address. <a href="/console/rooms">Go to the rooms.</a></p>
    </${Page}>`;
  const waits = problem?.code === "unreachable";
  if (problem || failed)
    return html`<${Page} title=${waits ? PLACES.find(([, name]) => name === place.name)[2] : "This page failed"}>
      <${ErrorBox} problem=${problem ?? { title: "This page failed", detail: String(failed.message ?? failed) }}
        onRetry=${waits ? undefined : () => (problem ? location.reload() : reset())} />
    </${Page}>`;
  if (!page) return html`<${Loading} />`;
  return html`<${page} params=${place} navigate=${navigate} />`;
}

render(html`<${App} />`, clear(document.getElementById("app")));

function clear(place) {
  place.textContent = "";
  return place;
}
