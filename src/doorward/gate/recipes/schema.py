"""The published schema of recipes."""

from __future__ import annotations

from importlib import resources

from doorward.config.published_schema import PublishedSchema, SchemaFault, format_path

_RECIPE = PublishedSchema(resources.files(__package__).joinpath("recipe.schema.json").read_bytes())
PUBLISHED = _RECIPE.schema
first_fault = _RECIPE.first_fault

__all__ = ["PUBLISHED", "SchemaFault", "first_fault", "format_path"]
