"""Every setting: its type, its default and a sentence, in one place. Read from `doorward.toml` in the home folder."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from doorward.errors import Unusable
from doorward.settings.bounds import Amount, Count, Rate, Seconds
from doorward.settings.faults import first_fault
from doorward.settings.thinking import Keeper, Local, Models, Personas, Provider, Search, Sessions

__all__ = ["Keeper", "Local", "Models", "Personas", "Provider", "Search", "Sessions", "Settings", "home_folder", "load"]


class Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    host: str = "127.0.0.1"
    """The address that `doorward up` listens on."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8642
    """The port that `doorward up` listens on; 0 takes any free one."""
    allowed_hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    """The names under which this server may be addressed (the Host header), without ports; others are refused."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages that may ask besides the server's own, as exact origins such as `https://console.example`."""
    connections: Annotated[int, Meta(ge=1, le=100_000)] = 4_096
    """How many connections each of the two sockets holds at once; one more is told so and closed."""
    head_seconds: Seconds = 10.0
    """How long the head of a request may take to come, from the connection or from its first byte."""
    body_seconds: Seconds = 30.0
    """How long the body of a request may take to come."""
    idle_seconds: Seconds = 30.0
    """How long a connection may stay open without a request."""
    unread_seconds: Seconds = 30.0
    """How long a client may read nothing of its answer before it is cut off and its call cancelled."""
    largest_head: Annotated[int, Meta(ge=1_024, le=16_777_216)] = 65_536
    """The most bytes that the head of a request may have."""
    largest_body: Annotated[int, Meta(ge=1_024, le=1_000_000_000)] = 33_554_432
    """The most bytes that the body of any request may have; some doors take less."""


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    running: Count = 5
    """How many commands of one session run at once."""
    queued: Annotated[int, Meta(ge=0, le=1_000_000)] = 10
    """How many more commands of one session wait for a place; beyond that they are refused."""
    per_minute: Count = 600
    """Commands a minute for a person outside any room; in a room its recipe decides."""
    loop_repeats: Annotated[int, Meta(ge=2, le=1_000_000_000)] = 3
    """Which identical call within `loop_seconds` is refused as a loop."""
    loop_seconds: Seconds = 60.0
    """How long identical calls of one caller are remembered."""
    result_characters: Count = 30_000
    """Results longer than this are cut for models; the whole stays readable with execution/output."""
    result_hours: Annotated[float, Meta(gt=0, le=8_760)] = 24.0
    """How long the whole of a cut result is kept."""
    undo_days: Annotated[float, Meta(gt=0, le=3_650)] = 30.0
    """How long what a change replaced is kept, and so how long the change can be undone."""


class Energy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    enabled: bool = False
    """Whether work costs energy and an empty pool refuses it."""
    start: Amount = 100.0
    """What a caller's pool holds at first."""
    floor: Amount = -50.0
    """The lowest a pool can fall."""
    ceiling: Amount = 100.0
    """The highest a pool can rise."""
    per_second: Rate = 2.0
    """What a second of work costs."""
    recovery_per_second: Rate = 1.0
    """What a pool regains each second."""


class Approvals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    use_within: Seconds = 300.0
    """How long after the decision an approved call may be resumed."""
    foresee: bool = True
    """Whether people are shown what a file or shell command would change, and approve just that."""
    foresee_seconds: Seconds = 10.0
    """How long working that out may take; people are asked without it then."""


