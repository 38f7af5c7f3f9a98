"""Events are frozen records in one catalogue (R5.4)."""

from __future__ import annotations

import pytest

from doorward.core.events import CATALOGUE, Bus, CatalogueLoaded, Event, RecipeLoaded


def test_every_event_is_in_the_catalogue_under_a_name_of_its_own():
    assert set(CATALOGUE) == set(Event.__subclasses__())
    assert len({event.name for event in CATALOGUE}) == len(CATALOGUE)
    assert all(":" in event.name for event in CATALOGUE)


def test_what_happened_cannot_be_changed():
    event = RecipeLoaded(tenant="", at=0.0, recipe="support")
    with pytest.raises(AttributeError):
        event.recipe = "admin"


def test_whoever_asks_for_some_kinds_hears_of_no_others_and_of_nothing_once_it_left():
    bus, heard, all_of_them = Bus(), [], []
    loaded = RecipeLoaded(tenant="", at=0.0, recipe="support")
    other = CatalogueLoaded(tenant="", at=0.0, commands=1)
    leave = bus.subscribe(heard.append, RecipeLoaded)
    bus.publish(loaded)
    bus.subscribe(all_of_them.append)
    bus.publish(other)
    bus.publish(loaded)
    leave()
    bus.publish(loaded)
    assert heard == [loaded, loaded]
    assert all_of_them == [other, loaded, loaded]
