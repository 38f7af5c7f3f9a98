"""What programs wrote and how they ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward.agents.house.telling.asked import Asked, Got
from doorward.agents.house.telling.figures import in_a_row, number
from doorward.agents.house.telling.knowledge import tellers
from doorward.agents.house.telling.quoting import name, quoted

_MOST_NAMES = 10
_SILENT = ("shell/rm", "shell/mv", "shell/cp", "shell/mkdir", "shell/touch", "shell/ln")
"""Programs that write nothing when all is well, so that what they changed is all that there is to tell."""
_DEEDS = ("created", "changed", "deleted")


def is_ran(value: Any) -> bool:
    return isinstance(value, dict) and "exitCode" in value and "stdout" in value


def ran(asked: Asked, got: Got) -> str:
    """A program that ran: its output quoted, how it ended when that was not well, and what it changed."""
    one = got.value if isinstance(got.value, dict) else {}
    out, err, code = str(one.get("stdout") or ""), str(one.get("stderr") or ""), one.get("exitCode")
    parts = [output(got, out)] if out.strip() or (code == 0 and not err.strip()) else []
    if code not in (0, None):
        parts.append(f"It ended with exit code {code}" + (", and complained:\n" + quoted(err) if err.strip() else "."))
    elif code is None:
        parts.append("It was stopped before it ended.")
    elif err.strip():
        parts.append(f"It complained:\n{quoted(err)}")
    changed = one.get("changes")
    if isinstance(changed, dict) and changed.get("total"):
        if code == 0 and not out.strip() and not err.strip():
            return _did(changed)
        parts.append(_changed(changed))
    return "\n".join(parts)


def _did(changed: Mapping[str, Any]) -> str:
    """What a program that wrote nothing did, which is all that there is to tell of it."""
    return _changed(changed).replace("It changed", "It is done: it changed", 1)


def output(got: Got, text: str) -> str:
    """What a program wrote, behind the words that fit it."""
    rules = tellers()
    if not text.strip():
        return rules.silent.get(got.command, "It ran and wrote nothing.")
    head = rules.outputs.get(got.command, "It gave:")
    lines = text.strip().splitlines()
    if got.command in _SILENT and len(lines) == 1 and lines[0].startswith("changes: "):
        return _only_changed(lines[0].removeprefix("changes: "))
    if (
        len(lines) == 1
        and head.endswith(":")
        and len(lines[0]) <= 80
        and got.command != "bash"
        and "git" not in got.command
    ):
        return f"{head} {name(lines[0])}" if head != "It gave:" else f"{head}\n{quoted(text)}"
    return f"{head}\n{quoted(text)}"


def _only_changed(text: str) -> str:
    """What a program did that writes nothing of its own: `deleted a.txt, b.txt`."""
    parts = []
    for part in text.split("; "):
        did, _, names = part.partition(" ")
        known = names.split(", ")
        many = f"{number(len(known))} paths: " if len(known) > 1 else ""
        shown = [name(one) for one in known[:_MOST_NAMES]]
        more = [f"{number(len(known) - _MOST_NAMES)} more"] if len(known) > _MOST_NAMES else []
        parts.append(
            f"I {did} {many}{in_a_row([*shown, *more])}." if did in _DEEDS else f"It says of changes: {name(part)}."
        )
    return " ".join(parts)


def _changed(changed: Mapping[str, Any]) -> str:
    parts = []
    for how in ("created", "changed", "deleted"):
        names = changed.get(how)
        if isinstance(names, list) and names:
            shown = [name(str(one)) for one in names[:_MOST_NAMES]]
            more = [f"{number(len(names) - _MOST_NAMES)} more"] if len(names) > _MOST_NAMES else []
            parts.append(f"{how} {in_a_row([*shown, *more])}")
    total = changed.get("total")
    count = number(total) if isinstance(total, int) else "some"
    return f"It changed {count} path{'' if total == 1 else 's'}" + (f": {'; '.join(parts)}." if parts else ".")


def script(asked: Asked, got: Got) -> str:
    """Lines of the shell that ran one after the other."""
    one = got.value if isinstance(got.value, dict) else {}
    if is_ran(one):
        return ran(asked, got)
    done, whole, failed = one.get("ran"), one.get("of"), one.get("failed")
    if isinstance(done, int) and isinstance(whole, int):
        bad = number(failed) if isinstance(failed, int) else "none"
        return f"{number(done)} of {number(whole)} steps ran, and {bad} failed."
    return tellers().nothing
