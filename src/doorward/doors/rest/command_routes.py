"""Routes that run one command each. The other routes are custom routes."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.doors.rest.operation import CommandOperation, FilterCondition, Method

_TIME = {"type": "string", "format": "date-time"}
_AUDIT_FILTERS = {
    "command": FilterCondition("command", "$eq", "Only records of this command"),
    "caller": FilterCondition("caller", "$eq", "Only records of this caller"),
    "call": FilterCondition("call", "$eq", "Only records of this execution"),
    "inRoom": FilterCondition("room", "$eq", "Only records of this room"),
    "door": FilterCondition("door", "$eq", "Only records of this door"),
    "status": FilterCondition("status", "$eq", "Only records with this status"),
    "code": FilterCondition("code", "$eq", "Only records with this code"),
    "since": FilterCondition("at", "$gte", "Only records from this time on", _TIME),
    "until": FilterCondition("at", "$lt", "Only records before this time", _TIME),
}


def _with_tag(tag: str, *rows: CommandOperation) -> tuple[CommandOperation, ...]:
    return tuple(msgspec.structs.replace(row, tag=tag) for row in rows)


def _route(method: Method, path: str, id: str, command: str, summary: str, **more: Any) -> CommandOperation:
    return CommandOperation(id=id, method=method, path=path, command=command, tag="", summary=summary, **more)


COMMAND_OPERATIONS = (
    *_with_tag(
        "commands",
        _route(
            "GET",
            "/commands/{command:path}",
            "describeCommand",
            "help/describe",
            "Describe a command: parameters, effects, examples, undo",
        ),
    ),
    *_with_tag(
        "executions",
        _route(
            "GET",
            "/executions",
            "listExecutions",
            "execution/list",
            "List your executions: queued and running ones first, then ended ones, newest first",
        ),
        _route("GET", "/executions/{execution}", "getExecution", "execution/status", "Get the state of an execution"),
        _route(
            "GET",
            "/executions/{execution}/output",
            "readOutput",
            "execution/output",
            "Read a page of an execution's output or of a long result",
        ),
        _route(
            "POST",
            "/executions/{execution}/cancel",
            "cancelExecution",
            "execution/cancel",
            "Cancel a queued or running execution",
        ),
    ),
    *_with_tag(
        "approvals",
        _route(
            "GET",
            "/approvals",
            "listApprovals",
            "approval/list",
            "List pending and decided approvals, newest first",
        ),
        _route("GET", "/approvals/{id}", "getApproval", "approval/show", "Get an approval with the exact call"),
        _route("POST", "/approvals/{id}/approve", "approve", "approval/approve", "Approve a call that is waiting"),
        _route("POST", "/approvals/{id}/deny", "deny", "approval/deny", "Deny a call that is waiting"),
        _route("POST", "/approvals/{id}/hold", "holdApproval", "approval/hold", "Hold a call that you look at"),
        _route("GET", "/approvals/{id}/rules", "listApprovalRules", "approval/rules", "List the rules of an answer"),
    ),
    *_with_tag(
        "rooms",
        _route("GET", "/rooms", "listRooms", "room/list", "List your rooms"),
        _route("POST", "/rooms", "createRoom", "room/create", "Create a room under a recipe", creates=True),
        _route("GET", "/rooms/{name}", "getRoom", "room/show", "Get a room: its recipe, members and unread messages"),
        _route("PATCH", "/rooms/{name}", "changeRoom", "room/change", "Change the title or topic of a room"),
        _route(
            "PUT",
            "/direct/{member}",
            "directRoom",
            "room/direct",
            "Get or create the direct message room with a member",
        ),
        _route("PUT", "/rooms/{name}/recipe", "setRoomRecipe", "room/recipe", "Change the recipe of a room"),
        _route(
            "POST",
            "/rooms/{name}/archive",
            "archiveRoom",
            "room/archive",
            "Archive a room; it stays readable, but nothing runs in it",
        ),
        _route("POST", "/rooms/{name}/reopen", "reopenRoom", "room/reopen", "Reopen an archived room"),
        _route(
            "GET", "/rooms/{name}/members", "listMembers", "room/who", "List the members of a room and who is present"
        ),
        _route(
            "PUT",
            "/rooms/{name}/members/{member}",
            "putMember",
            "room/join",
            "Add a member, or change their role",
        ),
        _route("DELETE", "/rooms/{name}/members/{member}", "removeMember", "room/leave", "Remove a member from a room"),
        _route(
            "GET",
            "/rooms/{name}/messages",
            "listMessages",
            "room/messages",
            "List the messages of a room, newest first",
        ),
        _route("POST", "/rooms/{name}/messages", "postMessage", "room/say", "Post a message in a room", creates=True),
        _route(
            "GET",
            "/rooms/{name}/messages/{message}",
            "getMessage",
            "room/message",
            "Get a message with its earlier versions",
        ),
        _route(
            "PATCH",
            "/rooms/{name}/messages/{message}",
            "editMessage",
            "room/edit",
            "Edit one of your messages",
        ),
        _route("DELETE", "/rooms/{name}/messages/{message}", "deleteMessage", "room/delete", "Delete a message"),
        _route(
            "GET",
            "/rooms/{name}/wait",
            "waitForMessages",
            "room/wait",
            "Wait for new messages of others",
        ),
        _route("PUT", "/rooms/{name}/mark", "markRead", "room/mark", "Mark messages as read"),
        _route("GET", "/messages", "searchMessages", "room/search", "Search the messages of your rooms"),
    ),
    *_with_tag(
        "personas",
        _route(
            "GET",
            "/personas",
            "listPersonas",
            "persona/list",
            "List the personas with sample questions, and the errors of invalid persona files",
        ),
        _route("GET", "/personas/{id}", "getPersona", "persona/show", "Get a persona"),
        _route(
            "PUT",
            "/personas/{id}",
            "putPersona",
            "persona/put",
            "Check the persona in the body, and activate it",
            whole="text",
        ),
        _route("DELETE", "/personas/{id}", "removePersona", "persona/remove", "Remove a persona"),
        _route(
            "POST",
            "/personas/{id}/check",
            "checkPersona",
            "persona/put",
            "Check the persona in the body without changing anything",
            whole="text",
            dry_run=True,
        ),
        _route(
            "POST",
            "/rooms/{name}/personas/{id}/stop",
            "stopPersona",
            "persona/stop",
            "Stop a persona's work in a room",
        ),
    ),
    *_with_tag(
        "effort",
        _route(
            "POST",
            "/conversations",
            "startConversation",
            "conversation/start",
            "Start a conversation with an agent in a room of its own",
            creates=True,
        ),
        _route("GET", "/conversations", "listConversations", "conversation/list", "List the conversations of agents"),
        _route("DELETE", "/conversations/{room}", "endConversation", "conversation/end", "End a conversation"),
        _route(
            "PUT",
            "/conversations/{room}/priority",
            "setConversationPriority",
            "conversation/priority",
            "Set the priority of a conversation",
        ),
        _route("GET", "/agents/effort", "getEffort", "effort/status", "Get the energy, models and work of agents"),
        _route("GET", "/agents/{agent}/energy", "getEnergy", "effort/history", "Get the energy of an agent over time"),
        _route("POST", "/agents/{agent}/pause", "pauseSubAgent", "effort/pause", "Pause the sub-agent of an agent"),
        _route("POST", "/agents/{agent}/resume", "resumeSubAgent", "effort/resume", "Resume a paused sub-agent"),
        _route(
            "PUT",
            "/budgets/{scope}/{id}/{unit}",
            "setBudget",
            "effort/budget",
            "Set or remove the budget of a conversation, an agent or a room",
        ),
        _route("GET", "/subagent/requests", "listRequests", "effort/requests", "List the requests to sub-agents"),
        _route(
            "POST",
            "/subagent/requests",
            "requestSubAgent",
            "effort/request",
            "Give the sub-agent of an agent work",
            creates=True,
        ),
        _route(
            "POST",
            "/subagent/requests/{request}/cancel",
            "cancelRequest",
            "effort/cancel",
            "Cancel a request to a sub-agent",
        ),
    ),
    *_with_tag(
        "recipes",
        _route(
            "GET",
            "/recipes",
            "listRecipes",
            "recipe/list",
            "List the recipes, and the errors of invalid recipe files",
        ),
        _route("GET", "/recipes/{id}", "getRecipe", "recipe/show", "Get a recipe"),
        _route(
            "PUT",
            "/recipes/{id}",
            "putRecipe",
            "recipe/put",
            "Check the recipe in the body, and activate it",
            whole="text",
        ),
        _route("DELETE", "/recipes/{id}", "removeRecipe", "recipe/remove", "Remove a recipe that no room uses"),
        _route(
            "POST",
            "/recipes/{id}/check",
            "checkRecipe",
            "recipe/put",
            "Check the recipe in the body without changing anything",
            whole="text",
            dry_run=True,
        ),
        _route(
            "POST",
            "/recipes/{id}/preview",
            "previewRecipe",
            "recipe/preview",
            "Preview what each agent may do under a recipe, and what would change",
        ),
        _route(
            "POST",
            "/recipes/{id}/diff",
            "diffRecipe",
            "recipe/diff",
            "List past decisions that a recipe would change",
        ),
    ),
    *_with_tag(
        "models",
        _route(
            "GET",
            "/models",
            "listModels",
            "model/list",
            "List the model providers and whether each has a key; keys are never shown",
        ),
        _route("POST", "/models/test", "testModel", "model/test", "Test a model with three requests"),
    ),
    *_with_tag(
        "audit",
        _route(
            "GET",
            "/audit",
            "listAudit",
            "data/list",
            "List the ledger records that you may see, newest first",
            fixed={"collection": "audit", "orderBy": "-id"},
            matches=_AUDIT_FILTERS,
        ),
        _route(
            "GET",
            "/audit/verify",
            "verifyAudit",
            "audit/verify",
            "Verify that no ledger record was changed, removed, moved or cut off",
        ),
        _route(
            "GET",
            "/audit/timeline",
            "auditTimeline",
            "audit/timeline",
            "Count calls by outcome over time, with the filters of the ledger",
        ),
        _route(
            "GET",
            "/audit/{id}",
            "getAudit",
            "data/read",
            "Get a ledger record by its number",
            fixed={"collection": "audit"},
        ),
    ),
    *_with_tag(
        "data",
        _route("GET", "/data", "listCollections", "data/describe", "List the collections", without=("collection",)),
        _route(
            "POST", "/query", "queryData", "data/query", "Run a read-only SELECT over the collections that you may read"
        ),
        _route(
            "GET",
            "/data/{collection}",
            "listRecords",
            "data/list",
            "List the records of a collection, with filter, order and pages",
        ),
        _route("GET", "/data/{collection}/{id}", "readRecord", "data/read", "Get a record of a collection"),
    ),
    *_with_tag(
        "tokens",
        _route("GET", "/tokens", "listTokens", "token/list", "List the tokens of your tenant, without their secrets"),
        _route(
            "POST",
            "/tokens",
            "createToken",
            "token/create",
            "Create a token for an agent or a program; it is shown only once",
            creates=True,
        ),
        _route("DELETE", "/tokens/{id}", "revokeToken", "token/revoke", "Revoke a token"),
    ),
    *_with_tag(
        "users",
        _route("GET", "/users", "listUsers", "user/list", "List the users of your tenant"),
        _route("POST", "/users", "createUser", "user/create", "Add a user to your tenant", creates=True),
        _route(
            "PATCH",
            "/users/{id}",
            "changeUser",
            "user/change",
            "Change the access of a user, or enable or disable them",
        ),
        _route(
            "POST",
            "/users/me/password",
            "setPassword",
            "user/password",
            "Set your password, and end all your sessions",
            without=("user",),
        ),
        _route(
            "POST",
            "/users/{user}/password",
            "setPasswordOf",
            "user/password",
            "Set the password of another user of your tenant; requires root access",
            without=("current",),
        ),
    ),
    *_with_tag(
        "auth",
        _route(
            "POST",
            "/invitations",
            "invite",
            "user/invite",
            "Create a passcode for registering a tenant; it is shown only once",
            creates=True,
        ),
    ),
)
