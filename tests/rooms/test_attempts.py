"""How often passwords may be tried: by account, by address, and never so that somebody is locked out for good."""

from __future__ import annotations

from typing import Any

import pytest

from doorward.core.errors import TooFast
from doorward.rooms.accounts.attempt_limits import ADDRESS_LIMIT, PAIR_LIMIT, AttemptLimiter


def test_the_next_attempt_waits_until_the_oldest_is_forgotten(clock: Any) -> None:
    attempts = AttemptLimiter(clock)
    for _ in range(PAIR_LIMIT.most):
        attempts.count(("anna", PAIR_LIMIT))
        clock.advance(1)
    with pytest.raises(TooFast) as refusal:
        attempts.count(("anna", PAIR_LIMIT))
    assert refusal.value.retry_after == PAIR_LIMIT.seconds - PAIR_LIMIT.most
    clock.advance(refusal.value.retry_after)
    attempts.count(("anna", PAIR_LIMIT))


def test_a_refused_attempt_is_not_counted_anywhere(clock: Any) -> None:
    attempts = AttemptLimiter(clock)
    for _ in range(PAIR_LIMIT.most):
        attempts.count(("anna", PAIR_LIMIT), ("here", ADDRESS_LIMIT))
    for _ in range(ADDRESS_LIMIT.most):
        with pytest.raises(TooFast):
            attempts.count(("anna", PAIR_LIMIT), ("here", ADDRESS_LIMIT))
    attempts.count(("bert", PAIR_LIMIT), ("here", ADDRESS_LIMIT))


def test_one_address_cannot_try_many_accounts(clock: Any) -> None:
    attempts = AttemptLimiter(clock)
    for number in range(ADDRESS_LIMIT.most):
        attempts.count((f"user {number}", PAIR_LIMIT), ("here", ADDRESS_LIMIT))
    with pytest.raises(TooFast):
        attempts.count(("somebody new", PAIR_LIMIT), ("here", ADDRESS_LIMIT))
    attempts.count(("somebody new", PAIR_LIMIT), ("elsewhere", ADDRESS_LIMIT))


def test_what_succeeds_is_not_held_against_anybody(clock: Any) -> None:
    attempts = AttemptLimiter(clock)
    for _ in range(10 * ADDRESS_LIMIT.most):
        attempts.count(("anna", PAIR_LIMIT), ("here", ADDRESS_LIMIT))
        attempts.uncount("here")
        attempts.clear("anna")


def test_many_accounts_cost_no_more_than_so_much_memory(clock: Any) -> None:
    attempts = AttemptLimiter(clock)
    for number in range(30_000):
        attempts.count((f"user {number}", PAIR_LIMIT))
    assert len(attempts._windows) <= 20_000
