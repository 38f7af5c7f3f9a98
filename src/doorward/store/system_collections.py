"""Doorward's own data as read-only collections. Everything except recipes belongs to one tenant.

A credential limited to rooms sees only data of those rooms. Rooms, their messages and their approvals are visible to
members and to callers with full access, and so are the notes of calls made there. Parameters of a call are visible to
its caller and to callers with full access, with secrets hidden. Calls in a direct-message room are visible to its two
members. A caller with root access sees that a call was made there and which command ran, but no parameters, notes or
messages.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from doorward.core.classification import Access
from doorward.store import sql_functions
from doorward.store.collections import Field, OrderBy, TableCollection, Where
from doorward.store.ledger import counts
from doorward.store.rooms import DIRECT
from doorward.store.scope import Scope, ScopeSql, quoted

Select = Callable[[ScopeSql], str]


class SystemCollection(TableCollection):
    kind = "system"

    def __init__(
        self,
        name: str,
        fields: Sequence[Field],
        select: Select,
        *,
        areas: Sequence[str] = (),
        tie: str = "id",
    ) -> None:
        super().__init__(name, fields, key="id", ties=[f"c.{quoted(tie)}"])
        self._select = select
        self.areas = tuple(areas)
        """The command families that change this data."""

    def select(self, names: ScopeSql) -> str:
        return self._select(names)

    def view(self, names: ScopeSql) -> str:
        shown = ", ".join(f"c.{quoted(field.name)}" for field in self.fields)
        return f"SELECT {shown} FROM ({self._select(names)}) AS c"


class AuditCollection(SystemCollection):
    """The ledger. For a large one, the stored counts tell which ranges can contain a value."""

    def scan_conditions(self, db: sqlite3.Connection, scope: Scope, where: Where, order_by: OrderBy) -> Iterator[str]:
        given = {name: value for name, value in map(_equal, (where or {}).items()) if isinstance(value, str)}
        telling = "at" in (where or {}) or given.keys() & {*counts.FIELDS, "status"}
        if order_by not in ("-id", ["-id"]) or not telling or "call" in given:
            yield "TRUE"
            return
        for first, last in counts.seq_ranges(db, scope.tenant, given, _times((where or {}).get("at"))):
            yield f"c.id BETWEEN {int(first)} AND {int(last)}"


def _equal(item: tuple[str, Any]) -> tuple[str, Any]:
    """A field and the value a filter requires for it; None if the condition is not an equality."""
    name, wanted = item
    if isinstance(wanted, Mapping):
        wanted = wanted["$eq"] if wanted.keys() == {"$eq"} else None
    return name, wanted


def _times(wanted: Any) -> tuple[float, float]:
    """The time span of a filter on time, from its simple bounds. May be wider than the filter."""
    bounds = wanted if isinstance(wanted, Mapping) else {}
    begin, end = bounds.get("$gte", bounds.get("$gt")), bounds.get("$lt", bounds.get("$lte"))
    return _seconds(begin, 0.0), _seconds(end, math.inf)


def _seconds(given: Any, otherwise: float) -> float:
    if isinstance(given, int | float) and not isinstance(given, bool):
        return float(given)
    try:
        when = datetime.fromisoformat(given)
    except (TypeError, ValueError):
        return otherwise
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _in_scope(names: ScopeSql, room: str) -> str:
    return f"({names.rooms} IS NULL OR {room} IN (SELECT value FROM json_each({names.rooms})))"


def _is_caller(names: ScopeSql, column: str) -> str:
    return f"{column} IN (SELECT value FROM json_each({names.identities}))"


def _as_member(names: ScopeSql, room: str) -> str:
    return (
        f"({names.level} >= {int(Access.FULL)} OR {room} IN (SELECT m.room FROM {names.schema}.members AS m"
        f" WHERE m.tenant = {names.tenant} AND {_is_caller(names, 'm.id')}))"
    )


def _is_no_others(names: ScopeSql, room: str) -> str:
    """Not a direct-message room of others. Only its two members see it, at any access level; agents only as members."""
    return (
        f"({room} NOT IN (SELECT d.id FROM {names.schema}.rooms AS d WHERE d.tenant = {names.tenant} AND d.direct)"
        f" OR NOT EXISTS (SELECT 1 FROM json_each({names.identities}) AS i WHERE i.value NOT IN"
        f" (SELECT t.id FROM {names.schema}.members AS t WHERE t.tenant = {names.tenant} AND t.room = {room})))"
    )


def _is_own(names: ScopeSql) -> str:
    """Whether the reader made the call of a row, or an agent made it on the reader's behalf."""
    return f"NOT EXISTS (SELECT 1 FROM json_each({names.identities}) AS i WHERE i.value NOT IN (caller, behalf))"


