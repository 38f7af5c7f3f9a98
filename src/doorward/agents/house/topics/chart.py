"""A chart of the calls: how many there were in each hour, or in each day."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from doorward.agents.house.dates import TimeSpan
from doorward.agents.house.plan import NotOffered, Reading, Step, Steps
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.sentences import bullets, counted, in_a_row, name, number
from doorward.agents.house.topics.wording import Wording

_CHART = "chart|graph|histogram|timeline|plot|diagram"
_MAY = "call|calls|command|commands|activity|execution|executions|ledger|draw|make|hour|hourly|over time|per hour"
_HOUR = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)T(?P<hour>\d\d):")
_WIDTH = 20


def read(context: RequestContext) -> Iterable[Reading]:
    wording = Wording(context)
    if wording.take(_CHART):
        span = wording.span()
        wording.take(_MAY)
        yield wording.reading("chart of calls", lambda: _chart(context, span), "a chart of the calls", 1.05)


def _chart(context: RequestContext, span: TimeSpan | None) -> Steps:
    if not context.offered("audit/timeline"):
        raise NotOffered("audit/timeline")
    bounds = {"since": span.since_utc, "until": span.until_utc} if span is not None else {"since": "24h"}
    (result,) = yield [Step("audit/timeline", {key: one for key, one in bounds.items() if one})]
    items = [one for one in result.items if isinstance(one, dict) and isinstance(one.get("counts"), dict)]
    sums: Counter[str] = Counter()
    for one in items:
        sums.update(one["counts"])
    when = span.says if span is not None else "in the last 24 hours"
    if not sums:
        return f"There were no calls {when}."
    parts = in_a_row([f"{number(count)} {name(outcome)}" for outcome, count in sums.items()])
    return f"There were {counted(sum(sums.values()), 'call', 'calls')} {when}: {parts}.\n{_bars(items)}"


def _bars(items: list[dict[str, Any]]) -> str:
    """Return a bar for each hour or, over more than two days, for each day."""
    times = [(found, one) for one in items if (found := _HOUR.match(str(one.get("at") or "")))]
    days = {found["day"] for found, _ in times}
    bars: Counter[str] = Counter()
    for found, one in times:
        hour = f"{found['hour']}:00"
        label = found["day"] if len(days) > 2 else f"{found['day']} {hour}" if len(days) == 2 else hour
        bars[label] += sum(one["counts"].values())
    most = max(bars.values(), default=1)
    lines = [f"{label} {'█' * max(1, round(_WIDTH * count / most))} {number(count)}" for label, count in bars.items()]
    return f"By {'day' if len(days) > 2 else 'hour'} (UTC):\n{bullets(lines, 200)}"
