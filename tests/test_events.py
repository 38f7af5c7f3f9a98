"""Events are frozen records in one catalogue (R5.4)."""

from __future__ import annotations

import pytest

from doorward.events import CATALOGUE, Event, RecipeLoaded


def test_every_event_is_in_the_catalogue_under_a_name_of_its_own():
    assert set(CATALOGUE) == set(Event.__subclasses__())
    assert len({event.name for event in CATALOGUE}) == len(CATALOGUE)
    assert all(":" in event.name for event in CATALOGUE)


def test_what_happened_cannot_be_changed():
    event = RecipeLoaded(tenant="", at=0.0, recipe="support")
    with pytest.raises(AttributeError):
        event.recipe = "admin"