def _is_no_secret(names: ScopeSql, room: str) -> str:
    """Not a call in a direct-message room of others, unless it is the reader's own or the reader has root access."""
    others = f"{room} NOT GLOB '{DIRECT}*' OR {_is_no_others(names, room)}"
    return f"({others} OR {names.level} >= {int(Access.ROOT)} OR {_is_own(names)})"


def _hide_from_strangers(names: ScopeSql, room: str, text: str, value: str) -> str:
    """A value, or null if the call was made in a direct-message room of others or the record's text names one."""
    stranger = (
        f"SELECT 1 FROM json_each({names.identities}) AS i WHERE i.value NOT IN"
        f" (SELECT t.id FROM {names.schema}.members AS t WHERE t.tenant = {names.tenant} AND t.room = d.id)"
    )
    named = (
        f"SELECT 1 FROM {names.schema}.rooms AS d WHERE d.tenant = {names.tenant} AND d.direct"
        f" AND instr({text}, d.id) AND EXISTS ({stranger})"
    )
    within = f"{room} GLOB '{DIRECT}*' AND NOT {_is_no_others(names, room)}"
    hidden = f"({within} OR command = 'room/direct' OR (instr({text}, '{DIRECT}') AND EXISTS ({named})))"
    return f"CASE WHEN {hidden} AND NOT {_is_own(names)} THEN NULL ELSE {value} END"


def _to_members(names: ScopeSql, value: str) -> str:
    """A value, or null if the call was made in a room that the reader is not a member of."""
    return f"CASE WHEN room = '' OR {_as_member(names, 'room')} OR {_is_own(names)} THEN {value} END"


def _to_owner(names: ScopeSql, value: str) -> str:
    return (
        f"CASE WHEN {names.level} >= {int(Access.FULL)} OR {_is_caller(names, 'caller')}"
        f" OR {_is_caller(names, 'behalf')} THEN {value} END"
    )


def _rooms(names: ScopeSql) -> str:
    members = (
        "(SELECT json_group_array(json_object('id', m.id, 'kind', m.kind, 'role', m.role))"
        f" FROM {names.schema}.members AS m WHERE m.tenant = r.tenant AND m.room = r.id)"
    )
    return (
        f"SELECT id, name, recipe, archived, {members} AS members, version, created_at AS createdAt, topic,"
        f" direct FROM {names.schema}.rooms AS r WHERE tenant = {names.tenant} AND {_in_scope(names, 'id')}"
        f" AND {_as_member(names, 'id')} AND {_is_no_others(names, 'r.id')}"
    )


def _messages(names: ScopeSql) -> str:
    return (
        "SELECT id, room, sender, kind, text, at, revision, edited_at AS editedAt, deleted_at AS deletedAt,"
        f" reply_to AS replyTo, attachments, n FROM {names.schema}.messages AS o"
        f" WHERE tenant = {names.tenant} AND {_in_scope(names, 'room')} AND {_as_member(names, 'room')}"
        f" AND {_is_no_others(names, 'o.room')}"
    )


def _users(names: ScopeSql) -> str:
    labels = " ".join(f"WHEN {int(level)} THEN '{level.label}'" for level in Access)
    return (
        f"SELECT id, name, kind, CASE access {labels} END AS access, active, created_at AS createdAt"
        f" FROM {names.schema}.users WHERE tenant = {names.tenant}"
    )


def _recipes(names: ScopeSql) -> str:
    return (
        "SELECT id, CASE WHEN json_valid(body) THEN body ELSE json_quote(body) END AS body, digest,"
        f" loaded_at AS loadedAt FROM {names.schema}.recipes WHERE id IS NOT NULL"
    )


