"""Every place where JSON comes in refuses what JSON forbids."""

from __future__ import annotations

import base64
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import doorward
from doorward.cli.approvals import parse_value
from doorward.cli.data import JsonText
from doorward.commands.families import FAMILIES
from doorward.config.jsonc import UnreadableText
from doorward.config.jsonc import parse_jsonc as parse_configuration
from doorward.config.settings import DataSettings, Settings
from doorward.core.argtext import convert_args
from doorward.core.errors import BadParams, DoorwardError
from doorward.core.registry import Registry
from doorward.doors.http.applications import HttpApplications
from doorward.doors.http.ports import parse_health_version
from doorward.gate.recipes.recipe import parse_recipe
from doorward.rooms.personas.persona import parse_persona
from doorward.store.paging import read_cursor
from json_texts import FORBIDDEN, OURS_REFUSED

REFUSED = (*FORBIDDEN, *(text for text, _ in OURS_REFUSED))

OUTSIDE = {
    "agents/calls/json_calls.py": "calls in the answer of a model, native ones too; their tests are beside the calls'",
    "agents/calls/python_calls.py": "values of calls that are written like code; their tests are beside the calls'",
    "agents/keeper/tools.py": "parameters that a model wrote as a text; its tests are beside the keeper's",
    "agents/models/answer_shape.py": "answers of models that a schema constrains; its tests are beside the models'",
    "agents/models/file_discovery.py": "manifests of Ollama; what is none is passed over",
    "agents/models/local_process.py": "tokens as a model in a file counts them; what is no JSON counts as no answer",
    "agents/models/provider_stream.py": "arguments of calls as a model wrote them; its tests are beside the models'",
    "agents/models/server_discovery.py": "what programs on the ports of model servers say; its tests are beside it",
    "agents/quotations.py": "values of calls, to compare them; what is no JSON is a text, and nothing of it is run",
    "shell/word_parser.py": "JSON behind --name= in a line of the shell; what is no JSON is plain text",
    "shell/builtins/data.py": "what is piped into words; its tests are beside the virtual files'",
    "shell/vfs/data_mount.py": "records that are written as files; its tests are beside the virtual files'",
    "commands/recipe.py": "the id inside the text of a recipe, which is then read whole, and stored recipes",
    "agents/house/results.py": "what commands gave, in the words that models read; what is no JSON is a text",
    "core/argtext.py": "parameters written as text, by the terminal and by chat",
    "commands/catalogue/parser.py": "the catalogue file; its tests are beside the catalogue's",
    "config/jsonc.py": "configuration files of MCP clients, which may hold comments",
    "cli/data.py": "the --filter option",
    "cli/approvals.py": "a field of the answer to a server's question; what is no JSON is a text",
    "client/responses.py": "the answers of the server; its tests are beside the client's",
    "doors/line/frames.py": "the lines of the line door; their tests are beside the line door's",
    "doors/http/ports.py": "what a program on our port says of its health",
    "doors/rest/request_reader.py": "the body of every request of the terminal and to the REST door",
    "rooms/personas/persona.py": "files of personas, and the text of persona/put",
    "gate/recipes/recipe.py": "recipe files, and the text of recipe/put",
    "upstream/server_file.py": "the file of upstream servers; its tests are beside it",
    "store/attached_databases.py": "the id of a record with several key columns",
    "store/paging.py": "the cursor of a page",
    "upstream/oauth/discovery.py": "what servers say about logging in to them; its tests are beside the login's",
    "agents/effort/regulation.py": "numbers that a model wrote as a text; what is no number is refused",
    "upstream/packages/package_manager.py": "files of packages and their managers; what is none fails the installation",
    "upstream/packages/server_registry.py": "answers of registries; its tests are beside the search's",
    "upstream/session.py": "what an upstream server wrote instead of an answer; its tests are beside the session's",
    "core/wire/frames.py": "the messages of MCP; their tests are beside the wire's and the door's",
}
"""The readers of texts from outside; all read with strictjson, and each has a test below."""

