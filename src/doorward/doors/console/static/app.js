// @ts-check
// The entry point: login, the frame around every page, and navigation between pages.

import { login, logout, onLogout, onOtherLogin, refreshSession, session } from "./lib/api.js";
import { clearDrafts } from "./lib/drafts.js";
import { formatCount } from "./lib/format.js";
import { startLive, stopLive } from "./lib/live.js";
import { pendingApprovals, rooms, selectMine, startStore } from "./lib/store.js";
import { setTheme, theme } from "./lib/theme.js";
import { KeyboardHelp, PAGES, useKeyboard } from "./parts/keyboard.js";
import { LoginPage, SwitchUserDialog, takeLoginCode } from "./parts/login.js";
import {
  Button,
  ErrorBox,
  html,
  Loading,
  Page,
  render,
  SafeText,
  useCallback,
  useConnection,
  useEffect,
  useErrorBoundary,
  useLayoutEffect,
  useRef,
  useSignal,
  useState,
} from "./parts/ui.js";

const PAGE_NAMES = new Set(PAGES.map(([, name]) => name));
/** @type {Map<string, (props: PageProps) => any>} */
const loadedPages = new Map();
const RETRY_DELAY = 2000;

/** Parse the address: /console/NAME[/ID[/REST]]?query. @returns {Place} */
function readPlace() {
  const parts = location.pathname.split("/").slice(2).filter(Boolean);
  let given = parts.slice(1);
  try {
    given = given.map(decodeURIComponent);
  } catch {
    given = [];
  }
  const query = Object.fromEntries(new URLSearchParams(location.search));
  const path = location.pathname + location.search;
  return { name: parts[0] ?? "rooms", id: given[0] ?? "", rest: given.slice(1), query, path, first: !parts.length };
}

function App() {
  const who = useSignal(session);
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  const [link, setLink] = useState(/** @type {{code: string, text: string} | null} */ (null)); // a link of another user
  useEffect(() => {
    let timer = 0;
    const enter = async (/** @type {string} */ code) => {
      clearTimeout(timer);
      try {
        if (code) await login({ code });
        else await refreshSession();
        setProblem(null);
      } catch (error) {
        if (code && error.code === "conflict") setLink({ code, text: error.detail });
        else setProblem(Object.assign(error, { retrying: error.code === "unreachable" }));
        if (error.code === "unreachable") timer = setTimeout(enter, RETRY_DELAY, code);
        else await refreshSession().catch(() => {});
      }
    };
    enter(takeLoginCode());
    const onHash = () => location.hash.startsWith("#login=") && enter(takeLoginCode());
    addEventListener("hashchange", onHash);
    const unsubscribe = onOtherLogin(() => refreshSession().catch(() => {}));
    return () => {
      clearTimeout(timer);
      removeEventListener("hashchange", onHash);
      unsubscribe();
    };
  }, []);
  if (!who && problem)
    return html`<main class="login" id="main"><div class="login-card"><h1>Doorward</h1>
      <${ErrorBox} problem=${problem} onRetry=${() => location.reload()} /></div></main>`;
  if (!who) return html`<p class="starting">Loading…</p>`;
  if (!who.loggedIn) return html`<${LoginPage} problem=${problem} lost=${who.lost} note=${who.note} />`;
  return html`<${Shell} key=${`${who.tenant}/${who.user}`} who=${who} />
    ${link && html`<${SwitchUserDialog} link=${link} onClose=${() => setLink(null)} />`}`;
}

