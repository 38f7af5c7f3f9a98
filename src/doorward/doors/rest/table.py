"""The table of routes: each is one command of the gate. What is not in it, and is no command, is in `own.py`."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.doors.rest.operation import Match, Method, Operation

_TIME = {"type": "string", "format": "date-time"}
_AUDIT = {
    "command": Match("command", "$eq", "Only records of this command"),
    "caller": Match("caller", "$eq", "Only records of this caller"),
    "call": Match("call", "$eq", "Only records of this execution"),
    "inRoom": Match("room", "$eq", "Only records of what was asked in this room"),
    "door": Match("door", "$eq", "Only records of what came in by this door"),
    "status": Match("status", "$eq", "Only records with this status"),
    "code": Match("code", "$eq", "Only records with this code"),
    "since": Match("at", "$gte", "Only records from this time on", _TIME),
    "until": Match("at", "$lt", "Only records before this time", _TIME),
}


def _of(tag: str, *rows: Operation) -> tuple[Operation, ...]:
    return tuple(msgspec.structs.replace(row, tag=tag) for row in rows)


def _to(method: Method, path: str, id: str, command: str, summary: str, **more: Any) -> Operation:
    return Operation(id=id, method=method, path=path, command=command, tag="", summary=summary, **more)


OPERATIONS = (
    *_of(
        "commands",
        _to(
            "GET",
            "/commands/{command:path}",
            "describeCommand",
            "help/describe",
            "Everything about one command: parameters, effects, examples, undo",
        ),
    ),
    *_of(
        "executions",
        _to(
            "GET",
            "/executions",
            "listExecutions",
            "execution/list",
            "Your executions: those that wait or run, then those that ended, newest first",
        ),
        _to("GET", "/executions/{execution}", "getExecution", "execution/status", "Where an execution stands"),
        _to(
            "GET",
            "/executions/{execution}/output",
            "readOutput",
            "execution/output",
            "A page of what an execution wrote, or of a result too long to show whole",
        ),
        _to(
            "POST",
            "/executions/{execution}/cancel",
            "cancelExecution",
            "execution/cancel",
            "Stop an execution that waits or runs",
        ),
    ),
    *_of(
        "approvals",
        _to(
            "GET",
            "/approvals",
            "listApprovals",
            "approval/list",
            "What waits for a person, and what was decided, newest first",
        ),
        _to("GET", "/approvals/{id}", "getApproval", "approval/show", "Exactly what an approval is about"),
        _to("POST", "/approvals/{id}/approve", "approve", "approval/approve", "Say yes to what waits"),
        _to("POST", "/approvals/{id}/deny", "deny", "approval/deny", "Say no to what waits"),
    ),
    *_of(
        "rooms",
        _to("GET", "/rooms", "listRooms", "room/list", "The rooms you are a member of"),
        _to("POST", "/rooms", "createRoom", "room/create", "Make a room that a recipe governs", creates=True),
        _to("GET", "/rooms/{name}", "getRoom", "room/show", "One room: its recipe, members, and what is unread"),
        _to("PATCH", "/rooms/{name}", "changeRoom", "room/change", "Give a room another title or topic"),
        _to("PUT", "/direct/{member}", "directRoom", "room/direct", "The room of you and one other; made when needed"),
        _to("PUT", "/rooms/{name}/recipe", "setRoomRecipe", "room/recipe", "Put a room under another recipe"),
        _to(
            "POST",
            "/rooms/{name}/archive",
            "archiveRoom",
            "room/archive",
            "Close a room: it stays readable, and nothing runs in it",
        ),
        _to("POST", "/rooms/{name}/reopen", "reopenRoom", "room/reopen", "Open a room again that was closed"),
        _to("GET", "/rooms/{name}/members", "listMembers", "room/who", "Who is in a room, and who looks at it now"),
        _to(
            "PUT",
            "/rooms/{name}/members/{member}",
            "putMember",
            "room/join",
            "Make somebody a member, or change their role",
        ),
        _to("DELETE", "/rooms/{name}/members/{member}", "removeMember", "room/leave", "Take somebody out of a room"),
        _to("GET", "/rooms/{name}/messages", "listMessages", "room/messages", "What was said in a room, newest first"),
        _to("POST", "/rooms/{name}/messages", "postMessage", "room/say", "Say something in a room", creates=True),
        _to(
            "GET",
            "/rooms/{name}/messages/{message}",
            "getMessage",
            "room/message",
            "One message, and what it was before",
        ),
        _to(
            "PATCH",
            "/rooms/{name}/messages/{message}",
            "editMessage",
            "room/edit",
            "Give a message of yours another text",
        ),
        _to("DELETE", "/rooms/{name}/messages/{message}", "deleteMessage", "room/delete", "Take a message back"),
        _to(
            "GET",
            "/rooms/{name}/wait",
            "waitForMessages",
            "room/wait",
            "Wait until others say something, and give that",
        ),
        _to("PUT", "/rooms/{name}/mark", "markRead", "room/mark", "Remember how far you have read"),
        _to("GET", "/messages", "searchMessages", "room/search", "Find messages by their words in your rooms"),
    ),
    *_of(
        "personas",
        _to(
            "GET",
            "/personas",
            "listPersonas",
            "persona/list",
            "The AIs that live in rooms, with questions to ask them, and what is wrong with files that are not valid",
        ),
        _to("GET", "/personas/{id}", "getPersona", "persona/show", "A persona as it is in force"),
        _to(
            "PUT",
            "/personas/{id}",
            "putPersona",
            "persona/put",
            "Check a persona, which is the body, and put it in force",
            whole="text",
        ),
        _to("DELETE", "/personas/{id}", "removePersona", "persona/remove", "Remove a persona from the house"),
        _to(
            "POST",
            "/personas/{id}/check",
            "checkPersona",
            "persona/put",
            "Check a persona, which is the body, and change nothing",
            whole="text",
            dry_run=True,
        ),
        _to(
            "POST",
            "/rooms/{name}/personas/{id}/stop",
            "stopPersona",
            "persona/stop",
            "Stop what a persona does in a room",
        ),
    ),
    *_of(
        "recipes",
        _to(
            "GET",
            "/recipes",
            "listRecipes",
            "recipe/list",
            "The recipes, and what is wrong with files that are not valid",
        ),
        _to("GET", "/recipes/{id}", "getRecipe", "recipe/show", "A recipe as it is in force"),
        _to(
            "PUT",
            "/recipes/{id}",
            "putRecipe",
            "recipe/put",
            "Check a recipe, which is the body, and put it in force",
            whole="text",
        ),
        _to("DELETE", "/recipes/{id}", "removeRecipe", "recipe/remove", "Remove a recipe that governs no room"),
        _to(
            "POST",
            "/recipes/{id}/check",
            "checkRecipe",
            "recipe/put",
            "Check a recipe, which is the body, and change nothing",
            whole="text",
            dry_run=True,
        ),
        _to(
            "POST",
            "/recipes/{id}/preview",
            "previewRecipe",
            "recipe/preview",
            "What each agent could and could not do under a recipe, and what would change",
        ),
        _to(
            "POST",
            "/recipes/{id}/diff",
            "diffRecipe",
            "recipe/diff",
            "Which past decisions a recipe would flip",
        ),
    ),
    *_of(
        "models",
        _to(
            "GET",
            "/models",
            "listModels",
            "model/list",
            "The providers of models, and whether the key of each is there; never a key",
        ),
        _to("POST", "/models/test", "testModel", "model/test", "Ask a model for one sentence"),
    ),
    *_of(
        "audit",
        _to(
            "GET",
            "/audit",
            "listAudit",
            "data/list",
            "The record of what was asked, newest first, as far as you may see it",
            fixed={"collection": "audit", "orderBy": "-id"},
            matches=_AUDIT,
        ),
        _to(
            "GET",
            "/audit/verify",
            "verifyAudit",
            "audit/verify",
            "Whether any record was changed, dropped, moved or cut off",
        ),
        _to(
            "GET",
            "/audit/timeline",
            "auditTimeline",
            "audit/timeline",
            "How many calls ended how, over time, with the same conditions as the record has",
        ),
        _to("GET", "/audit/{id}", "getAudit", "data/read", "One record, by its number", fixed={"collection": "audit"}),
    ),
    *_of(
        "data",
        _to("GET", "/data", "listCollections", "data/describe", "The collections there are", without=("collection",)),
        _to("POST", "/query", "queryData", "data/query", "Run one read-only SELECT over the collections you may read"),
        _to(
            "GET",
            "/data/{collection}",
            "listRecords",
            "data/list",
            "Records of a collection, filtered, ordered and in pages",
        ),
        _to("GET", "/data/{collection}/{id}", "readRecord", "data/read", "One record of a collection"),
    ),
    *_of(
        "tokens",
        _to("GET", "/tokens", "listTokens", "token/list", "The tokens of your tenant; never the tokens themselves"),
        _to(
            "POST",
            "/tokens",
            "createToken",
            "token/create",
            "Make a token for an agent or a program; it is shown this once",
            creates=True,
        ),
        _to("DELETE", "/tokens/{id}", "revokeToken", "token/revoke", "Make a token worthless at once"),
    ),
    *_of(
        "users",
        _to("GET", "/users", "listUsers", "user/list", "The users of your tenant"),
        _to("POST", "/users", "createUser", "user/create", "Add a user to your tenant", creates=True),
        _to(
            "PATCH",
            "/users/{id}",
            "changeUser",
            "user/change",
            "Change how far a user's access reaches, or whether they may act",
        ),
        _to(
            "POST",
            "/users/me/password",
            "setPassword",
            "user/password",
            "Set your password, and end all your logins",
            without=("user",),
        ),
        _to(
            "POST",
            "/users/{user}/password",
            "setPasswordOf",
            "user/password",
            "Set the password of somebody of your tenant; only for root",
            without=("current",),
        ),
    ),
    *_of(
        "auth",
        _to(
            "POST",
            "/invitations",
            "invite",
            "user/invite",
            "Make a passcode with which somebody may register a tenant; it is shown this once",
            creates=True,
        ),
    ),
)