def _executions(names: ScopeSql) -> str:
    return (
        "SELECT call AS id, at / 1000000.0 AS at, caller, kind, behalf AS onBehalfOf, room, door, command,"
        " CASE phase WHEN 'start' THEN 'running' ELSE status END AS status, code,"
        f" duration / 1000.0 AS durationMs, seq FROM {names.schema}.ledger AS l"
        f" WHERE tenant = {names.tenant} AND {_in_scope(names, 'room')} AND {_is_no_secret(names, 'l.room')}"
        f" AND (phase <> 'start' OR call IN (SELECT o.call FROM {names.schema}.open_calls AS o))"
        f" AND (status <> 'parked' OR call NOT IN (SELECT d.call FROM {names.schema}.ledger AS d"
        " WHERE d.call = l.call AND d.phase = 'end'))"
    )


def _approvals(names: ScopeSql) -> str:
    params = _hide_from_strangers(
        names, "a.room", "params", _to_owner(names, f"{sql_functions.REDACTED}(command, params)")
    )
    return (
        f"SELECT id, room, caller, kind, behalf AS onBehalfOf, command, {params} AS params, quorum, state,"
        " created_at AS createdAt, expires_at AS expiresAt, decided_at AS decidedAt, used_by AS usedBy"
        f" FROM {names.schema}.approvals AS a WHERE tenant = {names.tenant} AND {_in_scope(names, 'room')}"
        f" AND {_is_no_secret(names, 'a.room')}"
        f" AND ({_is_own(names)} OR CASE room WHEN '' THEN {names.level} >= {int(Access.ROOT)}"
        f" ELSE {_as_member(names, 'room')} END)"
    )


def _audit(names: ScopeSql) -> str:
    params = _to_owner(names, "CASE WHEN json_valid(params) THEN params ELSE json_quote(params) END")
    params, note = (
        _hide_from_strangers(names, "l.room", "params", params),
        _hide_from_strangers(names, "l.room", "note", _to_members(names, "note")),
    )
    return (
        "SELECT seq AS id, at / 1000000.0 AS at, phase, call, caller, kind, behalf AS onBehalfOf, door, room, command,"
        f" tier, {params} AS params, digest, rule, approval, reserved, spent, status, code, {note} AS note,"
        f" duration / 1000.0 AS durationMs, prev, hash FROM {names.schema}.ledger AS l"
        f" WHERE tenant = {names.tenant} AND {_in_scope(names, 'room')} AND {_is_no_secret(names, 'l.room')}"
    )


_CALLED = "command GLOB 'mcp/*/*' AND phase <> 'start' AND status IN ('done', 'failed') AND code <> 'dry_run'"
"""The end records of calls to upstream tools. Refused and waiting calls did not reach a server."""
_SERVER = "substr(command, 5, instr(substr(command, 5), '/') - 1)"
_TOOL = "substr(command, 5 + instr(substr(command, 5), '/'))"


def _servers(names: ScopeSql) -> str:
    return (
        "SELECT id, name, transport, enabled, state AS status, problem AS lastError, since"
        f" FROM {names.schema}.upstream_servers WHERE tenant = {names.tenant} AND removed_at IS NULL"
    )


def _server_use(names: ScopeSql) -> str:
    used = (
        f"SELECT {_SERVER} AS server, max(at) / 1000000.0 AS last_used, count(*) AS calls,"
        f" sum(status = 'failed') AS failures FROM {names.schema}.ledger"
        f" WHERE tenant = {names.tenant} AND {_in_scope(names, 'room')} AND {_CALLED} GROUP BY 1"
    )
    return (
        "SELECT s.id AS id, s.name AS name, s.transport AS transport, s.enabled AS enabled, s.added_at AS added_at,"
        " u.last_used AS last_used, coalesce(u.calls, 0) AS total_invocations,"
        " coalesce(u.failures, 0) AS total_failures"
        f" FROM {names.schema}.upstream_servers AS s LEFT JOIN ({used}) AS u ON u.server = s.id"
        f" WHERE s.tenant = {names.tenant} AND s.removed_at IS NULL"
    )