OUR_OWN = {
    "agents/effort/sub_agent_job.py": "parameters of a stored question",
    "store/open_answers.py": "answers that models work on, as they were stored",
    "store/subagent_requests.py": "requests to sub-agents, as they were stored",
    "upstream/packages/installer.py": "plans of installations, as they were stored",
    "upstream/packages/known_servers.py": "servers that are known, part of the package",
    "agents/personas/tool_calls.py": "parameters of a stored question",
    "agents/models/prices.py": "prices of models, part of the package",
    "agents/models/daily_spending.py": "what was spent today, as it was stored",
    "agents/keeper/prompt.py": "the list of useful commands, part of the package",
    "agents/keeper/service.py": "parameters of a stored question",
    "agents/keeper/paused_request.py": "where the keeper left off, as it was stored",
    "store/collection_scans.py": "records of our own store, for their profiles",
    "agents/house/words.py": "what the house model knows, part of the package",
    "app.py": "what the throttle left for the next process",
    "cli/clients/canaries.py": "answers of our own hook, and of a client to a question of ours",
    "cli/recipe_test.py": "expectations beside a recipe, read strictly; its tests are beside the command's",
    "commands/approval_rules.py": "parameters of a stored question",
    "commands/recipe_infer.py": "a recipe that was checked when it came in",
    "gate/drafts.py": "the last run of a draft, as it was stored",
    "gate/processes.py": "processes, as they were stored",
    "gate/recipes/inference.py": "parameters from the ledger",
    "gate/recipes/narrow_rules.py": "the entries of a recipe that was checked when it came in",
    "sandbox/safefs/guarded_paths.py": "package.json as npm reads it; what is none counts as changed",
    "gate/approvals.py": "the approvers, written when the question was stored",
    "commands/approval.py": "parameters of a stored question",
    "commands/data/collection.py": "before-images",
    "commands/data/managed_records.py": "before-images",
    "commands/debug.py": "our log; a line that is none is shown as it is",
    "commands/persona.py": "a persona that was checked when it came in",
    "commands/recipe_diff.py": "parameters from the ledger",
    "gate/recipes/replay.py": "parameters from the ledger; what is none cannot be told",
    "commands/room.py": "before-images",
    "commands/room_messages.py": "before-images",
    "commands/user.py": "before-images",
    "commands/help/suggestions.py": "what files of a kind are called, part of the package",
    "store/command_texts.py": "words that say nothing and words that mean the like, part of the package",
    "commands/file/changes.py": "what was foreseen, written when the question was stored",
    "shell/sessions.py": "sessions, as they were stored",
    "commands/programs/context.py": "parameters from the ledger",
    "cli/chat_transport.py": "the answers and streams of our own server on the owner's socket",
    "cli/local_client.py": "the answers and lines of our own server on the owner's socket",
    "cli/shell_transport.py": "the answers and streams of our own server on the owner's socket",
    "doors/rest/idempotency.py": "answers of our own that are kept for a while",
    "doors/rest/openapi.py": "samples that commands declare",
    "doors/mcp/stdio/frames.py": "the top of messages that the MCP door then reads strictly",
    "doors/mcp/stdio/handshake.py": "what our own processes say to each other on the owner's socket",
    "doors/mcp/request.py": "what MCP clients carry for us, whose signature is checked",
    "gate/resolver.py": "parameters of a stored question",
    "store/ledger/checkpoints.py": "checkpoints, whose signature is checked",
    "store/ledger/segments.py": "archived records, whose hashes are checked",
    "commands/execution.py": "parameters in records of the ledger",
    "cli/clients/program.py": "where this package was installed from, as the installer noted it",
    "config/published_schema.py": "published schemas, part of the package",
    "rooms/personas/memberships.py": "which rooms are awaited, as it was stored",
    "rooms/messages.py": "attachments, as they were stored",
    "rooms/accounts/tokens.py": "the rooms of a stored token",
    "sandbox/confinement_probe.py": "what our own probe found",
    "sandbox/inside/messages.py": "messages between Doorward and its own helpers",
    "sandbox/inside/probe.py": "what Doorward tells its own probe",
    "store/attached_edits.py": "before-images",
    "store/before_images.py": "names that the database itself wrote as JSON",
    "store/collections.py": "values that the database itself wrote as JSON",
    "store/managed_collections.py": "records and schemas that were checked when they came in",
    "store/sql_functions.py": "access lists; what is no list of texts lets nobody in",
    "store/values.py": "values that the database itself wrote as JSON",
    "core/strictjson.py": "the strict reader itself",
    "upstream/pins.py": "definitions of tools as they were stored; what is none is left out",
    "upstream/http_endpoint.py": "the top of messages of upstream servers, which the session then reads strictly",
    "upstream/oauth/token_store.py": "the tokens that Doorward keeps for itself; what is none counts as no token",
}
"""Readers of what Doorward wrote itself, or of what is checked in another way."""

