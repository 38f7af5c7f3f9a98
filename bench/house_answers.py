"""How well and how soon the house model answers: the examination, and `doorward ai` until its first output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import select
import statistics
import subprocess
import time
from pathlib import Path

from msgspec.structs import replace

from bench.programs import doorward_command, environment
from bench.questions.asking import Result, examine
from bench.questions.question import asked, held_out
from bench.sizes import Sizes

_REQUEST = "how many rooms do we have"
_PATIENCE = 30.0


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    hidden = {one.id: one.says for one in held_out()}
    questions = [replace(one, says=[*one.says, *hidden.get(one.id, ())]) for one in asked()[: sizes.questions]]
    both = asyncio.run(examine(folder / "questions", questions))
    known = Result([one for one in both.verdicts if one.seen.said not in hidden.get(one.seen.question.id, ())])
    unseen = Result([one for one in both.verdicts if one.seen.said in hidden.get(one.seen.question.id, ())])
    home = folder / "ai"
    _asked(home)  # which makes the home
    times = [_asked(home) for _ in range(sizes.starts)]
    return {
        "questions": float(len(both.verdicts)),
        "questions_right": known.share,
        **({"questions_held_out": unseen.share} if unseen.verdicts else {}),
        "questions_harmful": float(both.harmful),
        "answer_p95": both.p95 * 1e3,
        "ai_first": statistics.median(first for first, _ in times) * 1e3,
        "ai_whole": statistics.median(whole for _, whole in times) * 1e3,
    }


def _asked(home: Path) -> tuple[float, float]:
    """Seconds from the start of the command on a terminal until it shows something, and until it has answered."""
    terminal, its_side = pty.openpty()
    begun = time.perf_counter()
    with subprocess.Popen(
        [*doorward_command(), "ai", _REQUEST], env=environment(home), stdin=its_side, stdout=its_side, stderr=its_side
    ) as program:
        os.close(its_side)
        try:
            ready, _, _ = select.select([terminal], [], [], _PATIENCE)
            first = time.perf_counter() - begun
            if not ready:
                raise RuntimeError(f"doorward ai was to be measured, but it said nothing within {_PATIENCE} s")
            with contextlib.suppress(OSError):  # which is how a terminal says that its other side has left
                while os.read(terminal, 65_536):
                    pass
            if program.wait(_PATIENCE) != 0:
                raise RuntimeError(f"doorward ai was to be measured, but it ended with {program.returncode}")
            return first, time.perf_counter() - begun
        finally:
            os.close(terminal)
            program.kill()
