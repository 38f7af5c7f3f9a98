"""What the shell commands share: the family they belong to and the way they name a folder."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from doorward.command import Family

family = Family("shell", category="shell")

SessionId = Annotated[str, Meta(description="A session of yours, as session/list shows it; empty: none", max_length=64)]

StartFolder = Annotated[
    str,
    Meta(
        description="The folder to start in, relative to the workspace; paths are relative to it",
        min_length=1,
        max_length=4096,
    ),
]