_READER = re.compile(
    r"json\.loads?\(|json\.decode\(|json\.Decoder|JSONDecoder|literal_eval|yaml\.|pickle\.|orjson|ujson"
)


def test_every_reader_of_json_in_the_source_is_known_here() -> None:
    """A new reader of texts from outside belongs into OUTSIDE, reads with strictjson, and gets a test below."""
    source = Path(doorward.__file__).parent
    readers = {
        str(file.relative_to(source)): file.read_text()
        for file in source.rglob("*.py")
        if _READER.search(file.read_text()) or "strictjson.loads" in file.read_text()
    }
    assert set(readers) - {*OUTSIDE, *OUR_OWN} == set(), "say in this file where their texts come from"
    assert {*OUTSIDE, *OUR_OWN} - set(readers) == set(), "these read no JSON any more"
    for name in OUTSIDE:
        loose = _READER.findall(readers[name].replace("strictjson.loads(", ""))
        assert not loose, f"{name} reads texts from outside with {loose}; use strictjson.loads"


def registry() -> Registry:
    return Registry(list(FAMILIES))


@pytest.mark.parametrize(
    ("command", "parameter"), [("data/list", "filter"), ("data/list", "limit"), ("data/aggregate", "metrics")]
)
def test_a_parameter_written_as_text(command: str, parameter: str) -> None:
    declared = registry()[command]
    for text in REFUSED:
        with pytest.raises(BadParams, match=f"^{command}: parameter {parameter} must be ") as refusal:
            convert_args(declared, [(parameter, text.decode("utf-8", "surrogateescape"))])
        assert len(refusal.value.message) < 400, text


def test_a_text_where_a_list_of_texts_is_wanted_is_refused_or_stays_the_one_word_that_it_is() -> None:
    declared = registry()["data/list"]
    for text in REFUSED:
        given = text.decode("utf-8", "surrogateescape")
        if re.fullmatch(r"[^\s,\[{\"'][^\s,]*", given):
            assert convert_args(declared, [("fields", given)]) == {"fields": [given]}, text
        else:
            with pytest.raises(BadParams, match=r"^data/list: parameter fields must be "):
                convert_args(declared, [("fields", given)])


def test_the_filter_option_of_the_data_command() -> None:
    for text in REFUSED:
        with pytest.raises(Exception, match="given") as refusal:
            JsonText().convert(text.decode("utf-8", "surrogateescape"), None, None)
        assert type(refusal.value).__name__ == "BadParameter", text


def test_a_field_of_an_answer_to_a_server() -> None:
    assert [parse_value(text, {"type": "integer"}) for text in ("7", "true")] == [7, True]
    for text in REFUSED:
        given = text.decode("utf-8", "surrogateescape")
        assert parse_value(given, {"type": "integer"}) == given


def test_a_configuration_file_of_an_mcp_client() -> None:
    """Comments and a last comma are how people write such files; of a name that is there twice the last one counts."""
    read = []
    for text in FORBIDDEN:
        try:
            parse_configuration(text.decode("utf-8", "surrogateescape"))
        except UnreadableText:
            continue
        read.append(text)
    usual = [text for text in read if b"//" in text or b"/*" in text or text in (b"[1,]", b'{"a":1,}')]
    twice = [text for text in read if text.count(b'"a"') > 1 or b"u0061" in text or b'"":1,"":2' in text]
    assert sorted(read) == sorted({*usual, *twice})
    assert len(read) < len(FORBIDDEN) / 5


