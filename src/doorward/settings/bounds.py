"""Number types with bounds that several settings share."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Amount = Annotated[float, Meta(ge=-1_000_000_000, le=1_000_000_000)]
Rate = Annotated[float, Meta(ge=0, le=1_000_000_000)]