/** @param {{who: Session}} props */
function Shell({ who }) {
  const [place, setPlace] = useState(readPlace);
  const [drawer, setDrawer] = useState(false);
  const moved = useRef(false);
  const navigate = useCallback(
    /** @type {Navigate} */ (path, { replace = false } = {}) => {
      if (!path.startsWith("/console/")) return;
      if (path !== location.pathname + location.search) history[replace ? "replaceState" : "pushState"](null, "", path);
      moved.current = !replace;
      setPlace(readPlace());
      setDrawer(false);
    },
    [],
  );
  const [help, setHelp] = useKeyboard(navigate);

  useEffect(() => {
    startLive();
    const stopStore = startStore();
    const onBack = () => setPlace(readPlace());
    addEventListener("popstate", onBack);
    return () => {
      removeEventListener("popstate", onBack);
      stopStore();
      stopLive();
    };
  }, []);

  // Pages use plain links. A link within the console changes the page without loading the document again.
  useEffect(() => {
    const onClick = (event) => {
      const link = event.target.closest?.("a[href]");
      if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
      if (link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
      if (!link.pathname.startsWith("/console/") || link.hash) return;
      event.preventDefault();
      navigate(link.pathname + link.search);
    };
    document.addEventListener("click", onClick);
    return () => document.removeEventListener("click", onClick);
  }, [navigate]);

  useLayoutEffect(() => {
    if (moved.current) document.getElementById("main")?.focus({ preventScroll: true });
    moved.current = false;
  }, [place.name, place.id]);

  return html`<a class="skip" href="#main">Skip to content</a>
    <div class=${`shell ${drawer ? "drawer-open" : ""}`}>
      <${TopBar} who=${who} drawer=${drawer} setDrawer=${setDrawer} onHelp=${() => setHelp(true)} />
      <${Navigation} place=${place} onClose=${() => setDrawer(false)} open=${drawer} who=${who} onHelp=${() => setHelp(true)} />
      ${drawer && html`<div class="veil" onClick=${() => setDrawer(false)}></div>`}
      <main id="main" tabindex="-1"><${PageHost} place=${place} navigate=${navigate} key=${place.name} /></main>
    </div>
    ${help && html`<${KeyboardHelp} onClose=${() => setHelp(false)} />`}
    <div class="unseen" id="said" aria-live="polite"></div>
    <div class="unseen" id="said-now" aria-live="assertive"></div>
    <div id="toasts" role="status" aria-live="polite"></div>`;
}

/** @type {Record<import("./lib/live.js").Connection, [string, string, string?]>} */
const CONNECTIONS = {
  live: ["good", "Live"],
  reconnecting: ["warn", "Reconnecting…"],
  paused: ["calm", "Paused", "Hidden tabs do not receive updates."],
  polling: ["warn", "Polling every 5 s", "Many tabs are open in this browser, and other tabs use all live connections."],
  off: ["calm", "Connecting…"],
};

function TopBar({ who, drawer, setDrawer, onHelp }) {
  const [tone, text, title] = CONNECTIONS[useConnection()];
  const waiting = selectMine(useSignal(pendingApprovals)).length;
  const label = waiting ? `Menu, ${formatCount(waiting, "approval")} waiting for you` : "Menu";
  const leave = () => logout().catch(() => refreshSession());
  return html`<header class="top">
    <${Button} kind="plain icon menu" aria-label=${label} aria-expanded=${drawer ? "true" : "false"}
      aria-controls="navigation" onClick=${() => setDrawer(!drawer)}>☰${waiting > 0 && html`<span class="count" aria-hidden="true">${waiting}</span>`}</${Button}>
    <a class="brand" href="/console/rooms"><span class="mark" aria-hidden="true"></span>Doorward</a>
    <p class=${`connection ${tone}`} role="status" title=${title}><span class="dot" aria-hidden="true"></span>${text}</p>
    <div class="top-right">
      <span class="wide-only"><${ThemeButton} /></span>
      <${Button} kind="plain small keys-button" onClick=${onHelp} aria-label="Keyboard shortcuts" title="Keyboard shortcuts">?</${Button}>
      <span class="me" title=${`${who.user} of ${who.tenant}, access ${who.access}`}><${SafeText} text=${who.name || who.user} /></span>
      <${Button} kind="plain small" onClick=${leave}>Log out</${Button}>
    </div>
  </header>`;
}

/** @type {Record<string, [string, string]>} */
const THEMES = { system: ["system", "light"], light: ["light", "dark"], dark: ["dark", "system"] };

/** Switches between light, dark and the system's theme. */
function ThemeButton() {
  const [name, next] = THEMES[useSignal(theme)] ?? THEMES.system;
  return html`<${Button} kind="plain small" onClick=${() => setTheme(next)} title=${`Switch to the ${next} theme`}>Theme: ${name}</${Button}>`;
}

/** @param {{place: Place, onClose: () => void, open: boolean, who: Session, onHelp: () => void}} props */
function Navigation({ place, onClose, open, who, onHelp }) {
  const openRooms = (useSignal(rooms) ?? []).filter((one) => !one.archived);
  const mine = selectMine(useSignal(pendingApprovals));
  /** @type {import("./parts/ui.js").ElementRef} */
  const element = useRef(null);
  const onKey = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && open) onClose();
    if (!step) return;
    const links = [...element.current.querySelectorAll("a")];
    const at = links.indexOf(/** @type {HTMLAnchorElement} */ (document.activeElement));
    if (at < 0) return;
    event.preventDefault();
    links[Math.max(0, Math.min(links.length - 1, at + step))].focus();
  };
  useEffect(() => {
    if (open) element.current.querySelector("a")?.focus();
  }, [open]);
  const link = (/** @type {string} */ name) => {
    const title = PAGES.find(([, one]) => one === name)?.[2];
    const count = name === "approvals" ? mine.length : 0;
    return html`<li>
      <a href=${`/console/${name}`} aria-current=${place.name === name && !(name === "rooms" && place.id) ? "page" : undefined}>
        <span>${title}</span>${count > 0 && html`<span class="count">${count}<span class="unseen"> waiting for you</span></span>`}
      </a>
    </li>`;
  };
  return html`<nav id="navigation" aria-label="Console" ref=${element} onKeyDown=${onKey}>
    <ul>${link("rooms")}</ul>
    <ul class="room-links" aria-label="Your rooms">
      ${openRooms.map((one) => {
        const waiting = mine.filter((approval) => approval.room === one.room).length;
        return html`<li key=${one.room}>
          <a href=${`/console/rooms/${encodeURIComponent(one.room)}`}
            aria-current=${place.name === "rooms" && place.id === one.room ? "page" : undefined}>
            <span class="room-name"><span class="sigil" aria-hidden="true">${one.direct ? "@" : "#"}</span><${SafeText} text=${roomTitle(one)} /></span>
            ${waiting > 0 && html`<span class="count asks">${waiting} waiting<span class="unseen"> for your decision</span></span>`}
            ${one.unread > 0 && html`<span class="count">${one.unread > 99 ? "99+" : one.unread}<span class="unseen"> unread</span></span>`}
          </a>
        </li>`;
      })}
    </ul>
    <ul>${PAGES.filter(([, name]) => name !== "rooms").map(([, name]) => link(name))}</ul>
    <p class="narrow-only">Logged in as <${SafeText} text=${who.name || who.user} /><br /><${ThemeButton} /> <${Button} kind="plain small" onClick=${onHelp}>Keyboard shortcuts</${Button}></p>
  </nav>`;
}

