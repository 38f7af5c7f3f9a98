"""Shared parts of the shell commands: the family and parameter types."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from doorward.command import Family

family = Family("shell", category="shell")

SessionId = Annotated[str, Meta(description="One of your sessions, from session/list; empty for none", max_length=64)]

StartFolder = Annotated[
    str,
    Meta(
        description="The working folder, relative to the workspace; paths are relative to it",
        min_length=1,
        max_length=4096,
    ),
]
