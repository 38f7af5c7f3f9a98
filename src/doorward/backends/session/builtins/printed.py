"""What every built-in of the session shell gives: what it prints, what it complains of, and its exit code."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from msgspec import Meta


class Printed(TypedDict):
    stdout: Annotated[str, Meta(description="What it prints")]
    stderr: Annotated[str, Meta(description="What it complains of")]
    exitCode: Annotated[int, Meta(description="0 for well, 1 for not, 2 for wrong use, 75 waits, 126 refused")]
    ticket: NotRequired[Annotated[str, Meta(description="The approval that an inner call waits for")]]
    leaves: NotRequired[Annotated[bool, Meta(description="Whether the session is to be left, as exit asks for")]]


def printed(stdout: str = "", stderr: str = "", code: int = 0) -> Printed:
    return {"stdout": stdout, "stderr": stderr, "exitCode": code}
