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

const typing = (target) => target.closest?.("input, textarea, select, [contenteditable], dialog[open]");

export function useKeys(navigate) {
  const [help, setHelp] = useState(false);
  useEffect(() => {
    let going = 0;
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(event.target)) return;
      if (going && Date.now() - going < 1500) {
        going = 0;
        const place = PLACES.find(([key]) => key === event.key);
        if (place) {
          event.preventDefault();
          navigate(`/console/${place[1]}`);
        }
        return;
      }
      if (event.key === "g") going = Date.now();
      else if (event.key === "?") setHelp(true);
      else if (event.key === "/") {
        const search = document.querySelector("main [type=search], main [data-search]");
        if (search) {
          event.preventDefault();
          search.focus();
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
    [["/"], "Search on this page"],
    [["m"], "Write a message (in a room)"],
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
