"""The family of the shell commands: parameter types and result types."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from doorward.core.command import Family

Withheld = Annotated[
    str, Meta(description="Git configuration and hooks that it changed; these changes were not applied")
]


class ChangeSummary(TypedDict):
    """The changes of a program in the workspace: their number and the first paths."""

    total: int
    created: NotRequired[list[str]]
    changed: NotRequired[list[str]]
    deleted: NotRequired[list[str]]
    undo: NotRequired[Annotated[str, Meta(description="Why the changes cannot be undone, if they cannot")]]
    leftOut: NotRequired[Annotated[list[str], Meta(description="Pipes, sockets and devices, which were not kept")]]
    withheld: NotRequired[Withheld]


class ProgramResult(TypedDict):
    """The end of a program. All commands that run a program return this."""

    argv: Annotated[list[str], Meta(description="The command line that ran, as a list")]
    exitCode: Annotated[int | None, Meta(description="The exit code; null if it was stopped")]
    stdout: Annotated[str, Meta(description="Standard output; long output is cut")]
    stderr: Annotated[str, Meta(description="Standard error; long output is cut")]
    stdoutBytes: Annotated[int, Meta(description="The total number of bytes it wrote")]
    stderrBytes: int
    seconds: float
    sandbox: Annotated[str, Meta(description="The level of confinement")]
    changes: NotRequired[ChangeSummary]
    withheld: NotRequired[Withheld]
    undo: NotRequired[Annotated[str, Meta(description="Why the changes cannot be undone, if they cannot")]]
    network: NotRequired[Annotated[str, Meta(description="Why it had less network than the room's recipe says")]]
    refusedHosts: NotRequired[
        Annotated[list[str], Meta(description="Hosts that programs of this room were refused while it ran")]
    ]


class PastCall(TypedDict):
    """One shell command that was run earlier."""

    call: str
    at: str
    command: str
    params: Annotated[Any, Meta(description="The parameters, with secrets redacted")]
    status: str
    seconds: float
    note: str


class PastCalls(TypedDict):
    items: list[PastCall]
    lines: NotRequired[Annotated[list[str], Meta(description="The lines typed in the session, newest first")]]


class ShellSessionFacts(TypedDict):
    """The state of a shell session."""

    session: str
    cwd: Annotated[str, Meta(description="The current folder in the virtual file system")]
    home: Annotated[str, Meta(description="The folder that ~ stands for")]
    status: Annotated[int, Meta(description="The exit code of its last line")]
    variables: Annotated[list[str], Meta(description="The names of the variables; session/show has the values")]
    aliases: dict[str, str]
    lines: NotRequired[Annotated[list[str], Meta(description="The lines typed in it, newest first")]]


class LimitFacts(TypedDict):
    seconds: float
    cpuSeconds: float
    memoryBytes: int
    processes: int
    fileBytes: int
    descriptors: int
    outputBytes: int
    network: bool


class ShellInfo(TypedDict):
    workspace: str
    folder: str
    user: str
    environment: dict[str, str]
    profile: Annotated[str, Meta(description="The sandbox profile of bash in this room: tool or build")]
    sandbox: Annotated[str, Meta(description="The confinement of programs: full, degraded or off")]
    missing: Annotated[list[str], Meta(description="Parts of the sandbox that are missing on this machine")]
    limits: LimitFacts
    commands: Annotated[int, Meta(description="The number of programs in the catalogue")]
    notInstalled: list[str]
    problem: Annotated[str | None, Meta(description="What is wrong with the catalogue")]
    session: NotRequired[ShellSessionFacts]


class OfferedProgram(TypedDict):
    command: str
    summary: str


class ShellContext(TypedDict):
    caller: str
    room: str
    workspace: str
    folder: str
    commands: list[OfferedProgram]
    history: NotRequired[list[PastCall]]
    environment: NotRequired[dict[str, str]]
    session: NotRequired[ShellSessionFacts]


class FolderFacts(TypedDict):
    folder: Annotated[str, Meta(description="The value to pass as `folder` to work there")]
    next: str


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
