"""All settings, each with a type, a default and a sentence. They are read from `doorward.toml` in the home folder."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from doorward.config.settings.agents import (
    Amount,
    Count,
    KeeperSettings,
    LocalModelSettings,
    ModelSettings,
    PersonaSettings,
    ProviderSettings,
    Rate,
    SearchSettings,
    Seconds,
    SessionSettings,
)
from doorward.config.settings.faults import find_first_fault
from doorward.config.settings.sandbox import BuildSettings, Bytes
from doorward.config.settings.upstream import UpstreamSettings
from doorward.core.errors import Unusable

__all__ = [
    "KeeperSettings",
    "LocalModelSettings",
    "ModelSettings",
    "PersonaSettings",
    "ProviderSettings",
    "SearchSettings",
    "SessionSettings",
    "Settings",
    "UpstreamSettings",
    "find_home_folder",
    "load_settings",
]


class ServerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    host: str = "127.0.0.1"
    """The address that `doorward up` listens on."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8642
    """The port that `doorward up` listens on; 0 picks a free one."""
    allowed_hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    """Accepted names in the Host header, without ports; requests with any other name are refused."""
    allowed_origins: tuple[str, ...] = ()
    """Origins of other web pages that may send requests, such as `https://console.example`."""
    public_url: str = ""
    """The address at which browsers and clients reach this server through a proxy, such as https://door.example."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks of proxies whose X-Forwarded-For and X-Forwarded-Proto headers are believed."""
    connections: Annotated[int, Meta(ge=1, le=100_000)] = 4_096
    """Maximum open connections on each of the two sockets; those without valid credentials give way to further ones."""
    head_seconds: Seconds = 10.0
    """Time limit for receiving the head of a request, from the connection or from its first byte."""
    body_seconds: Seconds = 30.0
    """Time limit for receiving the body of a request."""
    idle_seconds: Seconds = 30.0
    """How long a connection may stay open without a request."""
    unread_seconds: Seconds = 30.0
    """How long a client may leave its response unread before it is disconnected and its call is cancelled."""
    largest_head: Annotated[int, Meta(ge=1_024, le=16_777_216)] = 65_536
    """Maximum size of the head of a request, in bytes."""
    largest_body: Annotated[int, Meta(ge=1_024, le=1_000_000_000)] = 33_554_432
    """Maximum size of the body of a request, in bytes; some doors allow less."""
    inflight_bytes: Annotated[int, Meta(ge=4_194_304, le=100_000_000_000)] = 134_217_728
    """Maximum bytes of unanswered requests in memory, over all clients of all doors; further ones are refused."""
    inflight_bytes_each: Annotated[int, Meta(ge=1_048_576, le=100_000_000_000)] = 50_331_648
    """The same for the requests of one caller."""
    inflight_bytes_strangers: Annotated[int, Meta(ge=1_048_576, le=100_000_000_000)] = 8_388_608
    """The same for all senders without valid credentials; the oldest of these requests give way to new ones."""


class LimitSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    running: Count = 5
    """Maximum commands of one session that run at the same time."""
    queued: Annotated[int, Meta(ge=0, le=1_000_000)] = 10
    """Maximum commands of one session that wait in its queue; further ones are refused."""
    per_minute: Count = 600
    """Maximum commands per minute for a person outside rooms; in a room the recipe sets the limit."""
    anonymous_per_minute: Count = 120
    """Maximum requests per minute from one address without valid credentials; further ones are refused as too fast."""
    loop_repeats: Annotated[int, Meta(ge=2, le=1_000_000_000)] = 3
    """The number of identical calls within `loop_seconds` at which a call is refused as a loop, if nothing changed."""
    loop_seconds: Seconds = 60.0
    """How long the identical calls of one caller are counted."""
    result_characters: Count = 30_000
    """Results longer than this are truncated for models; execution/output returns the whole result."""
    result_hours: Annotated[float, Meta(gt=0, le=8_760)] = 24.0
    """How long the whole of a truncated result is kept."""
    undo_days: Annotated[float, Meta(gt=0, le=3_650)] = 30.0
    """How long the data replaced by a change is kept, so that the change can be undone."""
    undo_bytes: Annotated[int, Meta(ge=1_000_000, le=1_000_000_000_000)] = 2_000_000_000
    """Maximum bytes of this data, checked every five minutes; the oldest is dropped first."""


class EnergySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    enabled: bool = False
    """Whether calls cost energy, and are refused when the pool is empty. Personas with `effort` always pay."""
    start: Amount = 100.0
    """The initial energy of a caller's pool."""
    floor: Amount = -50.0
    """The lowest energy a pool can have."""
    ceiling: Amount = 100.0
    """The highest energy a pool can have."""
    per_second: Rate = 2.0
    """The energy that a second of work costs."""
    recovery_per_second: Rate = 1.0
    """The energy that a pool regains per second."""


class ApprovalSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    use_within: Seconds = 300.0
    """How long after its approval a call may be run."""
    session_seconds: Seconds = 28_800.0
    """How long an approval for a session lasts, if the session does not end before."""
    foresee: bool = True
    """Whether an approval shows what a file or shell command would change, and covers exactly that change."""
    foresee_seconds: Seconds = 10.0
    """Time limit for computing that change; after it, the approval is requested without a preview."""


class LedgerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rotate_at: Annotated[int, Meta(ge=1_000)] = 2_000_000
    """When the ledger holds this many records, the older half moves to an archive file that can still be verified."""
    keep_days: Annotated[float, Meta(ge=0, le=36_500)] = 0.0
    """Days after which archived records are deleted; 0 keeps them. `audit verify` reports what was deleted."""
    checkpoint_every: Count = 1_000
    """The number of records after which a signed checkpoint is written next to the database."""
    largest_value: Count = 2_000
    """Parameter values longer than this are recorded as size and hash only."""


class DataSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    databases: dict[str, str] = {}
    """Your own databases by name, as `sqlite:///path/to/file.db`; their tables become collections `name.table`."""
    query_rows: Count = 1_000
    """Maximum rows that one query returns."""
    query_seconds: Seconds = 5.0
    """Time limit of one query."""
    query_bytes: Count = 10_000_000
    """Maximum bytes that one query returns."""


class FileSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    workspace: str = ""
    """The folder that file commands work in, outside the home folder; empty means `workspace` in the home folder."""
    largest_file: Count = 10_000_000
    """Maximum size of a file that commands read or write, in bytes."""


class SandboxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    required: bool = False
    """Whether programs are refused unless the sandbox is `full`."""
    allow_unconfined: bool = False
    """Whether programs may run with resource limits only, on systems that offer no confinement."""
    network: bool = False
    """Whether catalogue commands that request network access get it, and programs of rooms whose recipe says `all`."""
    readable: tuple[str, ...] = ()
    """Further folders that programs may read, as absolute paths outside /tmp, /dev, /proc, /sys and the home folder."""
    cpu_seconds: Count = 30
    """Maximum processor time of one program."""
    memory_bytes: Annotated[int, Meta(ge=16_000_000)] = 512 * 1024 * 1024
    """Maximum memory that each process of a program may map; some runtimes need a gigabyte or more."""
    processes: Count = 10
    """Maximum processes of one program at the same time."""
    file_bytes: Count = 10_000_000
    """Maximum size of a file that a program writes."""
    descriptors: Annotated[int, Meta(ge=16, le=1_000_000)] = 50
    """Maximum open files of each process of a program."""
    wall_seconds: Seconds = 30.0
    """Time limit of one program."""
    output_bytes: Count = 1_000_000
    """Maximum bytes kept of each output stream of a program; the rest is only counted."""
    scratch_bytes: Count = 64 * 1024 * 1024
    """Maximum bytes a program may write to its own /tmp, and to a copy-on-write view of the workspace."""
    draft_bytes: Bytes = 4 * 1024**3
    """Maximum bytes of a draft, with its build output and the caches of its programs."""
    keep_free_bytes: Annotated[int, Meta(ge=0)] = 256 * 1024 * 1024
    """A program is stopped when less than this is free on the workspace's disk."""
    helpers: Annotated[int, Meta(ge=1, le=256)] = 16
    """Maximum programs of one workspace that run at the same time; further ones wait."""
    idle_seconds: Seconds = 60.0
    """How long an idle sandbox helper process is kept."""
    room_processes: Count = 10
    """Maximum long-running programs of process/start at the same time in one room."""
    caller_processes: Count = 5
    """Maximum long-running programs of process/start at the same time of one caller in one room."""
    build: BuildSettings = BuildSettings()
    """The limits of programs with the profile `build`: a table `[sandbox.build]`."""


class ShellSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    catalogue: str = ""
    """The catalogue file; empty means `commands.json` in the home folder."""


class McpSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    room: str = "general"
    """The room of MCP clients whose address names no room."""
    elicitation: bool = True
    """Whether a person at an MCP client may approve waiting calls there."""
    tools: Literal["auto", "all", "search"] = "auto"
    """`all` lists every tool, with the schema of its results; `search` a few and a search; `auto` by their number."""
    search_above: Count = 30
    """With `tools` at auto, clients get a few tools and the search when there are more tools than this."""
    page: Count = 1_000
    """Tools, resources or prompts on one page of an MCP list."""
    largest_message: Count = 16 * 1024 * 1024
    """Maximum size of a message from an MCP client, in bytes."""
    sessions: Count = 1_000
    """Maximum MCP sessions at the same time; a new one replaces the one that was idle longest."""
    sessions_each: Count = 100
    """Maximum MCP sessions of one caller."""
    session_seconds: Seconds = 3_600.0
    """How long an MCP session may be idle before it is closed."""
    streams: Count = 1_000
    """Maximum streamed responses to MCP clients at the same time."""
    streams_each: Count = 50
    """Maximum streamed responses of one caller."""
    keep_alive_seconds: Seconds = 15.0
    """How often an idle stream sends a keep-alive."""
    authorization_servers: tuple[str, ...] = ()
    """Addresses of OAuth servers announced to MCP clients that send no token."""


class LineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    enabled: bool = False
    """Whether `doorward up` opens the line door."""
    host: str = "127.0.0.1"
    """The address that the line door listens on."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 9000
    """The port that the line door listens on; 0 picks a free one."""
    open: bool = True
    """Whether programs of the same operating system account may connect without a token."""
    room: str = "general"
    """The room of line clients; only a client with a token may name another."""
    clients: Annotated[int, Meta(ge=1, le=10_000)] = 10
    """Maximum connections; a further one replaces one without valid credentials or the longest idle one."""
    idle_seconds: Seconds = 60.0
    """How long a connection without a running call may be idle."""
    give_way_seconds: Seconds = 5.0
    """How long a connection without a running call must be idle before a new connection may replace it."""
    arrival_seconds: Seconds = 10.0
    """Time limit for receiving the rest of a line, and for a client's next read of waiting data."""
    request_bytes: Annotated[int, Meta(ge=256, le=16_777_216)] = 16_384
    """Maximum length of a request, in bytes."""
    unread_bytes: Annotated[int, Meta(ge=65_536, le=1_000_000_000)] = 4_194_304
    """Maximum unread bytes of a client; with more, its connection is closed and its calls are cancelled."""
    calls: Count = 10
    """Maximum calls of one client within `calls_seconds`."""
    calls_seconds: Seconds = 10.0
    """The period in which the calls of a client are counted."""
    call_seconds: Seconds = 30.0
    """Time limit of one call through the line door."""
    quiet_seconds: Annotated[float, Meta(ge=0, le=86_400)] = 1.0
    """Calls that end sooner than this send no notifications."""
    progress_seconds: Seconds = 1.0
    """How often progress is sent for a running call that reports none itself."""
    summaries: bool = False
    """Whether answers hold summaries of at most 500 characters instead of a program's whole output."""
    certificate: str = ""
    """The file with the TLS certificate chain of the line door; empty means no TLS."""
    key: str = ""
    """The file with the key of that certificate; empty means that the certificate's file holds it."""
    debug: bool = False
    """Whether each request and the kind of each answer are logged, without secrets."""
    audit_log: str = ""
    """A file that gets one line of JSON for each call, in addition to the ledger; empty means none."""
    audit_bytes: Annotated[int, Meta(ge=10_000)] = 10_000_000
    """Size at which that file is rotated; the last three files are kept."""


class RestSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    registration: Literal["code", "open", "closed"] = "code"
    """Who may register a new tenant: people with a code from the owner, everybody, or nobody."""
    access_minutes: Annotated[float, Meta(gt=0, le=1_440)] = 15.0
    """How long the access token of a login is valid."""
    refresh_days: Annotated[float, Meta(gt=0, le=366)] = 30.0
    """How long a login stays valid without use."""
    event_clients: Count = 200
    """Maximum streamed REST responses at the same time: events, executions and running commands."""
    event_clients_each: Count = 50
    """Maximum streamed REST responses of one caller."""


class RoomSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    attachment_bytes: Annotated[int, Meta(ge=1, le=10_000_000)] = 5_000_000
    """Maximum size of an attachment, in bytes."""
    attachments: Annotated[int, Meta(ge=0, le=100)] = 8
    """Maximum attachments of one message."""
    loose_attachments: Count = 20
    """Maximum uploads of one sender that are not attached to a message yet."""
    loose_hours: Annotated[float, Meta(gt=0, le=8_760)] = 24.0
    """How long an upload is kept that is not attached to a message."""
    direct_recipe: str = "research-chat"
    """The initial recipe of direct-message rooms."""


class ConsoleSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    link_minutes: Annotated[float, Meta(gt=0, le=1_440)] = 60.0
    """How long a login link is valid. It works once; `doorward login` creates another."""
    session_days: Annotated[float, Meta(gt=0, le=366)] = 30.0
    """How long a browser stays logged in."""
    streams: Count = 1_000
    """Maximum open console pages that receive live updates."""
    streams_each: Count = 200
    """Maximum open console pages of one person that receive live updates."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings; each field is a table of `doorward.toml`."""

    server: ServerSettings = ServerSettings()
    limits: LimitSettings = LimitSettings()
    energy: EnergySettings = EnergySettings()
    approvals: ApprovalSettings = ApprovalSettings()
    ledger: LedgerSettings = LedgerSettings()
    data: DataSettings = DataSettings()
    files: FileSettings = FileSettings()
    sandbox: SandboxSettings = SandboxSettings()
    shell: ShellSettings = ShellSettings()
    mcp: McpSettings = McpSettings()
    line: LineSettings = LineSettings()
    rest: RestSettings = RestSettings()
    rooms: RoomSettings = RoomSettings()
    console: ConsoleSettings = ConsoleSettings()
    upstream: UpstreamSettings = UpstreamSettings()
    models: ModelSettings = ModelSettings()
    personas: PersonaSettings = PersonaSettings()
    keeper: KeeperSettings = KeeperSettings()
    search: SearchSettings = SearchSettings()
    sessions: SessionSettings = SessionSettings()


def find_home_folder() -> Path:
    """`DOORWARD_HOME`, or `.doorward` in the account's home."""
    given = os.environ.get("DOORWARD_HOME", "")
    if "\x00" in given:
        raise Unusable("DOORWARD_HOME contains a NUL byte; set it to the path of a folder.")
    try:
        folder = Path(given).absolute() if given else Path.home() / ".doorward"
        str(folder).encode()
        return folder
    except UnicodeEncodeError as error:
        raise Unusable(
            f"The path of the home folder is not UTF-8 text; given {str(folder)!r}.",
            hint="Set DOORWARD_HOME to a folder whose path is UTF-8 text.",
        ) from error
    except RuntimeError as error:
        raise Unusable(
            "This account has no home folder.", hint="Set DOORWARD_HOME to a folder that Doorward can use."
        ) from error


def load_settings(file: Path) -> Settings:
    """The settings in `file`, or the defaults when there is no such file."""
    try:
        text = file.read_bytes()
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise Unusable(f"The settings file {file} cannot be read: {error.strerror}.") from error
    given: dict[str, Any] = {}
    try:
        given = _rename_settings(tomllib.loads(text.decode()))
        return msgspec.convert(given, Settings)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise Unusable(
            f"The settings file {file} is not valid: {find_first_fault(given, Settings) or error}.",
            hint="docs/SETTINGS.md lists every setting with its default.",
        ) from error


def _rename_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Accept `mcp.public_url` of earlier versions as `server.public_url`."""
    mcp = given.get("mcp")
    if isinstance(mcp, dict) and "public_url" in mcp:
        server = given.setdefault("server", {})
        if isinstance(server, dict):
            server.setdefault("public_url", mcp.pop("public_url"))
    return given
