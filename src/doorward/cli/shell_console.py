"""The shell's command loop body: runs each line that is entered."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import click

from doorward.cli import report
from doorward.cli.ai_shown import LAST, Thinking, last_used, waiting
from doorward.cli.shell_asking import Asking, Person
from doorward.cli.shell_control import Control, about
from doorward.cli.shell_history import called_back
from doorward.cli.shell_jobs import Job
from doorward.cli.shell_known import Known
from doorward.cli.shell_screen import STOPPED, WAITS, Screen, exit_code, told
from doorward.cli.shell_way import ShellWay, refused
from doorward.cli.shell_words import parts
from doorward.cli.wrapping import columns
from doorward.errors import BadParams, Cancelled, DoorwardError, NotApproved, Refused, Withdrawn
from doorward.model import Outcome
from doorward.visible import visible

_SHOW, _SCRIPT, _KEEPER = "session/show", "shell/script", "agent/ask"
_PLACE = re.compile(r"^shell: Line (\d+)")
_WIDEST = 1_000
"""Maximum screen width that is sent to the server."""
_NEW = "new"
"""Session parameter that creates a persistent session; its id comes back in the result."""


class Console:
    def __init__(self, way: ShellWay, known: Known, person: Person | None) -> None:
        """Without a `person`, questions are printed instead of asked."""
        self._way = way
        self._known = known
        self._person = person
        self._asking = Asking(way, person)
        self.control = Control(way, people=person is not None)
        self.session = ""
        """Id of the session; empty until the first line has created one."""
        self.status = 0
        """Exit code of the last line."""
        self._number = 1
        self.leaving = False
        self.begun = ""
        """Text that the next prompt starts with."""
        own: dict[str, Callable[[list[str]], Awaitable[int]]] = {
            "jobs": self._jobs,
            "fg": self._to_front,
            "bg": self._to_back,
            "clear": self._clear,
            "resume": self._resume,
        }
        self._own = own if person is not None else {}

    async def begin(self, session: str) -> None:
        """Continue a session, or start a new one with the first line. Raises for an unknown session."""
        await self._way.knock()
        if not session:
            return
        if session == LAST:
            session = await self._last()
        outcome = await self._way.put(_SHOW, session=session)
        if outcome.status != "done":
            raise refused(outcome)
        self.session, self.status = session, int(outcome.result["status"])
        self._known.cwd = str(outcome.result["cwd"])

    async def _last(self) -> str:
        """Return the person's most recent session in the shell's room."""
        outcome = await self._way.ask("session/list")
        if outcome.status != "done":
            raise refused(outcome)
        return last_used(outcome.result["items"], self._way.room)

    async def enter(self, line: str, number: int = 1) -> None:
        """Run a line and set `status`. Errors are reported, and the shell continues.

        `number` is its line number in the script.
        """
        self._number = number
        try:
            self.status = await self._entered(line.strip(), unremembered=line.startswith(" "))
        except BadParams as error:
            told(visible(error.message))
            self.status = 2
        except DoorwardError as error:
            report.unexpected(error)
            self.status = exit_code("refused" if isinstance(error, Refused) else "failed", error.code)

    @property
    def people(self) -> bool:
        """Whether a person is at the terminal."""
        return self._person is not None

    def tell_of_ends(self) -> None:
        self.control.tell_of_ends()

    async def end(self) -> None:
        await self.control.stop_all()

    async def may_leave(self) -> bool:
        """Ask for confirmation to leave while jobs are running."""
        running = self.control.jobs.running
        if not running or self._person is None:
            return True
        told(f"Leaving stops {len(running)} background job{'' if len(running) == 1 else 's'}:")
        self.control.show(running)
        return await self._asking.yes("Leave? [y/N] ")

    async def _entered(self, line: str, *, unremembered: bool) -> int:
        if not line:
            return self.status
        if line.startswith("!") and self._person is not None:
            numbered = await self._numbered() if line[1:2].isdigit() else None
            line = called_back(line, self._person.earlier(), numbered)
            click.echo(visible(line))
            self._person.remember(line)
        if line.startswith("@"):
            return await self._asked(line[1:].strip())
        words = line.split()
        if self._person is not None and words[0] == "kill" and len(words) > 1 and words[1].startswith("%"):
            return await self._kill(words[1:])
        if words[0] in self._own and not any(part.kind == "operator" for part in parts(line)):
            return await self._own[words[0]](words[1:])
        line, background = _in_background(line) if self._person is not None else (line, False)
        job = Job(line, Screen())
        params: dict[str, Any] = {
            "script": f" {line}" if unremembered else line,
            "session": self.session or _NEW,
            "status": self.status,
            "columns": min(columns(), _WIDEST),
        }
        job.begin(lambda watch: self._way.watched(_SCRIPT, params, watch))
        if background:
            self.control.put_behind(job)
            return 0
        return await self._watched(job)

    async def _numbered(self) -> dict[int, str]:
        """Return the newest lines of this session, numbered as in `history`."""
        if not self.session:
            return {}
        shown = await self._way.put(_SHOW, session=self.session)
        if shown.status != "done":
            raise refused(shown)
        lines = shown.result["history"]
        return dict(enumerate(lines, int(shown.result["lines"]) - len(lines) + 1))

    async def _watched(self, job: Job) -> int:
        return await self._over(job) if await self.control.watch(job) else 0

    async def _over(self, job: Job) -> int:
        """Show how a foreground job ended, and offer an approval if it waits for one."""
        live = job.live
        if live is not None:
            live.rest()
        if job.task is not None and job.task.cancelled():
            told("Disconnected. To see whether it ran: doorward audit tail")
            return STOPPED
        if job.error is not None:
            raise job.error
        if isinstance(job.broken, OSError):  # the reader of our output is gone, as with `| head`
            raise job.broken
        if job.outcome is None:
            raise RuntimeError(f"job ended without an outcome: {job.line}") from job.broken
        if isinstance(live, Thinking):
            return await self._answered(job.outcome, live)
        return await self._ran(job.outcome, live if isinstance(live, Screen) else Screen())

    async def _ran(self, outcome: Outcome, screen: Screen) -> int:
        result = outcome.result if isinstance(outcome.result, Mapping) else {}
        if "exitCode" not in result:
            return _not_run(outcome)
        screen.finish({**result, "stderr": self._placed(result)})
        self.session = str(result.get("session") or self.session)
        self._known.cwd = str(result.get("cwd", self._known.cwd))
        code = int(result["exitCode"])
        self.leaving = bool(result.get("leaves")) and await self.may_leave()
        ticket = str(result.get("ticket") or "")
        if code == WAITS and ticket and self._person is not None:
            if await self._asking.approved(ticket):
                return await self._go_on(ticket)
            told(f"When it is approved, run it with: resume {ticket}")
        return code

    def _placed(self, result: Mapping[str, Any]) -> str:
        """Return the error output of a line; for a syntax error, with the line number in the whole script."""
        said = str(result.get("stderr", ""))
        if result.get("ran") or self._number == 1:
            return said
        return _PLACE.sub(lambda at: f"shell: Line {int(at[1]) + self._number - 1}", said, count=1)

    async def _go_on(self, ticket: str) -> int:
        """Resume an approved call. Exactly that call runs; the rest of its line does not."""
        job = Job(f"resume {ticket}", Screen())
        job.begin(lambda watch: self._way.resumed(ticket, watch))
        return await self._watched(job)

    async def _asked(self, question: str) -> int:
        """Handle an `@` request: suggest a line, ask the person, and act on the answer."""
        verdict, line = await self._asking.suggested(question, self._known.cwd)
        if verdict == "edit":
            self.begun = line
            return 0
        if verdict == "no":
            return 0 if self._person is not None else 1
        code = await self._ask_keeper(question)
        if verdict == "accepted" and code == 0:
            await self._asking.accepted(question)
        return code

    async def _ask_keeper(self, prompt: str, ticket: str = "", model: str = "") -> int:
        job = Job(f"@{prompt}", Thinking(False, model, ticket))
        params = {"prompt": prompt, "session": self.session, "ticket": ticket}
        given = {key: value for key, value in params.items() if value}
        job.begin(lambda watch: self._way.watched(_KEEPER, given, watch))
        return await self._watched(job)

    async def _answered(self, outcome: Outcome, thinking: Thinking) -> int:
        answer = outcome.result if isinstance(outcome.result, Mapping) and "toolCalls" in outcome.result else None
        if answer is None:
            return _not_run(outcome)
        self.session = str(answer["sessionId"])
        ticket = waiting(answer, thinking.ticket)
        if ticket and self._person is not None:
            thinking.pause(answer)
            if await self._asking.approved(ticket) is not None:
                return await self._ask_keeper("", ticket=ticket, model=thinking.model)
        thinking.finish(answer)
        return WAITS if ticket else 0 if answer["success"] else 1

    async def _resume(self, words: list[str]) -> int:
        if len(words) != 1:
            raise BadParams(f"resume takes one ticket: resume TICKET. Given: {len(words)} arguments.")
        return await self._go_on(words[0])

    async def _clear(self, words: list[str]) -> int:
        click.clear()
        return 0

    async def _jobs(self, words: list[str]) -> int:
        self.control.show()
        return 0

    async def _to_front(self, words: list[str]) -> int:
        job = self.control.jobs.named(words[0] if words else "")
        click.echo(visible(job.line))
        job.show()
        return await self._watched(job)

    async def _to_back(self, words: list[str]) -> int:
        told(about(self.control.jobs.named(words[0] if words else "")))
        return 0

    async def _kill(self, words: list[str]) -> int:
        for word in words:
            job = self.control.jobs.named(word)
            if job.ended:
                told(f"[{job.number}] has already ended")
            await self.control.stop(job)
        return 0


def _not_run(outcome: Outcome) -> int:
    """Report a line that did not run, and return its exit code. A syntax error is one line, as in other shells."""
    if outcome.status == "done":  # a resumed call that is not a program
        report.result(outcome.result)
    elif outcome.code in (Cancelled.code, Withdrawn.code):
        told("Stopped.")
    elif outcome.code == BadParams.code:
        click.echo(f"shell: {visible(outcome.message.removeprefix(f'{_SCRIPT}: '))}", err=True)
    else:
        report.complain(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
    if outcome.code == NotApproved.code and outcome.retry_after is not None:  # not decided yet
        return WAITS
    return exit_code(outcome.status, outcome.code)


def _in_background(line: str) -> tuple[str, bool]:
    """Strip a trailing `&`, and return the line and whether there was one."""
    seen = [part for part in parts(line) if part.kind not in ("blank", "comment")]
    if seen and seen[-1].kind == "operator" and seen[-1].text == "&":
        return line[: seen[-1].start].rstrip(), True
    return line, False