/** The title of a room; for a direct room the other member. @param {Room} room */
function roomTitle(room) {
  if (!room.direct) return room.title || room.room;
  const others = Object.keys(room.members ?? {}).filter((id) => id !== session.value?.user);
  return others[0] ?? room.title ?? room.room;
}

/** Loads the module of a page and shows it. @param {{place: Place, navigate: Navigate}} props */
function PageHost({ place, navigate }) {
  const [failed, reset] = useErrorBoundary((error) => console.error(error));
  const [page, setPage] = useState(() => loadedPages.get(place.name) ?? null);
  const [problem, setProblem] = useState(/** @type {ProblemFacts | null} */ (null));
  useEffect(() => {
    if (!PAGE_NAMES.has(place.name) || page) return undefined;
    let [timer, gone] = [0, false];
    const load = async (/** @type {number} */ tries) => {
      try {
        if (tries) await refreshSession();
        // A browser does not fetch a failed module again, so each try uses another address.
        const module = await import(`./pages/${place.name}.js${tries ? `?again=${tries}` : ""}`);
        loadedPages.set(place.name, module.default);
        if (gone) return;
        setPage(() => module.default);
        setProblem(null);
      } catch (error) {
        if (gone) return;
        // The browser does not say why a module failed to load. Ask the server, if it responds.
        const why = tries ? error : await refreshSession().then(() => error, (reason) => reason);
        if (why.code === "unreachable") {
          setProblem(Object.assign(why, { retrying: true }));
          timer = setTimeout(load, RETRY_DELAY, tries + 1);
          return;
        }
        console.error(error);
        setProblem({
          title: "This page could not be loaded",
          detail: "Doorward may have been restarted with another version of the console.",
          hint: "Reload the page.",
        });
      }
    };
    load(0);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [place.name]);
  if (!PAGE_NAMES.has(place.name))
    return html`<${Page} title="Page not found">
      <p>The console has no page at this address. <a href="/console/rooms">Go to Rooms.</a></p>
    </${Page}>`;
  const unreachable = problem?.code === "unreachable";
  if (problem || failed) {
    const title = unreachable ? PAGES.find(([, name]) => name === place.name)?.[2] : "This page failed";
    const retry = () => (problem ? location.reload() : reset());
    return html`<${Page} title=${title}>
      <${ErrorBox} problem=${problem ?? { title: "This page failed", detail: String(failed.message ?? failed) }} onRetry=${unreachable ? undefined : retry} />
    </${Page}>`;
  }
  if (!page) return html`<${Loading} />`;
  return html`<${page} params=${place} navigate=${navigate} />`;
}

onLogout(clearDrafts);
const root = document.getElementById("app");
if (root) {
  root.textContent = "";
  render(html`<${App} />`, root);
}
