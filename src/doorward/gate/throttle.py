"""Step 4: rate limits and the loop guard, on the monotonic clock: a change of the wall clock lets nothing through."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from doorward.config.settings import Settings
from doorward.core import redact
from doorward.core.clock import Clock, to_iso
from doorward.core.errors import Looping, TooFast
from doorward.core.model import Call, Outcome
from doorward.gate.executions.execution import Execution
from doorward.gate.recipes.policy import Policy

_MOST_KEPT = 20_000
_KEPT_TEXT = 1_000
_MOST_TEXTS = 100
"""How many answers are handed to the next process, with secrets redacted."""
_MOST_DIGESTS = 100
"""How many calls of one script are remembered as its own."""
MINUTE = 60.0
_LINE = "line"
"""The door whose clients are counted separately, since many of them can act as one caller."""
_ABOUT_CALLS = "execution/"
"""Commands that read or cancel a call are not counted there: a client at its limit must be able to cancel."""


class Throttle:
    """Counts calls per caller and room. Memory is bounded: the longest idle entry is dropped first."""

    def __init__(self, clock: Clock, settings: Settings) -> None:
        self._clock = clock
        self._limits = settings.limits
        self._line = settings.line
        self._windows: OrderedDict[str, CallTimes] = OrderedDict()
        self._responses: OrderedDict[str, int] = OrderedDict()
        self._repeats: OrderedDict[str, _Repeat] = OrderedDict()
        self._changed: OrderedDict[str, float] = OrderedDict()
        """When the last call that may have changed something began, by tenant."""
        self._changes: OrderedDict[str, _Changes] = OrderedDict()
        """The newest changes of each caller."""

    def admit(self, call: Call, policy: Policy | None, *, inside: bool = False) -> None:
        """Count this call, or refuse it and say when to retry. A refused call is not counted.

        A nested call that itself nests calls, such as a shell built-in, is counted by those, or by
        `count_without_calls`.
        """
        now = self._clock.steady()
        key = _window_key(call)
        window = self._windows.get(key)
        if window is None:
            window = _put_bounded(self._windows, key, CallTimes())
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
        if inside and call.command.facts.nests_calls:
            return
        if call.response and policy is not None:
            count = self._responses.get(f"{key}\x00{call.response}", 0)
            _put_bounded(self._responses, f"{key}\x00{call.response}", count + 1)
        window.note(now)
        if calls is not None:
            calls.note(now)

    def count_without_calls(self, call: Call) -> None:
        """Count a call that nests calls but made none."""
        self._windows.get(_window_key(call), CallTimes()).note(self._clock.steady())

    def note(self, call: Call) -> None:
        """Remember that this call runs. In a room, the same call is a repetition, except after a change."""
        if not call.command.reads_only:
            _put_bounded(self._changed, call.caller.tenant, self._clock.steady())
        if not call.room or not _can_loop(call):
            return
        repeat = self._repeats.get(call.digest)
        if repeat is None:
            repeat = _put_bounded(self._repeats, call.digest, _Repeat())
        repeat.at.append(self._clock.steady())
        del repeat.at[: -self._limits.loop_repeats]

    def note_end(self, call: Call, outcome: Outcome, execution: Execution) -> None:
        """Remember the answer, for the refusal of a loop, and whether the call changed something.

        A change is also one of the calls around it: what a script changes is no reason to run the same script again.
        """
        repeat = self._repeats.get(call.digest) if _can_loop(call) else None
        if repeat is not None:
            repeat.text = redact.remove(outcome.text[:_KEPT_TEXT], call.secrets)
            repeat.execution, repeat.ended = call.id, self._clock.now()
        if not _has_changed(call, outcome):
            return
        caller, now, digests = call.caller, self._clock.steady(), execution.digests
        key = _caller_key(caller.tenant, caller.id, caller.on_behalf_of)
        known = self._changes.get(key)
        if known is None or known.digests.isdisjoint(digests):
            _put_bounded(self._changes, key, _Changes(digests, now, known.at if known is not None else 0.0))
            return
        known.at = now
        if len(known.digests) < _MOST_DIGESTS:
            known.digests |= digests

    def state(self, boot: str) -> dict[str, Any]:
        """The state that the next short-lived process on this machine needs."""
        since = self._clock.steady() - MINUTE
        told = set(list(self._repeats)[-_MOST_TEXTS:])
        return {
            "boot": boot,
            "changed": {key: at for key, at in self._changed.items() if at > since},
            "changes": {
                key: [list(one.digests), one.at, one.before] for key, one in self._changes.items() if one.at > since
            },
            "windows": {key: list(times) for key, times in self._windows.items() if times.since(since)},
            "repeats": {
                key: [list(repeat.at), redact.text(repeat.text) if key in told else "", repeat.execution, repeat.ended]
                for key, repeat in self._repeats.items()
                if repeat.at[-1] > since
            },
        }

    def restore(self, state: dict[str, Any], boot: str) -> None:
        """Restore the state of an earlier process. Monotonic times of another boot are ignored."""
        if state.get("boot") != boot:
            return
        self._changed.update(state.get("changed", {}))
        for key, times in state["windows"].items():
            self._windows[key] = CallTimes(times)
        for key, change in state.get("changes", {}).items():
            self._changes[key] = _Changes(*change)
        for key, repeat in state["repeats"].items():
            self._repeats[key] = _Repeat(*repeat)

    def _of_client(self, call: Call, now: float) -> CallTimes | None:
        """The call times of one client of the line door, over all rooms; None when this call is not counted."""
        if call.command.name.startswith(_ABOUT_CALLS):
            return None
        key = f"{_LINE}\x00{call.session}"
        window = self._windows.get(key)
        if window is None:
            window = _put_bounded(self._windows, key, CallTimes())
        else:
            self._windows.move_to_end(key)
        most, span = self._line.calls, self._line.calls_seconds
        window.forget(now - span)
        if len(window) >= most:
            wait = window.newest(most) + span - now
            raise TooFast(
                f"The line door takes at most {most} calls in {span:g} s from one client. Retry in {wait:.1f} s.",
                retry_after=wait,
                rule=f"built-in: {most} calls in {span:g} s on the line door",
            )
        return window

    def _loop(self, call: Call, now: float) -> None:
        repeat = self._repeats[call.digest]
        recent = [at for at in repeat.at if at > now - self._limits.loop_seconds]
        recent = [at for at in recent if at >= self._changed_at(call)]
        if len(recent) + 1 < self._limits.loop_repeats:
            return
        raise Looping(
            f"{call.command.name} was not run again: the same call ran {len(recent)} times within "
            f"{self._limits.loop_seconds:g} s, and nothing has changed since. {repeat.answer}",
            hint="Use the last answer, change something first, or make a different call.",
            retry_after=recent[0] + self._limits.loop_seconds - now,
            rule=f"built-in: loop guard, {self._limits.loop_repeats} equal calls",
        )

    def _changed_at(self, call: Call) -> float:
        """When the last change was made after which the same call can have another result.

        For a read, anybody's change counts. For a call that changes something itself, another one by the same caller,
        or one by the person it acts for, such as an edit or a new request.
        """
        caller = call.caller
        if call.command.reads_only:
            return self._changed.get(caller.tenant, 0.0)
        theirs = self._changes.get(_caller_key(caller.tenant, caller.on_behalf_of, ""))
        own = self._changes.get(_caller_key(caller.tenant, caller.id, caller.on_behalf_of))
        changed = theirs.at if theirs is not None else 0.0
        if own is None:
            return changed
        return max(changed, own.before if call.digest in own.digests else own.at)

    def _per_response(self, call: Call, most: int) -> None:
        key = f"{_window_key(call)}\x00{call.response}"
        if self._responses.get(key, 0) >= most:
            raise TooFast(
                f"One answer may run at most {most} commands in room {call.room!r}.",
                hint="Continue in your next answer.",
                rule=f"recipe: maxCommandsPerResponse {most}",
            )

    @staticmethod
    def _per_minute(window: CallTimes, most: int, now: float, call: Call) -> None:
        if len(window) >= most:
            wait = window.newest(most) + MINUTE - now
            raise TooFast(
                f"At most {most} commands a minute {_where(call)}. Retry in {wait:.1f} s.",
                retry_after=wait,
                rule=f"maxCommandsPerMinute {most}",
            )

    @staticmethod
    def _per_second(window: CallTimes, most: float, now: float, call: Call) -> None:
        span = max(1.0, 1.0 / most)
        allowed = max(1, int(most * span))
        if window.since(now - span) >= allowed:
            wait = window.newest(allowed) + span - now
            raise TooFast(
                f"At most {most:g} actions a second {_where(call)}. Retry in {wait:.2f} s.",
                retry_after=wait,
                rule=f"maxActionsPerSecond {most:g}",
            )


_FORGOTTEN = 64
"""How many forgotten times stay in place before the array is compacted."""


class CallTimes:
    """When the calls of one caller were made, oldest first. There can be many, so each time takes eight bytes."""

    __slots__ = ("_first", "_times")

    def __init__(self, times: Iterable[float] = ()) -> None:
        self._times = array("d", times)
        self._first = 0

    def __len__(self) -> int:
        return len(self._times) - self._first

    def __iter__(self) -> Iterator[float]:
        return iter(self._times[self._first :])

    def note(self, time: float) -> None:
        self._times.append(time)

    def forget(self, until: float) -> None:
        """Drop the times up to and including `until`."""
        times, first = self._times, self._first
        count = len(times)
        while first < count and times[first] <= until:
            first += 1
        if first > _FORGOTTEN and first * 2 > count:
            del times[:first]
            first = 0
        self._first = first

    def newest(self, number: int = 1) -> float:
        """The time of the call at position `number`, counted from the newest."""
        return self._times[-number]

    def since(self, time: float) -> int:
        """Count the calls after `time`."""
        times, count = self._times, 0
        while count < len(self) and times[-1 - count] > time:
            count += 1
        return count


class _Repeat:
    """The last times of one call, and its last answer. A list, because a short deque takes ten times the memory."""

    __slots__ = ("at", "ended", "execution", "text")

    def __init__(self, at: Sequence[float] = (), text: str = "", execution: str = "", ended: float = 0.0) -> None:
        self.at = list(at)
        self.text = text
        self.execution = execution
        self.ended = ended

    @property
    def answer(self) -> str:
        """The last answer, marked as an old one."""
        if not self.execution:
            return "It has not answered yet."
        return f"The last answer (from {to_iso(self.ended)}, execution {self.execution}) was: {self.text or '(empty)'}"


class _Changes:
    """The newest change of one caller: which calls made it, when, and when other calls made the one before."""

    __slots__ = ("at", "before", "digests")

    def __init__(self, digests: Iterable[str], at: float, before: float) -> None:
        self.digests = set(digests)
        self.at = at
        self.before = before


def _caller_key(tenant: str, id: str, behalf: str) -> str:
    return f"{tenant}\x00{id}\x00{behalf}"


def _has_changed(call: Call, outcome: Outcome) -> bool:
    """Whether a call changed something itself. Programs report how many files they changed."""
    facts = call.command.facts
    if call.command.reads_only or facts.nests_calls or facts.runs_agent:
        return False
    changes = outcome.result.get("changes") if isinstance(outcome.result, dict) else None
    if isinstance(changes, dict) and "total" in changes:
        return bool(changes["total"])
    return outcome.status == "done"


def _window_key(call: Call) -> str:
    """The key of a call's window: caller and room. The keeper has one window per person it acts for."""
    caller = call.caller
    who = f"{caller.id} for {caller.principal}" if caller.keeper and caller.principal != caller.id else caller.id
    return f"{caller.tenant}\x00{who}\x00{call.room}"


def _where(call: Call) -> str:
    return f"in room {call.room!r}" if call.room else "outside rooms"


def _can_loop(call: Call) -> bool:
    """Only models loop: a person or a program that repeats a call means it."""
    return (call.caller.kind == "ai" or call.caller.keeper) and not call.command.facts.is_status_poll


def _put_bounded(kept: OrderedDict[str, Any], key: str, value: Any) -> Any:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > _MOST_KEPT:
        kept.popitem(last=False)
    return value
