"""How often passwords may be tried: by account, by address, and never so that somebody is locked out for good."""

from __future__ import annotations

from typing import Any

import pytest

from doorward.errors import TooFast
from doorward.rooms.attempts import ADDRESS, PAIR, Attempts


def test_the_next_attempt_waits_until_the_oldest_is_forgotten(clock: Any) -> None:
    attempts = Attempts(clock)
    for _ in range(PAIR.most):
        attempts.count(("anna", PAIR))
        clock.advance(1)
    with pytest.raises(TooFast) as refusal:
        attempts.count(("anna", PAIR))
    assert refusal.value.retry_after == PAIR.seconds - PAIR.most
    clock.advance(refusal.value.retry_after)
    attempts.count(("anna", PAIR))


def test_a_refused_attempt_is_not_counted_anywhere(clock: Any) -> None:
    attempts = Attempts(clock)
    for _ in range(PAIR.most):
        attempts.count(("anna", PAIR), ("here", ADDRESS))
    for _ in range(ADDRESS.most):
        with pytest.raises(TooFast):
            attempts.count(("anna", PAIR), ("here", ADDRESS))
    attempts.count(("bert", PAIR), ("here", ADDRESS))


def test_one_address_cannot_try_many_accounts(clock: Any) -> None:
    attempts = Attempts(clock)
    for number in range(ADDRESS.most):
        attempts.count((f"user {number}", PAIR), ("here", ADDRESS))
    with pytest.raises(TooFast):
        attempts.count(("somebody new", PAIR), ("here", ADDRESS))
    attempts.count(("somebody new", PAIR), ("elsewhere", ADDRESS))


def test_what_succeeds_is_not_held_against_anybody(clock: Any) -> None:
    attempts = Attempts(clock)
    for _ in range(10 * ADDRESS.most):
        attempts.count(("anna", PAIR), ("here", ADDRESS))
        attempts.forgive("here")
        attempts.clear("anna")


def test_many_accounts_cost_no_more_than_so_much_memory(clock: Any) -> None:
    attempts = Attempts(clock)
    for number in range(30_000):
        attempts.count((f"user {number}", PAIR))
    assert len(attempts._windows) <= 20_000
