"""Routes that run one command each. The other routes are custom routes."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.doors.rest.operation import Match, Method, Operation

_TIME = {"type": "string", "format": "date-time"}
_AUDIT = {
    "command": Match("command", "$eq", "Only records of this command"),
    "caller": Match("caller", "$eq", "Only records of this caller"),
    "call": Match("call", "$eq", "Only records of this execution"),
    "inRoom": Match("room", "$eq", "Only records of this room"),
    "door": Match("door", "$eq", "Only records of this door"),
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
            "Describe a command: parameters, effects, examples, undo",
        ),
    ),
    *_of(
        "executions",
        _to(
            "GET",
            "/executions",
            "listExecutions",
            "execution/list",
            "List your executions: queued and running ones first, then ended ones, newest first",
        ),
        _to("GET", "/executions/{execution}", "getExecution", "execution/status", "Get the state of an execution"),
        _to(
            "GET",
            "/executions/{execution}/output",
            "readOutput",
            "execution/output",
            "Read a page of an execution's output or of a long result",
        ),
        _to(
            "POST",
            "/executions/{execution}/cancel",
            "cancelExecution",
            "execution/cancel",
            "Cancel a queued or running execution",
        ),
    ),
    *_of(
        "approvals",
        _to(
            "GET",
            "/approvals",
            "listApprovals",
            "approval/list",
            "List pending and decided approvals, newest first",
        ),
        _to("GET", "/approvals/{id}", "getApproval", "approval/show", "Get an approval with the exact call"),
        _to("POST", "/approvals/{id}/approve", "approve", "approval/approve", "Approve a call that is waiting"),
        _to("POST", "/approvals/{id}/deny", "deny", "approval/deny", "Deny a call that is waiting"),
    ),
    *_of(
        "rooms",
        _to("GET", "/rooms", "listRooms", "room/list", "List your rooms"),
        _to("POST", "/rooms", "createRoom", "room/create", "Create a room under a recipe", creates=True),
        _to("GET", "/rooms/{name}", "getRoom", "room/show", "Get a room: its recipe, members and unread messages"),
        _to("PATCH", "/rooms/{name}", "changeRoom", "room/change", "Change the title or topic of a room"),
        _to(
            "PUT",
            "/direct/{member}",
            "directRoom",
            "room/direct",
            "Get or create the direct message room with a member",
        ),
        _to("PUT", "/rooms/{name}/recipe", "setRoomRecipe", "room/recipe", "Change the recipe of a room"),
        _to(
            "POST",
            "/rooms/{name}/archive",
            "archiveRoom",
            "room/archive",
            "Archive a room; it stays readable, but nothing runs in it",
        ),
        _to("POST", "/rooms/{name}/reopen", "reopenRoom", "room/reopen", "Reopen an archived room"),
        _to("GET", "/rooms/{name}/members", "listMembers", "room/who", "List the members of a room and who is present"),
        _to(
            "PUT",
            "/rooms/{name}/members/{member}",
            "putMember",
            "room/join",
            "Add a member, or change their role",
        ),
        _to("DELETE", "/rooms/{name}/members/{member}", "removeMember", "room/leave", "Remove a member from a room"),
        _to(
            "GET",
            "/rooms/{name}/messages",
            "listMessages",
            "room/messages",
            "List the messages of a room, newest first",
        ),
        _to("POST", "/rooms/{name}/messages", "postMessage", "room/say", "Post a message in a room", creates=True),
        _to(
            "GET",
            "/rooms/{name}/messages/{message}",
            "getMessage",
            "room/message",
            "Get a message with its earlier versions",
        ),
        _to(
            "PATCH",
            "/rooms/{name}/messages/{message}",
            "editMessage",
            "room/edit",
            "Edit one of your messages",
        ),
        _to("DELETE", "/rooms/{name}/messages/{message}", "deleteMessage", "room/delete", "Delete a message"),
        _to(
            "GET",
            "/rooms/{name}/wait",
            "waitForMessages",
            "room/wait",
            "Wait for new messages of others",
        ),
        _to("PUT", "/rooms/{name}/mark", "markRead", "room/mark", "Mark messages as read"),
        _to("GET", "/messages", "searchMessages", "room/search", "Search the messages of your rooms"),
    ),
    *_of(
        "personas",
        _to(
            "GET",
            "/personas",
            "listPersonas",
            "persona/list",
            "List the personas with sample questions, and the errors of invalid persona files",
        ),
        _to("GET", "/personas/{id}", "getPersona", "persona/show", "Get a persona"),
        _to(
            "PUT",
            "/personas/{id}",
            "putPersona",
            "persona/put",
            "Check the persona in the body, and activate it",
            whole="text",
        ),
        _to("DELETE", "/personas/{id}", "removePersona", "persona/remove", "Remove a persona"),
        _to(
            "POST",
            "/personas/{id}/check",
            "checkPersona",
            "persona/put",
            "Check the persona in the body without changing anything",
            whole="text",
            dry_run=True,
        ),
        _to(
            "POST",
            "/rooms/{name}/personas/{id}/stop",
            "stopPersona",
            "persona/stop",
            "Stop a persona's work in a room",
        ),
    ),
    *_of(
        "recipes",
        _to(
            "GET",
            "/recipes",
            "listRecipes",
            "recipe/list",
            "List the recipes, and the errors of invalid recipe files",
        ),
        _to("GET", "/recipes/{id}", "getRecipe", "recipe/show", "Get a recipe"),
        _to(
            "PUT",
            "/recipes/{id}",
            "putRecipe",
            "recipe/put",
            "Check the recipe in the body, and activate it",
            whole="text",
        ),
        _to("DELETE", "/recipes/{id}", "removeRecipe", "recipe/remove", "Remove a recipe that no room uses"),
        _to(
            "POST",
            "/recipes/{id}/check",
            "checkRecipe",
            "recipe/put",
            "Check the recipe in the body without changing anything",
            whole="text",
            dry_run=True,
        ),
        _to(
            "POST",
            "/recipes/{id}/preview",
            "previewRecipe",
            "recipe/preview",
            "Preview what each agent may do under a recipe, and what would change",
        ),
        _to(
            "POST",
            "/recipes/{id}/diff",
            "diffRecipe",
            "recipe/diff",
            "List past decisions that a recipe would change",
        ),
    ),
    *_of(
        "models",
        _to(
            "GET",
            "/models",
            "listModels",
            "model/list",
            "List the model providers and whether each has a key; keys are never shown",
        ),
        _to("POST", "/models/test", "testModel", "model/test", "Test a model with a one-sentence answer"),
    ),
    *_of(
        "audit",
        _to(
            "GET",
            "/audit",
            "listAudit",
            "data/list",
            "List the ledger records that you may see, newest first",
            fixed={"collection": "audit", "orderBy": "-id"},
            matches=_AUDIT,
        ),
        _to(
            "GET",
            "/audit/verify",
            "verifyAudit",
            "audit/verify",
            "Verify that no ledger record was changed, removed, moved or cut off",
        ),
        _to(
            "GET",
            "/audit/timeline",
            "auditTimeline",
            "audit/timeline",
            "Count calls by outcome over time, with the filters of the ledger",
        ),
        _to(
            "GET",
            "/audit/{id}",
            "getAudit",
            "data/read",
            "Get a ledger record by its number",
            fixed={"collection": "audit"},
        ),
    ),
    *_of(
        "data",
        _to("GET", "/data", "listCollections", "data/describe", "List the collections", without=("collection",)),
        _to(
            "POST", "/query", "queryData", "data/query", "Run a read-only SELECT over the collections that you may read"
        ),
        _to(
            "GET",
            "/data/{collection}",
            "listRecords",
            "data/list",
            "List the records of a collection, with filter, order and pages",
        ),
        _to("GET", "/data/{collection}/{id}", "readRecord", "data/read", "Get a record of a collection"),
    ),
    *_of(
        "tokens",
        _to("GET", "/tokens", "listTokens", "token/list", "List the tokens of your tenant, without their secrets"),
        _to(
            "POST",
            "/tokens",
            "createToken",
            "token/create",
            "Create a token for an agent or a program; it is shown only once",
            creates=True,
        ),
        _to("DELETE", "/tokens/{id}", "revokeToken", "token/revoke", "Revoke a token"),
    ),
    *_of(
        "users",
        _to("GET", "/users", "listUsers", "user/list", "List the users of your tenant"),
        _to("POST", "/users", "createUser", "user/create", "Add a user to your tenant", creates=True),
        _to(
            "PATCH",
            "/users/{id}",
            "changeUser",
            "user/change",
            "Change the access of a user, or enable or disable them",
        ),
        _to(
            "POST",
            "/users/me/password",
            "setPassword",
            "user/password",
            "Set your password, and end all your sessions",
            without=("user",),
        ),
        _to(
            "POST",
            "/users/{user}/password",
            "setPasswordOf",
            "user/password",
            "Set the password of another user of your tenant; requires root access",
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
            "Create a passcode for registering a tenant; it is shown only once",
            creates=True,
        ),
    ),
)
