"""The result of a built-in of the session shell: output, error output and exit code."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from msgspec import Meta


class Printed(TypedDict):
    stdout: Annotated[str, Meta(description="The output")]
    stderr: Annotated[str, Meta(description="The error output")]
    exitCode: Annotated[int, Meta(description="0 done, 1 failed, 2 wrong usage, 75 waiting, 126 refused")]
    ticket: NotRequired[Annotated[str, Meta(description="The ticket of the approval that an inner call waits for")]]
    leaves: NotRequired[Annotated[bool, Meta(description="Whether the shell should exit")]]


def printed(stdout: str = "", stderr: str = "", code: int = 0) -> Printed:
    return {"stdout": stdout, "stderr": stderr, "exitCode": code}
