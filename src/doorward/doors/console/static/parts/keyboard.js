// @ts-check
// Keyboard shortcuts. They are inactive while the user types.

import { Dialog, html, useEffect, useState } from "./ui.js";

/** Every page: the second key of its shortcut, its name in addresses, and its title. @type {[string, string, string][]} */
export const PAGES = [
  ["r", "rooms", "Rooms"],
  ["a", "approvals", "Approvals"],
  ["e", "executions", "Executions"],
  ["c", "commands", "Commands"],
  ["l", "ledger", "Ledger"],
  ["p", "recipes", "Recipes"],
  ["s", "servers", "Servers"],
  ["i", "personas", "Personas"],
  ["f", "effort", "Effort"],
  ["t", "settings", "Settings"],
];

const SEQUENCE_TIME = 1500;
let sequenceStart = 0; // when g was pressed, until the second key

/** Whether the next key completes a shortcut such as "g a" and has no other meaning. */
export const isInSequence = () => Date.now() - sequenceStart < SEQUENCE_TIME;

/** The search field of the page, or the button that opens it. @returns {HTMLElement | null} */
const findSearch = () =>
  document.querySelector("main [type=search], main [data-search]") ?? document.querySelector("[data-opens-search]");

/** @returns {HTMLElement | null} */
const findComposer = () => document.querySelector("[data-composer]");

const isTyping = (target) => target.closest?.("input, textarea, select, [contenteditable], dialog[open]");

/** Leave a form field. Dialogs, panels and rooms handle Escape themselves. */
function leaveField(target) {
  if (target.closest?.("main input, main select, main textarea") && !target.closest("dialog, aside, .room"))
    document.getElementById("main")?.focus({ preventScroll: true });
}

/** Move between the entries of a list of links or cards. Tables have their own keys. */
function moveInList(event) {
  const list = event.target.closest?.("main .room-list, main .command-list, main .cards, main [data-list]");
  if (!list) return;
  const links = [...list.children].map((one) => one.querySelector("a[href]")).filter(Boolean);
  const at = links.findIndex((one) => one === event.target || one.closest("li, article")?.contains(event.target));
  if (at < 0) return;
  event.preventDefault();
  links[Math.max(0, Math.min(links.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)))].focus();
}

/** Handle the shortcuts. Returns whether the list of shortcuts is open, and its setter. @param {Navigate} navigate */
export function useKeyboard(navigate) {
  const [help, setHelp] = useState(false);
  useEffect(() => {
    const onKey = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
      if (event.key === "Escape") leaveField(event.target);
      if (isTyping(event.target)) return;
      if (event.key === "ArrowDown" || event.key === "ArrowUp") moveInList(event);
      if (isInSequence()) {
        sequenceStart = 0;
        const page = PAGES.find(([key]) => key === event.key);
        if (page) {
          event.preventDefault();
          navigate(`/console/${page[1]}`);
        }
        return;
      }
      if (event.key === "g") sequenceStart = Date.now();
      else if (event.key === "?") setHelp(true);
      else if (event.key === "/") {
        const search = findSearch();
        if (search) {
          event.preventDefault();
          search.focus();
          if (search.matches("[data-opens-search]")) search.click();
        }
      } else if (event.key === "m") {
        const composer = findComposer();
        if (composer) {
          event.preventDefault();
          composer.focus();
        }
      }
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [navigate]);
  return /** @type {const} */ ([help, setHelp]);
}

/** The list of shortcuts that work on the current page. */
export function KeyboardHelp({ onClose }) {
  /** @type {[string[], string][]} */
  const rows = [
    ...PAGES.map(([key, , title]) => /** @type {[string[], string]} */ ([["g", key], `Go to ${title.toLowerCase()}`])),
    ...(findSearch() ? [/** @type {[string[], string]} */ ([["/"], "Search this page"])] : []),
    ...(findComposer() ? [/** @type {[string[], string]} */ ([["m"], "Write a message"])] : []),
    [["↑", "↓"], "Move in a list"],
    [["Enter"], "Open an entry, or send a message"],
    [["Esc"], "Close a dialog, or leave a field"],
    [["?"], "Show keyboard shortcuts"],
  ];
  return html`<${Dialog} title="Keyboard shortcuts" onClose=${onClose}>
    <dl class="keys">
      ${rows.map(
        ([keys, text]) =>
          html`<div>
            <dt>${keys.map((key) => html`<kbd>${key}</kbd> `)}</dt>
            <dd>${text}</dd>
          </div>`,
      )}
    </dl>
  </${Dialog}>`;
}
