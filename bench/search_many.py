"""How fast a command is found among very many, and what their index costs in memory: run as a program of its own."""

from __future__ import annotations

import gc
import json
import os
import sys
import time

from bench.apart import resident
from bench.search_functions import FunctionCommand
from doorward.core.command import Command
from doorward.core.registry import Registry
from doorward.store.command_index import CommandIndex

_VERBS = ("list", "create", "delete", "update", "search", "count", "export", "share", "archive", "rename")
_NOUNS = ("invoice", "customer", "ticket", "branch", "calendar", "picture", "contract", "sensor", "payment", "playlist")
_WAYS = (
    "by date",
    "of a team",
    "with its owner",
    "from the archive",
    "as a table",
    "in another currency",
    "for review",
)


def measured(searched: int, searches: int) -> dict[str, float]:
    commands = [_made(number) for number in range(searched)]
    registry = Registry([])
    registry.replace("bench", commands, {}, bare=False)
    gc.collect()
    before = resident(os.getpid())
    index = CommandIndex(registry)
    begun = time.perf_counter()
    index.hits("warm up")
    built = time.perf_counter() - begun
    taken = []
    for number in range(searches):
        command = commands[number * 7919 % len(commands)]
        verb, noun = _VERBS[number % len(_VERBS)], _NOUNS[number // 3 % len(_NOUNS)]
        query = (f"{verb} every {noun} of the team", f"{verb} {noun}", command.summary)[number % 3]
        begun = time.perf_counter()
        index.hits(query, limit=10)
        taken.append(time.perf_counter() - begun)
    taken.sort()
    return {
        "search_build": built,
        "search_p95": taken[len(taken) * 95 // 100] * 1e3,
        "search_memory": max(0.0, resident(os.getpid()) - before),
    }


def _made(number: int) -> Command:
    verb, noun = _VERBS[number % 10], _NOUNS[number // 10 % 10]
    way, area = _WAYS[number // 100 % len(_WAYS)], f"area{number // 100}"
    told = f"{verb.capitalize()} one {noun} or many {noun}s {way}, with all that belongs to {area}."
    fields = {
        key: {"description": f"The {key} of the {noun} to {verb}"} for key in ("id", "owner", "since", "limit", area)
    }
    function = {"name": f"{area}_{verb}_{noun}", "description": told, "parameters": {"properties": fields}}
    return FunctionCommand(f"{area}/{verb}_{noun}", function)


if __name__ == "__main__":
    print(json.dumps(measured(*map(int, sys.argv[1:]))))
