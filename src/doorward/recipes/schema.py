"""The published schema of recipes."""

from __future__ import annotations

from importlib import resources

from doorward.edited.published import Fault, Published, field

_RECIPE = Published(resources.files(__package__).joinpath("recipe.schema.json").read_bytes())
PUBLISHED = _RECIPE.schema
first_fault = _RECIPE.first_fault

__all__ = ["PUBLISHED", "Fault", "field", "first_fault"]
