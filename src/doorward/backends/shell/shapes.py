"""What shell commands give back."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta


class Changed(TypedDict):
    """What a program changed in the workspace: how many paths, and the names of the first."""

    total: int
    created: NotRequired[list[str]]
    changed: NotRequired[list[str]]
    deleted: NotRequired[list[str]]
    undo: NotRequired[Annotated[str, Meta(description="Why it cannot be taken back, when it cannot")]]
    leftOut: NotRequired[Annotated[list[str], Meta(description="Pipes, sockets and devices, which were not kept")]]


class Ran(TypedDict):
    """How a program ended, as every command that runs one gives it."""

    argv: Annotated[list[str], Meta(description="The words of what ran")]
    exitCode: Annotated[int | None, Meta(description="Null when it was stopped")]
    stdout: Annotated[str, Meta(description="What it wrote, as far as it was kept")]
    stderr: Annotated[str, Meta(description="What it complained of, as far as it was kept")]
    stdoutBytes: Annotated[int, Meta(description="How many bytes it wrote in all")]
    stderrBytes: int
    seconds: float
    sandbox: Annotated[str, Meta(description="How well it was confined")]
    changes: NotRequired[Changed]
    undo: NotRequired[Annotated[str, Meta(description="Why it cannot be taken back, when it cannot")]]


class PastCall(TypedDict):
    """One shell command that was run before."""

    call: str
    at: str
    command: str
    params: Annotated[Any, Meta(description="The parameters; secrets are left out")]
    status: str
    seconds: float
    note: str


class PastCalls(TypedDict):
    items: list[PastCall]
    lines: NotRequired[Annotated[list[str], Meta(description="What was typed in the session, the last first")]]


class InSession(TypedDict):
    """Where a session of the shell stands."""

    session: str
    cwd: Annotated[str, Meta(description="Where it is in the tree of virtual files")]
    home: Annotated[str, Meta(description="What ~ stands for")]
    status: Annotated[int, Meta(description="The exit code of its last line")]
    variables: Annotated[list[str], Meta(description="The names of what was set; session/show has the values")]
    aliases: dict[str, str]
    lines: NotRequired[Annotated[list[str], Meta(description="What was typed in it, the last first")]]


class Limits(TypedDict):
    seconds: float
    cpuSeconds: float
    memoryBytes: int
    processes: int
    fileBytes: int
    descriptors: int
    outputBytes: int
    network: bool


class Info(TypedDict):
    workspace: str
    folder: str
    user: str
    environment: dict[str, str]
    sandbox: Annotated[str, Meta(description="How well programs are confined: full, degraded or off")]
    missing: Annotated[list[str], Meta(description="What the sandbox lacks on this machine")]
    limits: Limits
    commands: Annotated[int, Meta(description="How many programs the catalogue has")]
    notInstalled: list[str]
    problem: Annotated[str | None, Meta(description="What is wrong with the catalogue")]
    session: NotRequired[InSession]


class Offered(TypedDict):
    command: str
    summary: str


class Surroundings(TypedDict):
    caller: str
    room: str
    workspace: str
    folder: str
    commands: list[Offered]
    history: NotRequired[list[PastCall]]
    environment: NotRequired[dict[str, str]]
    session: NotRequired[InSession]


class Place(TypedDict):
    folder: Annotated[str, Meta(description="What to pass as folder to work there")]
    next: str
