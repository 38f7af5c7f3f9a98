"""The published schema of the catalogue."""

from __future__ import annotations

from importlib import resources

from doorward.edited.published import Published

_CATALOGUE = Published(resources.files(__package__).joinpath("commands.schema.json").read_bytes())
PUBLISHED = _CATALOGUE.schema
first_fault = _CATALOGUE.first_fault
