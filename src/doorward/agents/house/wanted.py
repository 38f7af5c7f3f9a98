"""What is wanted of records, while a request is read."""

from __future__ import annotations

import msgspec


class Shape(msgspec.Struct, kw_only=True):
    """Filled while the request is read."""

    count: bool = False
    group: str = ""
    period: str = ""
    """The period by which a time is grouped, such as month."""
    measure: str = ""
    field: str = ""
    """What is measured, or what is ordered by."""
    order: str = ""
    limit: int = 0
    fields: list[str] = []
    also_by: list[str] = []
    """Further fields that it is grouped by."""
    unknown: list[str] = []
    """Words behind `by` that name no field."""
    distinct: bool = False
    """Whether it is the groups themselves that are asked for."""
    heard: set[int] = set()
    """Where numbers stand that a condition was made of."""
    dated: str = ""
    """The field of time that it went by, where another could have been meant."""
    span_says: str = ""
    """The stretch of time in words, where it is another than was read at first."""
    made: bool = False
    """Whether the records are those that were created in it."""
    timed: str = ""
    """The field that a stretch of time was put to, which the answer tells in its own words."""
    chosen: bool = False
    """Whether the limit is a choice of the house, and not of the asker."""
    places: set[int] = set()
    """Words that are explained by it."""
    taken: set[int] = set()
    """Where comparisons begin that were read as something else."""
