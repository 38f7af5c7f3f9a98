"""Ids sort by the time they were made."""

from __future__ import annotations

import time

import pytest

from doorward.core.ids import new_id


def test_ids_sort_in_the_order_in_which_they_were_made_however_fast_that_is() -> None:
    made = [new_id() for _ in range(20_000)]
    assert made == sorted(set(made))


def test_a_clock_that_is_set_back_does_not_bring_ids_out_of_order(monkeypatch: pytest.MonkeyPatch) -> None:
    before = new_id()
    hour_ago = time.time_ns() - 3_600_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: hour_ago)
    assert before < new_id()