def test_the_file_of_a_persona() -> None:
    for text in REFUSED:
        given = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        with pytest.raises(DoorwardError):
            parse_persona(given, "mine.json")


def test_a_recipe_file() -> None:
    for text in REFUSED:
        with pytest.raises(DoorwardError):
            parse_recipe(text, "research.json")


async def test_recipe_files_in_the_folder_and_recipe_put(driver: Any) -> None:
    book = driver.house.services.recipes
    before = [recipe.recipe_id for recipe in book.recipes()]
    folder = driver.house.home.recipes
    for number, text in enumerate(REFUSED):
        (folder / f"bad-{number}.json").write_bytes(text)
    await book.load()
    assert [recipe.recipe_id for recipe in book.recipes()] == before
    assert set(book.problems) == {f"bad-{number}.json" for number in range(len(REFUSED))}
    for text in REFUSED[:: len(REFUSED) // 25]:
        given = text.decode("utf-8", "surrogateescape")
        outcome = await driver.ask("recipe/put", by="", room="", params={"id": "mine", "text": given})
        assert (outcome.status, outcome.code) in {("refused", "bad_params"), ("failed", "bad_params")}, outcome
        assert not (folder / "mine.json").exists()


async def test_the_body_of_a_request_to_the_owners_socket(driver: Any) -> None:
    server = HttpApplications(driver.house.gate, driver.house.services)
    for wrap in (lambda text: text, lambda text: b'{"command":"data/list","params":' + text + b"}"):
        for text in REFUSED:
            for path in ("/api/run", "/api/explain"):
                status, body = await _post(server.private, path, wrap(text))
                assert status == 400, (text, body)
                assert b'"code":"bad_params"' in body, (text, body)
    assert [row for row in await driver.ledger() if row["command"] == "data/list"] == []


def test_the_health_of_whoever_has_our_port() -> None:
    assert parse_health_version(b'{"status": "ok", "version": "0.1.0", "problems": 0}') == "0.1.0"
    for text in REFUSED:
        assert parse_health_version(text) == ""
        assert parse_health_version(b'{"status": "ok", "version": ' + text + b', "problems": 0}') == ""


def test_the_cursor_of_a_page() -> None:
    for text in REFUSED:
        with pytest.raises(BadParams, match="The cursor does not belong to this list"):
            read_cursor(base64.urlsafe_b64encode(text).decode().rstrip("="), "mark", 1)


async def test_the_id_of_a_record_with_several_keys(opened: Callable[..., Any], tmp_path: Path) -> None:
    database = tmp_path / "shop.db"
    _make_shop(database)
    async with opened(changes=_with_database(database)) as driver:
        found = await driver.owner("data/read", collection="shop.stock", id='["a", 1]')
        assert found.result["amount"] == 5
        for text in REFUSED[:: len(REFUSED) // 40]:
            given = text.decode("utf-8", "surrogateescape")
            outcome = await driver.ask("data/read", by="", room="", params={"collection": "shop.stock", "id": given})
            assert outcome.code in ("bad_params", "not_found"), (text, outcome)


def _make_shop(file: Path) -> None:
    db = sqlite3.connect(file)
    db.executescript(
        "CREATE TABLE stock (place TEXT, shelf INTEGER, amount INTEGER, PRIMARY KEY (place, shelf)) WITHOUT ROWID;"
        "INSERT INTO stock VALUES ('a', 1, 5);"
    )
    db.close()


def _with_database(file: Path) -> Any:
    return Settings(data=DataSettings(databases={"shop": f"sqlite:///{file}"}))


async def _post(app: Any, path: str, body: bytes) -> tuple[int, bytes]:
    """One request to an application, without a socket in between."""
    sent: list[dict[str, Any]] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "headers": [(b"content-type", b"application/json")],
        "server": ("doorward", None),
        "client": None,
    }
    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])
