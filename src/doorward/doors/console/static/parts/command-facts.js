// @ts-check
// The declared properties of a command, and the choice of the room to run it in.

import { rooms } from "../lib/store.js";
import { Badge, Field, html, useSignal } from "./ui.js";

/** Choose where to run. In a room its recipe applies to people too. */
export function RoomSelect({ room, onChange, hint = "" }) {
  const open = (useSignal(rooms) ?? []).filter((one) => !one.archived);
  const options = [["", "Outside rooms"], ...open.map((one) => [one.room, `In room ${one.name || one.room}`])];
  if (room && !options.some(([id]) => id === room)) options.push([room, `In room ${room}`]);
  return html`<${Field} label="Run" options=${options} value=${room} hint=${hint} onChange=${(event) => onChange(event.target.value)} />`;
}

/** Tier, safety, effects, cost and undo of a command. */
export function CommandFacts({ of }) {
  const readOnly = of.readsOnly ?? (of.effects.length === 1 && of.effects[0] === "read");
  const undo = typeof of.undo === "boolean" ? of.undo : of.undo === "yes";
  return html`<span class="bits">
    <${Badge}>${of.tier}</${Badge}>
    <${Badge} tone=${{ dangerous: "bad", caution: "warn" }[of.safety] ?? "good"}>${of.safety}</${Badge}>
    <span class="quiet">${readOnly ? "read-only" : of.effects.map((one) => one.replaceAll("_", " ")).join(", ")}</span>
    <span class="quiet">cost ${of.cost}</span>
    ${!readOnly && html`<span class="quiet">${undo ? "can be undone" : "cannot be undone"}</span>`}
  </span>`;
}
