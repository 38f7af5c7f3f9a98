"""Progress bars of requests to sub-agents on a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from doorward.cli.effort_view import describe_request
from doorward.core.escape_invisible import escape_invisible

_UNFINISHED = ("queued", "in_progress")


class RequestBars:
    """A bar for each request that is queued or in progress. Without `draws`, nothing is shown."""

    def __init__(self, draws: bool, console: Console | None = None) -> None:
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.fields[message]}"),
            console=console or Console(stderr=True, highlight=False),
            transient=True,
            disable=not draws,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> RequestBars:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bars.stop()

    def update(self, requests: list[dict[str, Any]]) -> bool:
        """Draw the progress. Returns whether any of the requests has not ended."""
        unfinished = [one for one in requests if one["state"] in _UNFINISHED]
        for one in requests:
            if one["id"] not in self._tasks and one in unfinished:
                self._tasks[one["id"]] = self._bars.add_task(escape(describe_request(one)), total=100, message="")
            if one["id"] in self._tasks:
                message = one["message"] or one["state"].replace("_", " ")
                shown = escape(escape_invisible(message, lines=False))
                self._bars.update(self._tasks[one["id"]], completed=one["progress"], message=shown)
        return bool(unfinished)
