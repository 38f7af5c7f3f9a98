// Keys for people who do not want to leave the keyboard. They do nothing while somebody types.

import { Dialog, html, useEffect, useState } from "./ui.js";

export const PLACES = [
  ["r", "rooms", "Rooms"],
  ["a", "approvals", "Approvals"],
  ["e", "executions", "Executions"],
  ["c", "commands", "Commands"],
  ["l", "ledger", "Ledger"],
  ["p", "recipes", "Recipes"],
  ["s", "servers", "Servers"],
  ["i", "personas", "Personas"],
  ["t", "settings", "Settings"],
];

const TOGETHER = 1500;
let begun = 0; // when g was pressed, as long as the second key has not come

/** Whether the next key is the second of two that lead to a page, and so means nothing else. */
export const goesSomewhere = () => Date.now() - begun < TOGETHER;

/** Where one searches on this page: a field, or the button that opens it; null where there is nothing to search. */
const search = () => document.querySelector("main [type=search], main [data-search]") ?? document.querySelector("[data-opens-search]");

const typing = (target) => target.closest?.("input, textarea, select, [contenteditable], dialog[open]");

/** Out of what one writes in. What is in a dialog, a panel or a room has its own word about that. */
function leaveField(target) {
  if (target.closest?.("main input, main select, main textarea") && !target.closest("dialog, aside, .room"))
    document.getElementById("main").focus({ preventScroll: true });
}

/** From one thing to the next, in lists of links and of cards; tables have their own keys. */
function moveInList(event) {
  const list = event.target.closest?.("main .room-list, main .command-list, main .cards, main [data-list]");
  if (!list) return;
  const all = [...list.children].map((one) => one.querySelector("a[href]")).filter(Boolean);
  const at = all.findIndex((one) => one === event.target || one.closest("li, article")?.contains(event.target));
  if (at < 0) return;
  event.preventDefault();
  all[Math.max(0, Math.min(all.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)))].focus();
}

export function useKeys(navigate) {
  const [help, setHelp] = useState(false);
  useEffect(() => {
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
      if (event.key === "Escape") leaveField(event.target);
      if (typing(event.target)) return;
      if (event.key === "ArrowDown" || event.key === "ArrowUp") moveInList(event);
      if (goesSomewhere()) {
        begun = 0;
        const place = PLACES.find(([key]) => key === event.key);
        if (place) {
          event.preventDefault();
          navigate(`/console/${place[1]}`);
        }
        return;
      }
      if (event.key === "g") begun = Date.now();
      else if (event.key === "?") setHelp(true);
      else if (event.key === "/") {
        const place = search();
        if (place) {
          event.preventDefault();
          place.focus();
          if (place.matches("[data-opens-search]")) place.click();
        }
      } else if (event.key === "m") {
        const composer = document.querySelector("[data-composer]");
        if (composer) {
          event.preventDefault();
          composer.focus();
        }
      }
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, [navigate]);
  return [help, setHelp];
}

export function Keys({ onClose }) {
  const rows = [
    ...PLACES.map(([key, , title]) => [["g", key], `Go to ${title.toLowerCase()}`]),
    ...(search() ? [[["/"], "Search on this page"]] : []),
    ...(document.querySelector("[data-composer]") ? [[["m"], "Write a message"]] : []),
    [["↑", "↓"], "Move in a list"],
    [["Enter"], "Open, or send a message"],
    [["Esc"], "Close, or leave what you write in"],
    [["?"], "Show these keys"],
  ];
  return html`<${Dialog} title="Keys" onClose=${onClose}>
    <dl class="keys">
      ${rows.map(
        ([keys, words]) =>
          html`<div>
            <dt>${keys.map((key) => html`<kbd>${key}</kbd> `)}</dt>
            <dd>${words}</dd>
          </div>`,
      )}
    </dl>
  </${Dialog}>`;
}