def _tool_use(names: ScopeSql) -> str:
    began = f"(SELECT s.params FROM {names.schema}.ledger AS s WHERE s.call = l.call AND s.phase = 'start')"
    given = f"CASE phase WHEN 'end' THEN {began} ELSE params END"
    params = _to_owner(names, f"CASE WHEN json_valid({given}) THEN {given} ELSE json_quote({given}) END")
    params, note = (
        _hide_from_strangers(names, "l.room", given, params),
        _hide_from_strangers(names, "l.room", "note", _to_members(names, "note")),
    )
    return (
        f"SELECT call AS id, {_SERVER} AS server_id, {_TOOL} AS tool_name, command, at / 1000000.0 AS timestamp,"
        f" caller, room, room AS conversation_id, {params} AS parameters, spent AS energy_consumed,"
        " duration / 1000.0 AS duration_ms, status = 'done' AS success,"
        f" CASE status WHEN 'failed' THEN code END AS code, CASE status WHEN 'failed' THEN {note} END AS error, seq"
        f" FROM {names.schema}.ledger AS l WHERE tenant = {names.tenant} AND {_in_scope(names, 'room')}"
        f" AND {_is_no_secret(names, 'l.room')} AND {_CALLED}"
    )


def _nothing(fields: Sequence[Field]) -> Select:
    """No rows: nothing stores this data yet, but the fields are fixed."""
    columns = ", ".join(f"NULL AS {quoted(field.name)}" for field in fields)
    return lambda names: f"SELECT {columns} WHERE FALSE"


def _fields(words: str) -> list[Field]:
    """Parse a list of fields: `name` is text, `name:kind` another type."""
    pairs = (word.partition(":") for word in words.split())
    return [msgspec.convert({"name": name, "kind": kind or "text"}, Field) for name, _, kind in pairs]


_JOBS = _fields(
    "id name schedule timezone command params:json enabled:boolean owner nextAt:time lastAt:time lastStatus"
)
_NODES = _fields("id name kind owner status pairedAt:time seenAt:time")

SYSTEM: dict[str, SystemCollection] = {
    one.name: one
    for one in (
        SystemCollection(
            "rooms",
            _fields("id name recipe archived:boolean members:json version:number createdAt:time topic direct:boolean"),
            _rooms,
            areas=["room"],
        ),
        SystemCollection(
            "messages",
            _fields(
                "id room sender kind text at:time revision:number editedAt:time deletedAt:time replyTo attachments:json"
            ),
            _messages,
            areas=["room", "chat"],
            tie="n",
        ),
        SystemCollection(
            "users", _fields("id name kind access active:boolean createdAt:time"), _users, areas=["user", "token"]
        ),
        SystemCollection("recipes", _fields("id body:json digest loadedAt:time"), _recipes, areas=["recipe"]),
        SystemCollection(
            "executions",
            _fields("id at:time caller kind onBehalfOf room door command status code durationMs:number"),
            _executions,
            tie="seq",
        ),
        SystemCollection(
            "approvals",
            _fields(
                "id room caller kind onBehalfOf command params:json quorum:number state createdAt:time"
                " expiresAt:time decidedAt:time usedBy"
            ),
            _approvals,
            areas=["approval"],
        ),
        AuditCollection(
            "audit",
            _fields(
                "id:number at:time phase call caller kind onBehalfOf door room command tier params:json digest rule"
                " approval reserved:number spent:number status code note durationMs:number prev hash"
            ),
            _audit,
        ),
        SystemCollection(
            "servers", _fields("id name transport enabled:boolean status lastError since:time"), _servers, areas=["mcp"]
        ),
        SystemCollection(
            "mcp_servers",
            _fields(
                "id name transport enabled:boolean added_at:time last_used:time total_invocations:number"
                " total_failures:number"
            ),
            _server_use,
            areas=["mcp"],
        ),
        SystemCollection(
            "mcp_tool_invocations",
            _fields(
                "id server_id tool_name command timestamp:time caller room conversation_id parameters:json"
                " energy_consumed:number duration_ms:number success:boolean code error"
            ),
            _tool_use,
            tie="seq",
        ),
        SystemCollection("jobs", _JOBS, _nothing(_JOBS), areas=["cron"]),
        SystemCollection("nodes", _NODES, _nothing(_NODES), areas=["node"]),
    )
}