class Ledger(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rotate_at: Annotated[int, Meta(ge=1_000)] = 2_000_000
    """When the ledger holds this many records, the older half moves out to a file that still verifies."""
    checkpoint_every: Count = 1_000
    """After how many records a signed checkpoint is written beside the database."""
    largest_value: Count = 2_000
    """Parameter values longer than this are recorded as their size and hash."""


class Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    databases: dict[str, str] = {}
    """Your own databases by name, as `sqlite:///path/to/file.db`; their tables become collections `name.table`."""
    query_rows: Count = 1_000
    """The most rows that one query gives."""
    query_seconds: Seconds = 5.0
    """How long one query may take."""
    query_bytes: Count = 10_000_000
    """The most bytes that one query gives."""


class Files(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    workspace: str = ""
    """The folder that file commands work in; empty means `workspace` in the home folder."""
    largest_file: Count = 10_000_000
    """The largest file, in bytes, that commands read or write."""


class Sandbox(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    required: bool = False
    """Whether programs are refused unless the sandbox is `full`."""
    allow_unconfined: bool = False
    """Whether programs run with resource limits alone where the system offers no confinement at all."""
    network: bool = False
    """Whether commands of the catalogue that ask for the network get it."""
    readable: tuple[str, ...] = ()
    """More folders that programs may read, as absolute paths; the system's own and the workspace are always there."""
    cpu_seconds: Count = 30
    """How much processor time one program may use."""
    memory_bytes: Annotated[int, Meta(ge=16_000_000)] = 512 * 1024 * 1024
    """How much memory each process of a program may map; some runtimes need a gigabyte or more."""
    processes: Count = 10
    """How many processes one program may have at once."""
    file_bytes: Count = 10_000_000
    """How large a file a program may write."""
    descriptors: Annotated[int, Meta(ge=16, le=1_000_000)] = 50
    """How many files each process of a program may have open at once."""
    wall_seconds: Seconds = 30.0
    """How long one program may take."""
    output_bytes: Count = 1_000_000
    """How much of each output stream of a program is kept; the rest is counted."""
    scratch_bytes: Count = 64 * 1024 * 1024
    """How much a program may hold in its own /tmp, and in a copy-on-write view of the workspace."""
    keep_free_bytes: Annotated[int, Meta(ge=0)] = 256 * 1024 * 1024
    """A program is stopped when less than this is free on the workspace's disk."""
    helpers: Annotated[int, Meta(ge=1, le=256)] = 16
    """How many programs of one workspace run at once; more wait."""
    idle_seconds: Seconds = 60.0
    """How long a warm helper is kept without work."""


class Shell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    catalogue: str = ""
    """The catalogue file; empty means `commands.json` in the home folder."""


class Mcp(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    room: str = "general"
    """The room that MCP clients act in when the address they use names none."""
    elicitation: bool = True
    """Whether a person who sits at an MCP client may approve there what waits for approval."""
    tools: Literal["auto", "all", "search"] = "auto"
    """Whether MCP clients are listed every tool, or a few and the search for the rest; auto goes by their number."""
    search_above: Count = 200
    """With `tools` at auto: from more tools than this on, clients are listed a few and the search for the rest."""
    page: Count = 1_000
    """How many tools, resources or prompts one page of an MCP list holds."""
    largest_message: Count = 16 * 1024 * 1024
    """The largest message, in bytes, that is read from an MCP client."""
    sessions: Count = 1_000
    """How many MCP sessions there are at once; the one that was idle longest makes room for a new one."""
    sessions_each: Count = 100
    """How many of them one caller has."""
    session_seconds: Seconds = 3_600.0
    """How long an MCP session may be idle before it is forgotten."""
    streams: Count = 1_000
    """How many answers to MCP clients are streams at once."""
    streams_each: Count = 50
    """How many of them one caller has."""
    keep_alive_seconds: Seconds = 15.0
    """How often a silent stream says that it is still there."""
    public_url: str = ""
    """The address under which clients reach this server when a proxy stands before it, such as https://door.example."""
    authorization_servers: tuple[str, ...] = ()
    """Addresses of OAuth servers to be named to MCP clients that come without a token."""


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    enabled: bool = False
    """Whether `doorward up` opens the line door."""
    host: str = "127.0.0.1"
    """The address that the line door listens on."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 9000
    """The port that the line door listens on; 0 takes any free one."""
    open: bool = True
    """Whether programs of this very account may come in without a token."""
    room: str = "general"
    """The room that line clients act in; only one that shows a token may name another."""
    clients: Annotated[int, Meta(ge=1, le=10_000)] = 10
    """How many connections the line door holds at once; for one more the most silent gives way, or it is refused."""
    idle_seconds: Seconds = 60.0
    """How long a connection may be silent while none of its calls runs."""
    give_way_seconds: Seconds = 5.0
    """How long a connection without a running call must have been silent to give its place to a newcomer."""
    arrival_seconds: Seconds = 10.0
    """How long the rest of a line, or a client's next read of what waits for it, may take."""
    request_bytes: Annotated[int, Meta(ge=256, le=16_777_216)] = 16_384
    """The longest request that the line door reads."""
    unread_bytes: Annotated[int, Meta(ge=65_536, le=1_000_000_000)] = 4_194_304
    """How much may wait for a client that does not read; with more it is closed and its calls are cancelled."""
    calls: Count = 10
    """How many calls a client of the line door may make within `calls_seconds`."""
    calls_seconds: Seconds = 10.0
    """The span of time in which the calls of a client are counted."""
    call_seconds: Seconds = 30.0
    """How long one call through the line door may take."""
    quiet_seconds: Annotated[float, Meta(ge=0, le=86_400)] = 1.0
    """Calls that end sooner are answered without notifications."""
    progress_seconds: Seconds = 1.0
    """How often a running call without news of its own is reported."""
    summaries: bool = False
    """Whether answers hold summaries of at most 500 characters instead of a program's whole output."""
    certificate: str = ""
    """A file with the certificate chain by which the line door speaks TLS; empty means that it speaks none."""
    key: str = ""
    """The file with the key of that certificate; empty means that it is in the same file."""
    debug: bool = False
    """Whether each request and the kind of each answer go to the log, without secrets."""
    audit_log: str = ""
    """A file that gets one line of JSON for each call, beside the ledger; empty means none."""
    audit_bytes: Annotated[int, Meta(ge=10_000)] = 10_000_000
    """How large that file grows before it is put aside; the last three are kept."""


class Rest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    registration: Literal["code", "open", "closed"] = "code"
    """Who may register a new tenant: whoever has a code of the owner's, everybody, or nobody."""
    access_minutes: Annotated[float, Meta(gt=0, le=1_440)] = 15.0
    """How long the access token of a login is good."""
    refresh_days: Annotated[float, Meta(gt=0, le=366)] = 30.0
    """How long somebody stays logged in without coming back."""
    event_clients: Count = 200
    """How many answers of the REST door are streams at once: of events, of an execution, of a command that runs."""
    event_clients_each: Count = 50
    """How many of them one caller has."""


class Rooms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    attachment_bytes: Annotated[int, Meta(ge=1, le=10_000_000)] = 5_000_000
    """The largest file that can come with a message."""
    attachments: Annotated[int, Meta(ge=0, le=100)] = 8
    """How many files come with one message at most."""
    loose_attachments: Count = 20
    """How many files of one sender wait for the message that they come with."""
    loose_hours: Annotated[float, Meta(gt=0, le=8_760)] = 24.0
    """How long a file is kept that came with no message."""
    direct_recipe: str = "research-chat"
    """The recipe that rooms of two begin under."""


class Console(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    link_minutes: Annotated[float, Meta(gt=0, le=1_440)] = 60.0
    """How long a login link can be used, once; another is made with `doorward login`."""
    session_days: Annotated[float, Meta(gt=0, le=366)] = 30.0
    """How long a browser stays logged in."""
    streams: Count = 1_000
    """How many pages of the console are told at once of what happens."""
    streams_each: Count = 200
    """How many of them are of one person."""


class Upstream(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    file: str = ""
    """The file of upstream MCP servers; empty means `mcp-servers.json` in the home folder."""
    max_entries: Annotated[int, Meta(ge=1, le=100_000)] = 2_000
    """How many tools, resources and prompts are taken of one upstream server, each; what is more is left out."""
    private_addresses: tuple[str, ...] = ()
    """Networks outside the public Internet, such as `10.0.0.0/8`, that names of upstream servers may lead to."""
    client_metadata_url: str = ""
    """The https address of a document about this house, by which authorization servers that read such know it."""
    callback_port: Annotated[int, Meta(ge=0, le=65_535)] = 0
    """The port of this machine that a login to an upstream server comes back to; 0 takes any free one."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings. A table of `doorward.toml` is one of these fields."""

    server: Server = Server()
    limits: Limits = Limits()
    energy: Energy = Energy()
    approvals: Approvals = Approvals()
    ledger: Ledger = Ledger()
    data: Data = Data()
    files: Files = Files()
    sandbox: Sandbox = Sandbox()
    shell: Shell = Shell()
    mcp: Mcp = Mcp()
    line: Line = Line()
    rest: Rest = Rest()
    rooms: Rooms = Rooms()
    console: Console = Console()
    upstream: Upstream = Upstream()
    models: Models = Models()
    personas: Personas = Personas()
    keeper: Keeper = Keeper()
    search: Search = Search()
    sessions: Sessions = Sessions()


def home_folder() -> Path:
    """`DOORWARD_HOME`, or `.doorward` in the account's home."""
    given = os.environ.get("DOORWARD_HOME", "")
    if "\x00" in given:
        raise Unusable("DOORWARD_HOME holds a NUL byte; give the path of a folder.")
    try:
        folder = Path(given).absolute() if given else Path.home() / ".doorward"
        str(folder).encode()
        return folder
    except UnicodeEncodeError as error:
        raise Unusable(
            f"The path of the home folder is not UTF-8 text; given {str(folder)!r}.",
            hint="Set DOORWARD_HOME to a folder whose path is.",
        ) from error
    except RuntimeError as error:
        raise Unusable(
            "This account has no home folder.", hint="Set DOORWARD_HOME to a folder that Doorward may use."
        ) from error


def load(file: Path) -> Settings:
    """The settings in `file`, or the defaults when there is no such file."""
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise Unusable(f"The settings file {file} cannot be read: {error.strerror}.") from error
    given: dict[str, Any] = {}
    try:
        given = tomllib.loads(text.decode())
        return msgspec.convert(given, Settings)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise Unusable(
            f"The settings file {file} is not valid: {first_fault(given, Settings) or error}.",
            hint="docs/SETTINGS.md lists every setting with its default.",
        ) from error
