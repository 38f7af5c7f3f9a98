"""`python -m doorward.agents.house.phrasing "a request"`: what it is compared by, and which examples are near."""

from __future__ import annotations

import sys
import time
from datetime import UTC

from doorward.agents.house.phrasing.finding import every, near_misses
from doorward.agents.house.phrasing.items import of_said
from doorward.agents.house.said import said
from doorward.agents.house.wording import worded

_COMMANDS = dict.fromkeys(("data/delete", "data/aggregate", "data/query", "file/read", "file/write", "room/say"))
_MOST = 4


def main() -> None:
    for text in sys.argv[1:]:
        known = worded(text)
        order = (known.order.request,) if known.order is not None else ()
        for way in dict.fromkeys((text, known.mended, *order, *known.readings)):
            print(f"\n{way}")
            shown(way)


def shown(text: str) -> None:
    one = said(text, time.time(), UTC)
    if one.reading.held_back or one.reading.changes_nothing:
        print(f"  no change: {one.reading.held_back or one.reading.changes_nothing}")
    items = of_said(one, _COMMANDS)
    print("  words:", *(f"{item.link + ' ' if item.link else ''}{item.text}<{item.kind}>" for item in items))
    ranked = every(one, _COMMANDS, follows=True)[:_MOST]
    for each in ranked:
        print(f"  {each.score:.2f} means “{each.means}”, as in “{each.says}”")
    if not ranked:
        for says, why in near_misses(one, _COMMANDS)[:_MOST]:
            print(f"  not like “{says}”: {why}")


if __name__ == "__main__":
    main()
