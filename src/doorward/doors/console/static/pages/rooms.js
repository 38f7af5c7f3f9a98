// @ts-check
// The user's rooms, or one of them.

import { encode } from "../lib/api.js";
import { chooseFirstRoom, pendingApprovals, rooms, selectMine } from "../lib/store.js";
import { Permitted } from "../parts/permission.js";
import { RoomView } from "../parts/room.js";
import { Badge, Button, createLazy, Empty, html, Loading, Page, SafeText, useEffect, useSignal, useState } from "../parts/ui.js";

const DirectMessageDialog = createLazy(async () => (await import("../parts/room-dialogs.js")).DirectMessageDialog);
const DraftPage = createLazy(async () => (await import("../parts/room-drafts.js")).DraftPage);
const NewRoomDialog = createLazy(async () => (await import("../parts/room-dialogs.js")).NewRoomDialog);

/** @param {PageProps} props */
export default function RoomsPage({ params, navigate }) {
  const [kind, draft] = params.rest;
  if (params.id && kind === "drafts" && draft) return html`<${DraftPage} room=${params.id} id=${draft} key=${draft} navigate=${navigate} />`;
  if (params.id) return html`<${RoomView} name=${params.id} key=${params.id} navigate=${navigate} query=${params.query} />`;
  return params.first ? html`<${FirstRoom} navigate=${navigate} />` : html`<${RoomList} navigate=${navigate} />`;
}

/** Without a page in the address, the console opens a room. */
function FirstRoom({ navigate }) {
  const all = useSignal(rooms);
  const room = all && chooseFirstRoom(all);
  useEffect(() => {
    if (room) navigate(`/console/rooms/${encode(room)}`, { replace: true });
  }, [room]);
  return all && !room ? html`<${RoomList} navigate=${navigate} />` : html`<${Loading} />`;
}

function RoomList({ navigate }) {
  const all = useSignal(rooms);
  const [dialog, setDialog] = useState("");
  const close = () => setDialog("");
  const actions = html`<${Button} onClick=${() => setDialog("direct")}>New direct message</${Button}>
    <${Permitted} command="room/create" action="Create a room"><${Button} kind="primary" onClick=${() => setDialog("new")}>New room</${Button}></${Permitted}>`;
  const open = (all ?? []).filter((one) => !one.archived);
  const archived = (all ?? []).filter((one) => one.archived);
  return html`<${Page} title="Rooms" actions=${actions}>
    ${all === null && html`<${Loading} />`}
    ${all && !all.length && html`<${Empty} title="You are not in a room yet">Ask a member to invite you, or start a direct message.</${Empty}>`}
    <ul class="room-list">${open.map((one) => html`<${RoomEntry} room=${one} key=${one.room} />`)}</ul>
    ${archived.length > 0 &&
    html`<details><summary>Archived rooms (${archived.length})</summary>
      <ul class="room-list">${archived.map((one) => html`<${RoomEntry} room=${one} key=${one.room} />`)}</ul></details>`}
    ${dialog === "new" && html`<${NewRoomDialog} onClose=${close} navigate=${navigate} />`}
    ${dialog === "direct" && html`<${DirectMessageDialog} onClose=${close} navigate=${navigate} />`}
  </${Page}>`;
}

function RoomEntry(/** @type {{room: Room}} */ { room }) {
  const waiting = selectMine(useSignal(pendingApprovals)).filter((one) => one.room === room.room).length;
  const kinds = Object.values(room.kinds ?? {});
  const people = kinds.filter((kind) => kind === "human").length;
  const others = kinds.length - people;
  return html`<li>
    <a class="card room-entry" href=${`/console/rooms/${encode(room.room)}`}>
      <span class="room-entry-head">
        <strong><${SafeText} text=${room.title || room.room} /></strong>
        ${waiting > 0 && html`<span class="count asks">${waiting} waiting<span class="unseen"> for your decision</span></span>`}
        ${room.unread > 0 && html`<span class="count">${room.unread}<span class="unseen"> unread</span></span>`}
      </span>
      ${room.topic && html`<span class="room-topic"><${SafeText} text=${room.topic} /></span>`}
      <span class="quiet">${people} ${people === 1 ? "person" : "people"}, ${others} ${others === 1 ? "AI" : "AIs"} ·
        recipe <code>${room.recipe}</code>${room.workspace && html` · <code><${SafeText} text=${room.workspace} /></code>`} ${room.archived && html`<${Badge}>archived</${Badge}>`}</span>
    </a>
  </li>`;
}
