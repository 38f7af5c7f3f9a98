// What is declared about a command, and where one would run it.

import { rooms } from "./state.js";
import { Badge, Field, html, useSignal } from "./ui.js";

/** The choice of where one acts. A recipe binds people too, in a room. */
export function RoomChoice({ room, onChange, hint }) {
  const mine = useSignal(rooms) ?? [];
  const options = [["", "as me, outside rooms"], ...mine.filter((one) => !one.archived).map((one) => [one.room,
    `as in room ${one.name || one.room}`])];
  if (room && !options.some(([id]) => id === room)) options.push([room, `as in room ${room}`]);
  return html`<${Field} label="Where" options=${options} value=${room} hint=${hint}
    onChange=${(event) => onChange(event.target.value)} />`;
}

/** What is declared about a command: tier, how dangerous, what it touches, what it costs, whether it can be undone. */
export function Facts({ of }) {
  const reads = of.readsOnly ?? (of.effects.length === 1 && of.effects[0] === "read");
  const undo = typeof of.undo === "boolean" ? of.undo : of.undo === "yes";
  return html`<span class="bits">
    <${Badge}>${of.tier}</${Badge}>
    <${Badge} tone=${{ dangerous: "bad", caution: "warn" }[of.safety] ?? "good"}>${of.safety}</${Badge}>
    <span class="quiet">${reads ? "only reads" : of.effects.map((one) => one.replaceAll("_", " ")).join(", ")}</span>
    <span class="quiet">cost ${of.cost}</span>
    ${!reads && html`<span class="quiet">${undo ? "can be undone" : "no undo"}</span>`}
  </span>`;
}
