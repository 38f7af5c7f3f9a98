"""Generates docs/MODEL_PROMPTS.md: the prompts that a small model gets for five requests, with their sizes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Container, Sequence

from doorward.agents.house.model import HouseModel
from doorward.agents.keeper.prompt import KeeperContext, build_prompt
from doorward.agents.models.model import AnswerPiece, Prompt, TextPiece
from doorward.agents.models.token_counter import count_tokens
from doorward.commands.families import FAMILIES
from doorward.config.settings import KeeperSettings
from doorward.core.classification import Access
from doorward.core.model import Caller
from doorward.core.registry import Registry
from doorward.shell.session import ShellSession
from doorward.store.collection_profiles import CollectionProfile, FieldProfile
from doorward.store.command_index import CommandIndex

NOW = 1_790_000_000.0
REQUESTS = (
    "how many books do we have",
    "which books did ann lee borrow",
    "delete the loan l-2",
    "how many lines has notes/june.txt",
    "hello, who are you?",
)


def _collection(name: str, label: str, count: int, *fields: FieldProfile) -> CollectionProfile:
    return CollectionProfile(name=name, kind="managed", key="id", label=label, count=count, fields=fields)


DATA = (
    _collection(
        "books",
        "title",
        3,
        FieldProfile(name="id", kind="text", values=("b-1", "b-2", "b-3")),
        FieldProfile(name="title", kind="text", values=("Emma", "Dune", "Ulysses")),
        FieldProfile(name="genre", kind="text", values=("novel", "travel"), complete=True),
        FieldProfile(name="pages", kind="number", values=(474, 412, 730), least=412, most=730),
    ),
    _collection(
        "loans",
        "",
        2,
        FieldProfile(name="id", kind="text", values=("l-1", "l-2")),
        FieldProfile(name="member", kind="text", values=("m-1", "m-2"), links="members", links_by="id"),
        FieldProfile(name="book", kind="text", values=("b-1", "b-3"), links="books", links_by="id"),
        FieldProfile(name="due", kind="text", dates=True, least="2026-08-30", most="2026-10-02"),
        FieldProfile(name="returned", kind="boolean", values=(False, True), complete=True),
    ),
    _collection(
        "members",
        "name",
        2,
        FieldProfile(name="id", kind="text", values=("m-1", "m-2")),
        FieldProfile(name="name", kind="text", values=("Ann Lee", "Bo Ray")),
        FieldProfile(name="city", kind="text", values=("Faro", "Wels"), complete=True),
    ),
)
FILES = ("README.md", "notes/", "notes/june.txt", "log/", "log/app.log")


class _SmallModel:
    """Stands for a small model that keeps to a shape."""

    name = "local:small"
    small = True
    constrains = True

    async def answer(self, prompt: Prompt) -> AsyncIterator[AnswerPiece]:
        yield TextPiece("")

    def count(self, text: str) -> int:
        return count_tokens(text)


def page(notice: str) -> str:
    registry = Registry(FAMILIES)
    index = CommandIndex(registry)

    def search(query: str, among: Container[str], limit: int) -> Sequence[tuple[str, float]]:
        return [(one.command, one.score) for one in index.hits(query, among, limit, "local")]

    house = HouseModel(now=lambda: NOW)
    lines = [
        "# Prompts of small models",
        notice,
        "",
        "Small models get a short context: [MODELS.md](MODELS.md) says which models are small. These are the "
        "instructions that the keeper sends for five requests in a house with three collections and a few files. The "
        "answer is constrained to the listed calls where the provider supports it. Sizes are in tokens of the OpenAI "
        "tokenizer; the limit is 1,200. Where [the house model](HOUSE_MODEL.md) surely understands a request, the last "
        "line suggests its call.",
    ]
    for asked in REQUESTS:
        brief = KeeperContext(
            caller=Caller("local", "owner", "human", Access.ROOT),
            session=ShellSession(tenant="local", user="owner", id="", room="", cwd="/workspace"),
            asked=asked,
            offered=[one for one in registry if not one.unlisted],
            policy=None,
            waits=lambda command: False,
            limits=KeeperSettings(),
            data=DATA,
            files=FILES,
            now=NOW,
            search=search,
            find_house=lambda: house,
        )
        prompt = build_prompt(brief, _SmallModel(), ())
        size = count_tokens(prompt.instructions)
        lines += ["", f"## {asked}", "", f"{size} tokens, {len(prompt.tools)} calls.", "", "```text"]
        lines += [prompt.instructions, "```"]
    return "\n".join(lines) + "\n"
