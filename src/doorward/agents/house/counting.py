"""How many there are in all, beside a list that shows only the first of them."""

from __future__ import annotations

from collections.abc import Generator

import msgspec

from doorward.agents.house.plan import Around, Step, items
from doorward.agents.house.telling import Got


def counted(around: Around, step: Step, got: Got) -> Generator[list[Step], list[Got], Got]:
    """A list with how many there are in all, which a page that is full does not say itself."""
    value = got.value if isinstance(got.value, dict) else {}
    shown = max(len(items(got)), value["found"] if isinstance(value.get("found"), int) else 0)
    if shown < step.params["limit"] or "data/count" not in around.tools or not isinstance(got.value, dict):
        return got
    params = {name: given for name, given in step.params.items() if name in ("collection", "filter")}
    (number,) = yield [Step("data/count", params)]
    whole = number.value.get("count") if isinstance(number.value, dict) else None
    return msgspec.structs.replace(got, value={**value, "found": whole}) if isinstance(whole, int) else got
