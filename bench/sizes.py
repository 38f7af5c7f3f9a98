"""How much is measured: as much as the targets say, or little enough for a test."""

from __future__ import annotations

import msgspec


class Sizes(msgspec.Struct, frozen=True):
    rounds: int = 7
    """Each number is the median of so many."""
    callers: int = 64
    calls: int = 6_400
    """Calls in one round."""
    decisions: int = 100_000
    rows: int = 1_000_000
    """Records in the ledger whose pages are read."""
    pages: int = 200
    starts: int = 10
    """How often a program is started."""
    warm_up: int = 250_000
    """Calls before memory is first looked at: all that is kept of the last minute is full by then."""
    lifetime: int = 1_000_000
    """Calls over which memory must not grow."""
    spawns: int = 400
    """How often a trivial program is run in each way."""
    tests: int = 300
    """Tests of the project that is tested in the sandbox."""
    files: int = 100_000
    """Files of the workspace of which a draft is opened."""
    outputs: int = 20
    """How many programs are listened to for their first output."""
    flood: int = 100_000_000
    """Bytes that one program writes."""
    programs: int = 10_000
    """Programs after which nothing may stay behind."""
    door_calls: int = 4_000
    """Calls through a door in one round; slower servers, which it is compared with, get a part of them."""
    clients: int = 1_000
    """Clients that ask at once."""
    crowd_seconds: float = 20.0
    """How long they ask."""
    tools: int = 1_000
    """Tools in one list."""
    upstreams: int = 100
    """Upstream servers at once, each with ten tools."""
    gateway_seconds: float = 0.8
    """How long a gateway is asked in one round."""
    browsers: int = 50
    """Pages that look at one room at once."""
    messages: int = 100
    """Messages that are said in it, one after the other."""
    rooms: int = 100
    personas: int = 10
    """Personas in each of these rooms."""
    questions: int = 1_000
    """Questions that the house model is asked, at most; there are fewer."""
    houses: int = 5
    """Generated houses in which the house model is asked, too."""
    house_questions: int = 60
    """Questions in each of them."""
    searched: int = 10_000
    """Commands among which others are searched."""
    searches: int = 1_000
    """Searches among them."""
    searches_of_others: int = 3_000
    """Questions of others that are searched for, at most; there are fewer."""


SHORT = Sizes(files=10_000, programs=1_000, crowd_seconds=5.0, warm_up=50_000, lifetime=50_000)
"""For whoever does not ask for everything."""
