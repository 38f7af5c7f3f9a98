"""The commands native/*: the gate's decision on a coding client's own tools, before the client runs them.

A client's hook asks for one of these. It checks and records; the client runs its tool only if the call is done. So
recipes, approvals, limits and the ledger apply to tools that run outside the sandbox.
"""

from __future__ import annotations

import os
from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.commands.context import Context
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.errors import NotPermitted
from doorward.sandbox.safefs.guarded_paths import is_guarded

family = Family("native", category="clients")

LONGEST_TEXT = 1_000_000
_RUN_BY_CLIENT = NoUndo("the client runs it, outside Doorward")
_CLIENT_SETTINGS = (".claude", ".codex", ".gemini", ".cursor", ".vscode", ".github/hooks", ".mcp.json")
"""Settings of coding clients. They hold the hooks that ask the gate, so no native tool may change them."""

Client = Annotated[str, Meta(description="The client, such as claude-code", min_length=1, max_length=63)]
Tool = Annotated[str, Meta(description="The client's name of the tool", min_length=1, max_length=200)]
NativePath = Annotated[
    str, Meta(description="Path of the file or folder: absolute, or in the workspace", min_length=1, max_length=4096)
]


class NativeDecision(TypedDict):
    """The gate lets the client run its tool."""

    client: str
    tool: str
    decision: Annotated[str, Meta(description="Always `allowed`; every other decision is an error")]


@family.command(
    "shell",
    tier=Tier.SYSTEM,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY | Effects.OPEN_WORLD,
    access=Access.FULL,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=10,
    undo=_RUN_BY_CLIENT,
    examples=[
        Example(
            "may Claude Code run make test in its own shell",
            {"client": "claude-code", "tool": "Bash", "command": "make test", "folder": "."},
        )
    ],
    related=["bash", "native/edit"],
    is_status_poll=True,
)
async def shell(
    ctx: Context,
    client: Client,
    tool: Tool,
    command: Annotated[str, Meta(description="The command line", min_length=1, max_length=LONGEST_TEXT)],
    folder: Annotated[str, Meta(description="The folder the client runs it in", max_length=4096)] = "",
) -> NativeDecision:
    """Decide whether a client may run a command line in its own shell, outside the sandbox."""
    if folder:
        _check_inside(ctx, folder, "bash")
    return {"client": client, "tool": tool, "decision": "allowed"}


@family.command(
    "edit",
    tier=Tier.SYSTEM,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=1,
    timeout=10,
    undo=_RUN_BY_CLIENT,
    examples=[
        Example(
            "may Claude Code edit a file with its own tool",
            {"client": "claude-code", "tool": "Edit", "path": "README.md"},
        )
    ],
    related=["file/edit", "native/shell"],
    is_status_poll=True,
)
async def edit(
    ctx: Context,
    client: Client,
    tool: Tool,
    path: NativePath,
    change: Annotated[str, Meta(description="The change, as the client states it", max_length=LONGEST_TEXT)] = "",
) -> NativeDecision:
    """Decide whether a client may change a file of the workspace with its own tool.

    Files that make a person's own tools run something, such as git hooks, and the settings of coding clients are
    refused.
    """
    inside = _check_inside(ctx, path, "file/edit")
    if is_guarded(inside) or _is_client_setting(inside):
        raise NotPermitted(
            f"{path} decides what programs run outside the sandbox, so no client may change it with its own tools.",
            hint="Use Doorward's file/edit, which asks a person first.",
        )
    return {"client": client, "tool": tool, "decision": "allowed"}


@family.command(
    "read",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=0,
    timeout=10,
    undo=READS_ONLY,
    examples=[
        Example(
            "may Claude Code read a file with its own tool",
            {"client": "claude-code", "tool": "Read", "path": "README.md"},
        )
    ],
    related=["file/read"],
    is_status_poll=True,
)
async def read(ctx: Context, client: Client, tool: Tool, path: NativePath) -> NativeDecision:
    """Decide whether a client may read a file or folder of the workspace with its own tool."""
    _check_inside(ctx, path, "file/read")
    return {"client": client, "tool": tool, "decision": "allowed"}


@family.command(
    "tool",
    tier=Tier.SYSTEM,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY | Effects.OPEN_WORLD,
    access=Access.FULL,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=10,
    undo=_RUN_BY_CLIENT,
    examples=[
        Example(
            "may Claude Code fetch a web page with its own tool",
            {"client": "claude-code", "tool": "WebFetch", "input": '{"url": "https://example.com"}'},
        )
    ],
    related=["native/shell"],
    is_status_poll=True,
)
async def tool(
    ctx: Context,
    client: Client,
    tool: Tool,
    input: Annotated[str, Meta(description="The tool's input as JSON", max_length=LONGEST_TEXT)] = "",
) -> NativeDecision:
    """Decide whether a client may run any other tool of its own, such as a web fetch or a foreign MCP server's."""
    return {"client": client, "tool": tool, "decision": "allowed"}


for _command in family.commands:
    _command.unlisted = True  # only hooks ask for them; in a tool list they would mislead models


def _check_inside(ctx: Context, path: str, instead: str) -> str:
    """Return the path in the workspace, with symlinks resolved. Raise for a path outside it."""
    root = os.path.realpath(ctx.workspace)
    real = os.path.realpath(os.path.join(root, path))
    if real != root and not real.startswith(root.rstrip("/") + "/"):
        raise NotPermitted(
            f"{path} is outside the workspace {root} of room {ctx.call.room!r}.",
            hint=f"Use paths in the workspace. Doorward's own {instead} takes them relative to it.",
        )
    return os.path.relpath(real, root)


def _is_client_setting(path: str) -> bool:
    names = f"/{path.lower()}/"
    return any(f"/{setting}/" in names for setting in _CLIENT_SETTINGS)
