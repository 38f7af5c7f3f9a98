"""The published schema of personas."""

from __future__ import annotations

from importlib import resources

from doorward.edited.published import Published

_PERSONA = Published(resources.files(__package__).joinpath("persona.schema.json").read_bytes())
PUBLISHED = _PERSONA.schema
first_fault = _PERSONA.first_fault
