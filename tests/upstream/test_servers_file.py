"""mcp-servers.json is wholly right or refused with the place and the reason, and its secrets are known (R11.1)."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorward.core.classification import Tier
from doorward.core.errors import Unusable
from doorward.upstream.client_conversion import convert_entry
from doorward.upstream.config import ServerAuth, ServerConfig, ServerSandbox, ServersConfig, ToolTerms
from doorward.upstream.server_file import SERVERS_SCHEMA, BadServerFile, parse_servers
from json_texts import FORBIDDEN

HOME = {"HOME": "/home/ada"}

SEED = {
    "servers": [
        {
            "id": "filesystem",
            "name": "filesystem",
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "/path/to/allowed/directory"],
            "enabled": True,
        },
        {
            "id": "github",
            "name": "github",
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-github"],
            "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"},
            "enabled": True,
        },
        {
            "id": "web-search",
            "name": "brave-search",
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-brave-search"],
            "env": {"BRAVE_API_KEY": "${BRAVE_API_KEY}"},
            "enabled": False,
        },
    ],
    "subAgentEnabled": True,
    "autoDiscoveryEnabled": False,
    "toolApprovalRequired": True,
}


def read(value: Any, **environment: str) -> ServersConfig:
    return parse_servers(json.dumps(value).encode(), "mcp-servers.json", {**HOME, **environment})


def one(environment: dict[str, str] | None = None, **fields: Any) -> ServerConfig:
    (server,) = read({"servers": [{"id": "a", **fields}]}, **(environment or {})).servers
    return server


def refused(value: Any, **environment: str) -> BadServerFile:
    with pytest.raises(BadServerFile) as caught:
        read(value, **environment)
    return caught.value


def test_the_file_of_the_seed_is_read() -> None:
    servers = read(SEED, GITHUB_TOKEN="ghp_1234567890abcdefghij", BRAVE_API_KEY="brave-key")
    assert [(one.id, one.name, one.enabled) for one in servers.servers] == [
        ("filesystem", "filesystem", True),
        ("github", "github", True),
        ("web-search", "brave-search", False),
    ]
    assert servers.servers[1].env == {"GITHUB_TOKEN": "ghp_1234567890abcdefghij"}
    assert (servers.approval_required, servers.auto_discovery, servers.sub_agent) == (True, False, True)


def test_an_empty_object_is_a_file_without_servers() -> None:
    assert read({}) == ServersConfig()


def test_every_field_arrives() -> None:
    server = one(
        command="~/bin/tool",
        args=["--verbose"],
        cwd="~/work",
        sandbox={
            "read": ["~/notes", "/srv/x/../y"],
            "write": ["/srv/z"],
            "network": True,
            "memoryMb": 512,
            "processes": 8,
        },
        tier="information",
        cost=2,
        tools={"read_*": {"tier": "code", "cost": 1, "timeoutSeconds": 5, "autoApprove": True}, "list": {}},
        denyTools=["write_*"],
        autoApprove=["list"],
        sampling=True,
        timeoutSeconds=10,
        startSeconds=20,
        pingSeconds=40,
    )
    assert server == ServerConfig(
        id="a",
        name="a",
        command="/home/ada/bin/tool",
        args=("--verbose",),
        folder="/home/ada/work",
        sandbox=ServerSandbox(
            read=("/home/ada/notes", "/srv/y"),
            write=("/srv/z",),
            network=True,
            memory_bytes=512 * 1024 * 1024,
            processes=8,
        ),
        tier=Tier.INFORMATION,
        cost=2.0,
        allow=("read_*", "list"),
        deny=("write_*",),
        auto_approve=("list",),
        tools={
            "read_*": ToolTerms(tier=Tier.CODE, cost=1.0, timeout_seconds=5.0, auto_approve=True),
            "list": ToolTerms(),
        },
        sampling=True,
        timeout_seconds=10.0,
        start_seconds=20.0,
        ping_seconds=40.0,
    )


def test_a_server_on_the_network_arrives_with_its_credentials() -> None:
    server = one(
        {"ID": "client-7", "SECRET": "very secret"},
        url="https://search.example/mcp",
        headers={"X-Team": "blue"},
        auth={
            "type": "client_credentials",
            "clientId": "${ID}",
            "clientSecret": "${SECRET}",
            "tokenUrl": "https://login.example/token",
            "scope": "read",
        },
    )
    assert (server.transport, server.url, server.headers) == ("http", "https://search.example/mcp", {"X-Team": "blue"})
    assert server.auth == ServerAuth(
        type="client_credentials",
        client_id="client-7",
        client_secret="very secret",
        token_url="https://login.example/token",
        scope="read",
    )
    assert {"very secret", "client-7"} <= set(server.secrets)


class TestMapsOfClients:
    def test_a_map_is_read_and_its_names_become_ids(self) -> None:
        servers = read(
            {
                "mcpServers": {
                    "My Files!": {"type": "stdio", "command": "files", "args": ["x"]},
                    "7zip": {"command": "seven", "disabled": True},
                    "web": {"type": "streamable-http", "url": "https://web.example/mcp"},
                }
            }
        )
        assert [(one.id, one.name, one.enabled, one.transport) for one in servers.servers] == [
            ("my-files", "My Files!", True, "stdio"),
            ("s-7zip", "7zip", False, "stdio"),
            ("web", "web", True, "http"),
        ]

    def test_two_names_that_make_one_id_are_refused(self) -> None:
        error = refused({"mcpServers": {"My Files": {"command": "a"}, "my-files": {"command": "b"}}})
        assert (error.field, "make the same id, 'my-files'" in error.reason) == ("mcpServers['my-files']", True)

    def test_both_forms_in_one_file_are_refused(self) -> None:
        assert "one of the two forms" in refused({"servers": [], "mcpServers": {}}).reason


class TestVariables:
    def test_they_are_replaced_wherever_they_may_stand(self) -> None:
        server = one(
            {"TOOL": "/opt/tool", "X": "value"},
            command="${TOOL}/run",
            args=["--x=${X}", "${NOT_SET:-otherwise}", "$${X}", "a$b", "100$$"],
            env={"Y": "${X}${X}"},
        )
        assert server.command == "/opt/tool/run"
        assert server.args == ("--x=value", "otherwise", "${X}", "a$b", "100$")
        assert server.env == {"Y": "valuevalue"}

    @pytest.mark.parametrize("environment", [{}, {"TOKEN": ""}])
    def test_a_missing_one_disables_its_server_alone_and_never_means_nothing(self, environment: dict[str, str]) -> None:
        servers = read(
            {"servers": [{"id": "a", "command": "x", "env": {"T": "${TOKEN}"}}, {"id": "b", "command": "y"}]},
            **environment,
        ).servers
        assert [server.enabled for server in servers] == [False, True]
        assert servers[0].env == {"T": "${TOKEN}"}
        assert servers[0].problem == (
            "The server a needs the variable TOKEN, which is not set where Doorward runs; set it, or write"
            " ${TOKEN:-default} in the file."
        )
        assert servers[1].problem == ""

    def test_what_one_lacks_that_is_disabled_anyway_is_no_problem(self) -> None:
        server = one(command="x", env={"T": "${TOKEN}"}, enabled=False)
        assert (server.problem, "the variable TOKEN" in server.lacks) == ("", True)

    def test_two_dollar_signs_are_one_in_a_default_too(self) -> None:
        assert one(command="x", args=["${NOT_SET:-100$$}"]).args == ("100$",)

    def test_a_default_may_be_nothing_because_somebody_wrote_so(self) -> None:
        assert one(command="x", env={"T": "${TOKEN:-}"}).env == {"T": ""}

    @pytest.mark.parametrize("text", ["${", "${1}", "${a b}", "${X", "${env:X}"])
    def test_one_that_is_none_is_refused(self, text: str) -> None:
        error = refused({"servers": [{"id": "a", "command": "x", "args": [text]}]}, X="x")
        assert (error.field, "${NAME}" in error.reason) == ("servers[0].args[0]", True)


class TestSecrets:
    def test_a_password_in_an_address_is_one_wherever_it_stands(self) -> None:
        server = one(command="x", args=["postgres://ada:in-an-address@db"], env={"DB": "redis://:in-a-variable@db"})
        assert set(server.secrets) >= {"in-an-address", "in-a-variable"}

    def test_what_is_secret_by_its_origin_or_place_is_known(self) -> None:
        server = one(
            {"MINE": "from-a-variable"},
            command="x",
            args=["--api-key", "in-two-words", "--token=in-one-word", "--depth=4", "${MINE}"],
            env={"GITHUB_PAT": "in-the-file", "DEBUG": "true-enough"},
        )
        assert set(server.secrets) == {"from-a-variable", "in-two-words", "in-one-word", "in-the-file"}

    def test_so_is_what_a_program_is_told_to_pass_on(self) -> None:
        words = ["--header", "Authorization: Bearer in-a-header", "-e", "API_KEY=in-a-pair", "--env=DEPTH=four", "a:b"]
        secrets = set(one(command="x", args=words).secrets)
        assert secrets == {"Bearer in-a-header", "in-a-header", "in-a-pair"}

    def test_so_is_what_addresses_and_headers_hold(self) -> None:
        server = one(
            url="https://x.example/mcp?api_key=in-the-query&page=four", headers={"Authorization": "Bearer abcdef"}
        )
        assert set(server.secrets) == {"in-the-query", "Bearer abcdef", "abcdef"}

    def test_folders_are_none_or_every_path_would_be_hidden(self) -> None:
        assert one({"USER": "adalovelace"}, command="x", args=["${HOME}/notes", "${USER}"]).secrets == ()

    @pytest.mark.parametrize(
        "fields",
        [
            {"command": "x", "env": {"TOKEN": ["hidden-value"]}},
            {"command": "x", "env": {"TOKEN": "hidden-value\x00"}},
            {"url": "https://ada:hidden-value@x.example/mcp"},
            {"url": "ftp://hidden-value.example"},
            {"url": "https://x.example", "headers": {"X": "hidden-value\n"}},
            {"url": "https://x.example", "auth": {"type": "bearer", "token": {"hidden-value": 1}}},
            {"command": "x", "sandbox": {"read": "ghp_hiddenhiddenhiddenhidden"}},
        ],
    )
    def test_no_complaint_quotes_one(self, fields: dict[str, Any]) -> None:
        assert "hidden" not in str(refused({"servers": [{"id": "a", **fields}]}))


FAULTS = [
    ({"id": "a", "comand": "x"}, "servers[0].comand", "did you mean 'command'?"),
    ({"command": "x"}, "servers[0].id", "it is missing"),
    ({"id": "A", "command": "x"}, "servers[0].id", "'A' is not valid; valid: a small letter"),
    ({"id": "a" * 32, "command": "x"}, "servers[0].id", "is not valid"),
    ({"id": "a"}, "servers[0]", "neither a command nor a url"),
    ({"id": "a", "command": "x", "url": "https://x"}, "servers[0].url", "a command and a url"),
    ({"id": "a", "command": "x", "args": "y"}, "servers[0].args", "'y' is not of type"),
    ({"id": "a", "command": "x", "args": ["y", 1]}, "servers[0].args[1]", "1 is not of type"),
    ({"id": "a", "command": "x", "env": {"1A": "y"}}, "servers[0].env['1A']", "not valid as a key"),
    ({"id": "a", "command": "npx -y x"}, "servers[0].command", "with its arguments in args"),
    ({"id": "a", "command": "./x"}, "servers[0].command", "absolute path"),
    ({"id": "a", "command": "x", "cwd": "here"}, "servers[0].cwd", "absolute path"),
    ({"id": "a", "command": "x", "sandbox": {"read": ["x"]}}, "servers[0].sandbox.read[0]", "absolute path"),
    ({"id": "a", "command": "x", "sandbox": {"netwrk": True}}, "servers[0].sandbox.netwrk", "did you mean 'network'?"),
    ({"id": "a", "command": "x", "sandbox": {"memoryMb": 1}}, "servers[0].sandbox.memoryMb", "minimum of 64"),
    ({"id": "a", "command": "x", "headers": {"A": "b"}}, "servers[0].headers", "valid only with a url"),
    ({"id": "a", "command": "x", "transport": "http"}, "servers[0].transport", "a command, which is stdio"),
    ({"id": "a", "url": "https://x", "args": []}, "servers[0].args", "valid only with a command"),
    ({"id": "a", "url": "x"}, "servers[0].url", "is not a URL"),
    ({"id": "a", "url": "file:///etc/passwd"}, "servers[0].url", "is not a URL"),
    ({"id": "a", "url": "https://x/$(reboot) "}, "servers[0].url", "is not a URL"),
    ({"id": "a", "url": "https://x/#y"}, "servers[0].url", "fragment"),
    (
        {"id": "a", "url": "https://x", "headers": {"Host": "y"}},
        "servers[0].headers.Host",
        "Doorward sets this protocol header itself",
    ),
    ({"id": "a", "url": "https://x", "auth": {"type": "bearer"}}, "servers[0].auth.token", "it is missing"),
    ({"id": "a", "url": "https://x", "auth": {"type": "basic"}}, "servers[0].auth.type", "is not one of"),
    (
        {"id": "a", "url": "https://x", "auth": {"type": "oauth"}, "headers": {"Authorization": "y"}},
        "servers[0].headers.Authorization",
        "one of them",
    ),
    ({"id": "a", "command": "x", "tier": "game"}, "servers[0].tier", "games belong to the tier 'application'"),
    ({"id": "a", "command": "x", "tools": 3}, "servers[0].tools", "3 is not of types"),
    ({"id": "a", "command": "x", "tools": {"t": {"teir": "code"}}}, "servers[0].tools.t.teir", "did you mean 'tier'?"),
    ({"id": "a", "command": "x", "autoApprove": "all"}, "servers[0].autoApprove", "is not of types"),
    ({"id": "a", "command": "x", "timeoutSeconds": 0}, "servers[0].timeoutSeconds", "0 is less than"),
]


@pytest.mark.parametrize(("entry", "field", "reason"), FAULTS, ids=[field for _, field, _ in FAULTS])
def test_a_fault_is_told_with_its_place(entry: dict[str, Any], field: str, reason: str) -> None:
    error = refused({"servers": [entry]})
    assert error.field == field
    assert reason in error.reason
    assert str(error).startswith(f"The server file mcp-servers.json is not valid at {field}: ")
    assert str(error).endswith((".", "?"))


def test_an_id_that_is_there_twice_is_refused() -> None:
    error = refused({"servers": [{"id": "a", "command": "x"}, {"id": "a", "command": "y"}]})
    assert (error.field, "is used twice" in error.reason) == ("servers[1]", True)


@pytest.mark.parametrize("text", [*FORBIDDEN, "", " ", "[]", '{"serves": []}', '{"servers": {}}'])
def test_what_is_no_file_of_servers_is_refused(text: str | bytes) -> None:
    with pytest.raises(BadServerFile, match=r"^The server file mcp-servers.json is not valid"):
        parse_servers(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text, "mcp-servers.json", {})


_ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-10, 10**6)
    | st.sampled_from(["", "a", "/x", "~/x", "${A}", "${", "https://x", "*"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "A", "type", "read"]), inner, max_size=3)
    ),
    max_leaves=6,
)
_FIELDS = st.sampled_from([*SERVERS_SCHEMA["$defs"]["server"]["properties"], "other"])


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(_FIELDS, _ANYTHING, max_size=5), st.booleans())
def test_whatever_an_entry_holds_it_is_read_or_refused_with_a_sentence(fields: dict[str, Any], started: bool) -> None:
    entry = {"id": "a", **({"command": "x"} if started else {"url": "https://x"}), **fields}
    try:
        told = read({"servers": [entry]}, A="value").servers[0].problem or "."
    except BadServerFile as error:
        told = str(error)
    assert told.endswith((".", "?"))


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([*"abc", "command", "args", "env", "url", "type", "tools", "cwd"]), _ANYTHING, max_size=5
    )
)
def test_whatever_a_client_holds_it_is_taken_over_or_refused_with_a_reason(entry: dict[str, Any]) -> None:
    found = convert_entry("tool", entry, client="cursor")
    if not found.skipped:
        with contextlib.suppress(BadServerFile):
            assert read({"servers": [{"id": found.id, **found.entry}]}).servers[0].id == "tool"
    assert found.entry or found.skipped


class TestSwitchesOfTheEnvironment:
    @pytest.mark.parametrize(("word", "meant"), [("true", True), ("1", True), ("FALSE", False), ("0", False)])
    def test_they_go_before_the_file(self, word: str, meant: bool) -> None:
        servers = read(
            {"toolApprovalRequired": not meant, "autoDiscoveryEnabled": not meant},
            MCP_TOOL_APPROVAL=word,
            MCP_AUTO_DISCOVERY=word,
        )
        assert (servers.approval_required, servers.auto_discovery) == (meant, meant)

    def test_a_word_that_is_neither_yes_nor_no_is_refused(self) -> None:
        with pytest.raises(
            Unusable, match=r"^MCP_TOOL_APPROVAL is not valid; valid: true, false, 1 or 0; given 'no'\.$"
        ):
            read({}, MCP_TOOL_APPROVAL="no")


def test_the_published_schema_tells_of_every_field() -> None:
    def fields(node: Any) -> list[dict[str, Any]]:
        inner = [part for value in (node.values() if isinstance(node, dict) else ()) for part in fields(value)]
        return [*(node.get("properties", {}).values() if isinstance(node, dict) else ()), *inner]

    for field in fields(SERVERS_SCHEMA):
        name = field.get("$ref", "").removeprefix("#/$defs/")
        told = field.get("description") or SERVERS_SCHEMA["$defs"][name].get("description")
        told = (
            told
            or SERVERS_SCHEMA["$defs"][SERVERS_SCHEMA["$defs"][name]["$ref"].removeprefix("#/$defs/")]["description"]
        )
        assert told.endswith((".", "//."))
