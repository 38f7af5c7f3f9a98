"""Step 4: how often. All windows run on the steady clock, so setting the wall clock lets nothing through."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from doorward import redact
from doorward.clock import Clock
from doorward.errors import Looping, TooFast
from doorward.gate.window import Window
from doorward.model import Call
from doorward.recipes.policy import Policy
from doorward.settings import Settings

_MOST_KEPT = 20_000
_KEPT_TEXT = 1_000
_MOST_TEXTS = 100
"""So many answers are left for the next process, without secrets."""
MINUTE = 60.0
_LINE = "line"
"""The door whose clients are counted by themselves, since many of them can speak with one caller's voice."""
_ABOUT_CALLS = "execution/"
"""Asking after a call and stopping it is not counted there: whoever used up its calls must be able to stop them."""


class Throttle:
    """Counts per caller and room. What is kept is bounded: the longest idle is forgotten first."""

    def __init__(self, clock: Clock, settings: Settings) -> None:
        self._clock = clock
        self._limits = settings.limits
        self._line = settings.line
        self._windows: OrderedDict[str, Window] = OrderedDict()
        self._responses: OrderedDict[str, int] = OrderedDict()
        self._repeats: OrderedDict[str, _Repeat] = OrderedDict()
        self._changed: OrderedDict[str, float] = OrderedDict()
        """When something that may have changed something last began, by tenant."""

    def admit(self, call: Call, policy: Policy | None, *, inside: bool = False) -> None:
        """Count this call, or refuse it and say when to try again. A refused call is not counted.

        One inside another that works by calls itself, such as a built-in word of the shell, is counted by those, and
        by `made_none` when there were none.
        """
        now = self._clock.steady()
        key = _counted_as(call)
        window = self._windows.get(key)
        if window is None:
            window = _remembered(self._windows, key, Window())
        else:
            self._windows.move_to_end(key)
        window.forget(now - MINUTE)
        calls = self._of_client(call, now) if call.door == _LINE else None
        if policy is None:
            self._per_minute(window, self._limits.per_minute, now, call)
        else:
            limits = policy.limits
            if call.digest in self._repeats and _can_loop(call):
                self._loop(call, now)
            if call.response:
                self._per_response(call, limits.per_response)
            self._per_minute(window, limits.per_minute, now, call)
            if limits.per_second is not None:
                self._per_second(window, limits.per_second, now, call)
        if inside and call.command.facts.works_by_calls:
            return
        if call.response and policy is not None:
            count = self._responses.get(f"{key}\x00{call.response}", 0)
            _remembered(self._responses, f"{key}\x00{call.response}", count + 1)
        window.note(now)
        if calls is not None:
            calls.note(now)

    def made_none(self, call: Call) -> None:
        """Count a call that was to be counted by those it makes, and made none."""
        self._windows.get(_counted_as(call), Window()).note(self._clock.steady())

    def note(self, call: Call) -> None:
        """Remember that this call runs: in a room, its like is a repetition, unless it reads and something changed."""
        if not call.command.reads_only:
            _remembered(self._changed, call.caller.tenant, self._clock.steady())
        if not call.room or not _can_loop(call):
            return
        repeat = self._repeats.get(call.digest)
        if repeat is None:
            repeat = _remembered(self._repeats, call.digest, _Repeat())
        repeat.at.append(self._clock.steady())
        del repeat.at[: -self._limits.loop_repeats]

    def answered(self, call: Call, text: str) -> None:
        """Remember how this call ended, for whoever asks the same again and again."""
        repeat = self._repeats.get(call.digest) if _can_loop(call) else None
        if repeat is not None:
            repeat.text = redact.without(text[:_KEPT_TEXT], call.secrets)

    def state(self, boot: str) -> dict[str, Any]:
        """What must outlive this process when it is one of many short ones on the same machine."""
        since = self._clock.steady() - MINUTE
        told = set(list(self._repeats)[-_MOST_TEXTS:])
        return {
            "boot": boot,
            "changed": {key: at for key, at in self._changed.items() if at > since},
            "windows": {key: list(times) for key, times in self._windows.items() if times.since(since)},
            "repeats": {
                key: [list(repeat.at), redact.text(repeat.text) if key in told else ""]
                for key, repeat in self._repeats.items()
                if repeat.at[-1] > since
            },
        }

    def restore(self, state: dict[str, Any], boot: str) -> None:
        """Take up what an earlier process of the same boot left; steady times of another boot mean nothing."""
        if state.get("boot") != boot:
            return
        self._changed.update(state.get("changed", {}))
        for key, times in state["windows"].items():
            self._windows[key] = Window(times)
        for key, (times, text) in state["repeats"].items():
            self._repeats[key] = _Repeat(times, text)

    def _of_client(self, call: Call, now: float) -> Window | None:
        """The calls of one client of the line door, whatever it calls and in whichever room; None: uncounted."""
        if call.command.name.startswith(_ABOUT_CALLS):
            return None
        key = f"{_LINE}\x00{call.session}"
        window = self._windows.get(key)
        if window is None:
            window = _remembered(self._windows, key, Window())
        else:
            self._windows.move_to_end(key)
        most, span = self._line.calls, self._line.calls_seconds
        window.forget(now - span)
        if len(window) >= most:
            wait = window.newest(most) + span - now
            raise TooFast(
                f"A client of the line door makes at most {most} calls in {span:g} s; try again in {wait:.1f} s.",
                retry_after=wait,
                rule=f"house: {most} calls in {span:g} s on the line door",
            )
        return window

    def _loop(self, call: Call, now: float) -> None:
        repeat = self._repeats[call.digest]
        recent = [at for at in repeat.at if at > now - self._limits.loop_seconds]
        if call.command.reads_only:  # what is read after a change may be another thing
            changed = self._changed.get(call.caller.tenant, 0.0)
            recent = [at for at in recent if at >= changed]
        if len(recent) + 1 < self._limits.loop_repeats:
            return
        wait = recent[0] + self._limits.loop_seconds - now
        raise Looping(
            f"The same {call.command.name} call was made {len(recent)} times within "
            f"{self._limits.loop_seconds:g} s; its answer was: {repeat.text or '(none yet)'}",
            hint="Use that answer, or ask for something else.",
            retry_after=wait,
            rule=f"house: call number {self._limits.loop_repeats} of the same is a loop",
        )

    def _per_response(self, call: Call, most: int) -> None:
        key = f"{_counted_as(call)}\x00{call.response}"
        if self._responses.get(key, 0) >= most:
            raise TooFast(
                f"One answer may run at most {most} commands in room {call.room!r}.",
                hint="Go on in your next answer.",
                rule=f"recipe: maxCommandsPerResponse {most}",
            )

    @staticmethod
    def _per_minute(window: Window, most: int, now: float, call: Call) -> None:
        if len(window) >= most:
            wait = window.newest(most) + MINUTE - now
            raise TooFast(
                f"At most {most} commands a minute {_where(call)}; try again in {wait:.1f} s.",
                retry_after=wait,
                rule=f"maxCommandsPerMinute {most}",
            )

    @staticmethod
    def _per_second(window: Window, most: float, now: float, call: Call) -> None:
        span = max(1.0, 1.0 / most)
        allowed = max(1, int(most * span))
        if window.since(now - span) >= allowed:
            wait = window.newest(allowed) + span - now
            raise TooFast(
                f"At most {most:g} actions a second {_where(call)}; try again in {wait:.2f} s.",
                retry_after=wait,
                rule=f"maxActionsPerSecond {most:g}",
            )


class _Repeat:
    """The last times of one and the same call, and its last answer; a list, as a short deque is ten times larger."""

    __slots__ = ("at", "text")

    def __init__(self, at: Sequence[float] = (), text: str = "") -> None:
        self.at = list(at)
        self.text = text


def _counted_as(call: Call) -> str:
    """Whose window a call falls into: its caller's in its room, and the keeper's apart for each whom it acts for."""
    caller = call.caller
    who = f"{caller.id} for {caller.whose}" if caller.keeper and caller.whose != caller.id else caller.id
    return f"{caller.tenant}\x00{who}\x00{call.room}"


def _where(call: Call) -> str:
    return f"in room {call.room!r}" if call.room else "outside rooms"


def _can_loop(call: Call) -> bool:
    """A person or a program that asks again means to; a model that does is stuck, whoever the keeper thinks for."""
    return (call.caller.kind == "ai" or call.caller.keeper) and not call.command.facts.tells_how_it_stands


def _remembered(kept: OrderedDict[str, Any], key: str, value: Any) -> Any:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > _MOST_KEPT:
        kept.popitem(last=False)
    return value
