// The rooms you are in, or one of them.

import { Offered } from "../allowed.js";
import { firstRoom, rooms } from "../state.js";
import { Badge, Button, Empty, html, Loading, Page, useEffect, useSignal, useState, Visible } from "../ui.js";
import { DirectRoom, NewRoom } from "../room/dialogs.js";
import { Room } from "../room/room.js";

export default function Rooms({ params, navigate }) {
  if (params.id) return html`<${Room} name=${params.id} key=${params.id} navigate=${navigate} query=${params.query} />`;
  return params.first ? html`<${First} navigate=${navigate} />` : html`<${Overview} navigate=${navigate} />`;
}

/** Whoever comes in is in a room at once. */
function First({ navigate }) {
  const mine = useSignal(rooms);
  const room = mine && firstRoom(mine);
  useEffect(() => {
    if (room) navigate(`/console/rooms/${encodeURIComponent(room)}`, { replace: true });
  }, [room]);
  return mine && !room ? html`<${Overview} navigate=${navigate} />` : html`<${Loading} label="Looking for your rooms…" />`;
}

function Overview({ navigate }) {
  const mine = useSignal(rooms);
  const [dialog, setDialog] = useState("");
  const close = () => setDialog("");
  const actions = html`<${Button} onClick=${() => setDialog("direct")}>Write to somebody</${Button}>
    <${Offered} command="room/create" what="To make a room"><${Button} kind="primary" onClick=${() => setDialog("new")}>New room</${Button}></${Offered}>`;
  const open = (mine ?? []).filter((one) => !one.archived);
  const closed = (mine ?? []).filter((one) => one.archived);
  return html`<${Page} title="Rooms" actions=${actions}>
    ${mine === null && html`<${Loading} label="Looking for your rooms…" />`}
    ${mine && !mine.length && html`<${Empty} title="You are in no room yet">Ask somebody to invite you, or write to somebody, which makes a room of two.</${Empty}>`}
    <ul class="room-list">${open.map((one) => html`<${Entry} room=${one} key=${one.room} />`)}</ul>
    ${closed.length > 0 &&
    html`<details><summary>Archived rooms (${closed.length})</summary>
      <ul class="room-list">${closed.map((one) => html`<${Entry} room=${one} key=${one.room} />`)}</ul></details>`}
    ${dialog === "new" && html`<${NewRoom} onClose=${close} navigate=${navigate} />`}
    ${dialog === "direct" && html`<${DirectRoom} onClose=${close} navigate=${navigate} />`}
  </${Page}>`;
}

function Entry({ room }) {
  const kinds = Object.values(room.kinds ?? {});
  const people = kinds.filter((kind) => kind === "human").length;
  const others = kinds.length - people;
  return html`<li>
    <a class="card room-entry" href=${`/console/rooms/${encodeURIComponent(room.room)}`}>
      <span class="room-entry-head">
        <strong><${Visible} text=${room.title || room.room} /></strong>
        ${room.unread > 0 && html`<span class="count">${room.unread}<span class="unseen"> unread</span></span>`}
      </span>
      ${room.topic && html`<span class="room-topic"><${Visible} text=${room.topic} /></span>`}
      <span class="quiet">${people} ${people === 1 ? "person" : "people"}, ${others} ${others === 1 ? "AI" : "AIs"} ·
        recipe <code>${room.recipe}</code> ${room.archived && html`<${Badge}>archived</${Badge}>`}</span>
    </a>
  </li>`;
}
