"""The shell's command loop body: runs each line that is entered."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import click

from doorward.cli import report
from doorward.cli.ai_view import LAST_SESSION, KeeperView, find_last_session, find_pending_ticket
from doorward.cli.shell_confirmation import PersonAtTerminal, ShellConfirmation
from doorward.cli.shell_history import expand_history
from doorward.cli.shell_jobs import JobControl, ShellJob, format_job
from doorward.cli.shell_lexer import parts
from doorward.cli.shell_names import NameCache
from doorward.cli.shell_transport import ShellTransport, error_from_outcome
from doorward.cli.shell_view import EXIT_STOPPED, EXIT_WAITING, ScriptView, exit_code, print_shell_note
from doorward.cli.text_wrap import terminal_width
from doorward.core.errors import BadParams, Cancelled, DoorwardError, NotApproved, Refused, Withdrawn
from doorward.core.escape_invisible import escape_invisible
from doorward.core.model import Outcome

_SHOW, _SCRIPT, _KEEPER = "session/show", "shell/script", "agent/ask"
_LINE_NUMBER = re.compile(r"^shell: Line (\d+)")
_MAX_COLUMNS = 1_000
"""Maximum screen width that is sent to the server."""
_NEW_SESSION = "new"
"""Session parameter that creates a persistent session; its id comes back in the result."""


class ShellConsole:
    def __init__(self, way: ShellTransport, known: NameCache, person: PersonAtTerminal | None) -> None:
        """Without a `person`, questions are printed instead of asked."""
        self._transport = way
        self._names = known
        self._person = person
        self._confirmation = ShellConfirmation(way, person)
        self.control = JobControl(way, people=person is not None)
        self.session = ""
        """Id of the session; empty until the first line has created one."""
        self.status = 0
        """Exit code of the last line."""
        self._line_number = 1
        self.leaving = False
        self.next_input = ""
        """Text that the next prompt starts with."""
        own: dict[str, Callable[[list[str]], Awaitable[int]]] = {
            "jobs": self._jobs,
            "fg": self._foreground,
            "bg": self._background,
            "clear": self._clear,
            "resume": self._resume,
        }
        self._terminal_commands = own if person is not None else {}

    async def begin(self, session: str) -> None:
        """Continue a session, or start a new one with the first line. Raises for an unknown session."""
        await self._transport.check_connection()
        if not session:
            return
        if session == LAST_SESSION:
            session = await self._find_last_session()
        outcome = await self._transport.run_in_room(_SHOW, session=session)
        if outcome.status != "done":
            raise error_from_outcome(outcome)
        self.session, self.status = session, int(outcome.result["status"])
        self._names.cwd = str(outcome.result["cwd"])

    async def _find_last_session(self) -> str:
        """Return the person's most recent session in the shell's room."""
        outcome = await self._transport.ask("session/list")
        if outcome.status != "done":
            raise error_from_outcome(outcome)
        return find_last_session(outcome.result["items"], self._transport.room)

    async def run_line(self, line: str, number: int = 1) -> None:
        """Run a line and set `status`. Errors are reported, and the shell continues.

        `number` is its line number in the script.
        """
        self._line_number = number
        try:
            self.status = await self._run_line(line.strip(), unremembered=line.startswith(" "))
        except BadParams as error:
            print_shell_note(escape_invisible(error.message))
            self.status = 2
        except DoorwardError as error:
            report.report_exception(error)
            self.status = exit_code("refused" if isinstance(error, Refused) else "failed", error.code)

    @property
    def is_interactive(self) -> bool:
        """Whether a person is at the terminal."""
        return self._person is not None

    def report_ended_jobs(self) -> None:
        self.control.report_ended_jobs()

    async def end(self) -> None:
        await self.control.stop_all()

    async def confirm_leave(self) -> bool:
        """Ask for confirmation to leave while jobs are running."""
        running = self.control.jobs.running
        if not running or self._person is None:
            return True
        print_shell_note(f"Leaving stops {len(running)} background job{'' if len(running) == 1 else 's'}:")
        self.control.show(running)
        return await self._confirmation.confirm("Leave? [y/N] ")

    async def _run_line(self, line: str, *, unremembered: bool) -> int:
        if not line:
            return self.status
        if line.startswith("!") and self._person is not None:
            numbered = await self._fetch_numbered_lines() if line[1:2].isdigit() else None
            line = expand_history(line, self._person.earlier(), numbered)
            click.echo(escape_invisible(line))
            self._person.remember(line)
        if line.startswith("@"):
            return await self._handle_question(line[1:].strip())
        words = line.split()
        if self._person is not None and words[0] == "kill" and len(words) > 1 and words[1].startswith("%"):
            return await self._kill(words[1:])
        if words[0] in self._terminal_commands and not any(part.kind == "operator" for part in parts(line)):
            return await self._terminal_commands[words[0]](words[1:])
        line, background = _strip_ampersand(line) if self._person is not None else (line, False)
        job = ShellJob(line, ScriptView())
        params: dict[str, Any] = {
            "script": f" {line}" if unremembered else line,
            "session": self.session or _NEW_SESSION,
            "status": self.status,
            "columns": min(terminal_width(), _MAX_COLUMNS),
        }
        job.start(lambda watch: self._transport.run_watched(_SCRIPT, params, watch))
        if background:
            self.control.move_to_background(job)
            return 0
        return await self._run_in_foreground(job)

    async def _fetch_numbered_lines(self) -> dict[int, str]:
        """Return the newest lines of this session, numbered as in `history`."""
        if not self.session:
            return {}
        shown = await self._transport.run_in_room(_SHOW, session=self.session)
        if shown.status != "done":
            raise error_from_outcome(shown)
        lines = shown.result["history"]
        return dict(enumerate(lines, int(shown.result["lines"]) - len(lines) + 1))

    async def _run_in_foreground(self, job: ShellJob) -> int:
        return await self._show_end(job) if await self.control.run_in_foreground(job) else 0

    async def _show_end(self, job: ShellJob) -> int:
        """Show how a foreground job ended, and offer an approval if it waits for one."""
        live = job.active_view
        if live is not None:
            live.end_line()
        if job.task is not None and job.task.cancelled():
            print_shell_note("Disconnected. To see whether it ran: doorward audit tail")
            return EXIT_STOPPED
        if job.error is not None:
            raise job.error
        if isinstance(job.exception, OSError):  # the reader of our output is gone, as with `| head`
            raise job.exception
        if job.outcome is None:
            raise RuntimeError(f"job ended without an outcome: {job.line}") from job.exception
        if isinstance(live, KeeperView):
            return await self._show_keeper_answer(job.outcome, live)
        return await self._show_script_end(job.outcome, live if isinstance(live, ScriptView) else ScriptView())

    async def _show_script_end(self, outcome: Outcome, screen: ScriptView) -> int:
        result = outcome.result if isinstance(outcome.result, Mapping) else {}
        if "exitCode" not in result:
            return _show_not_run(outcome)
        screen.finish({**result, "stderr": self._renumber_error(result)})
        self.session = str(result.get("session") or self.session)
        self._names.cwd = str(result.get("cwd", self._names.cwd))
        code = int(result["exitCode"])
        self.leaving = bool(result.get("leaves")) and await self.confirm_leave()
        ticket = str(result.get("ticket") or "")
        if code == EXIT_WAITING and ticket and self._person is not None:
            if await self._confirmation.ask_for_approval(ticket):
                return await self._resume_ticket(ticket)
            print_shell_note(f"When it is approved, run it with: resume {ticket}")
        return code

    def _renumber_error(self, result: Mapping[str, Any]) -> str:
        """Return the error output of a line; for a syntax error, with the line number in the whole script."""
        said = str(result.get("stderr", ""))
        if result.get("ran") or self._line_number == 1:
            return said
        return _LINE_NUMBER.sub(lambda at: f"shell: Line {int(at[1]) + self._line_number - 1}", said, count=1)

    async def _resume_ticket(self, ticket: str) -> int:
        """Resume an approved call. Exactly that call runs; the rest of its line does not."""
        job = ShellJob(f"resume {ticket}", ScriptView())
        job.start(lambda watch: self._transport.resume(ticket, watch))
        return await self._run_in_foreground(job)

    async def _handle_question(self, question: str) -> int:
        """Handle an `@` request: suggest a line, ask the person, and act on the answer."""
        verdict, line = await self._confirmation.suggest(question, self._names.cwd)
        if verdict == "edit":
            self.next_input = line
            return 0
        if verdict == "no":
            return 0 if self._person is not None else 1
        code = await self._ask_keeper(question)
        if verdict == "accepted" and code == 0:
            await self._confirmation.report_accepted(question)
        return code

    async def _ask_keeper(self, prompt: str, ticket: str = "", model: str = "") -> int:
        job = ShellJob(f"@{prompt}", KeeperView(False, model, ticket))
        params = {"prompt": prompt, "session": self.session, "ticket": ticket}
        given = {key: value for key, value in params.items() if value}
        job.start(lambda watch: self._transport.run_watched(_KEEPER, given, watch))
        return await self._run_in_foreground(job)

    async def _show_keeper_answer(self, outcome: Outcome, thinking: KeeperView) -> int:
        answer = outcome.result if isinstance(outcome.result, Mapping) and "toolCalls" in outcome.result else None
        if answer is None:
            return _show_not_run(outcome)
        self.session = str(answer["sessionId"])
        ticket = find_pending_ticket(answer, thinking.ticket)
        if ticket and self._person is not None:
            thinking.pause(answer)
            if await self._confirmation.ask_for_approval(ticket) is not None:
                return await self._ask_keeper("", ticket=ticket, model=thinking.model)
        thinking.finish(answer)
        return EXIT_WAITING if ticket else 0 if answer["success"] else 1

    async def _resume(self, words: list[str]) -> int:
        if len(words) != 1:
            raise BadParams(f"resume takes one ticket: resume TICKET. Given: {len(words)} arguments.")
        return await self._resume_ticket(words[0])

    async def _clear(self, words: list[str]) -> int:
        click.clear()
        return 0

    async def _jobs(self, words: list[str]) -> int:
        self.control.show()
        return 0

    async def _foreground(self, words: list[str]) -> int:
        job = self.control.jobs.find(words[0] if words else "")
        click.echo(escape_invisible(job.line))
        job.show()
        return await self._run_in_foreground(job)

    async def _background(self, words: list[str]) -> int:
        print_shell_note(format_job(self.control.jobs.find(words[0] if words else "")))
        return 0

    async def _kill(self, words: list[str]) -> int:
        for word in words:
            job = self.control.jobs.find(word)
            if job.ended:
                print_shell_note(f"[{job.number}] has already ended")
            await self.control.stop(job)
        return 0


def _show_not_run(outcome: Outcome) -> int:
    """Report a line that did not run, and return its exit code. A syntax error is one line, as in other shells."""
    if outcome.status == "done":  # a resumed call that is not a program
        report.show_result(outcome.result)
    elif outcome.code in (Cancelled.code, Withdrawn.code):
        print_shell_note("Stopped.")
    elif outcome.code == BadParams.code:
        click.echo(f"shell: {escape_invisible(outcome.message.removeprefix(f'{_SCRIPT}: '))}", err=True)
    else:
        report.print_error(outcome.status, outcome.code, outcome.message, outcome.hint, outcome.rule)
    if outcome.code == NotApproved.code and outcome.retry_after is not None:  # not decided yet
        return EXIT_WAITING
    return exit_code(outcome.status, outcome.code)


def _strip_ampersand(line: str) -> tuple[str, bool]:
    """Strip a trailing `&`, and return the line and whether there was one."""
    seen = [part for part in parts(line) if part.kind not in ("blank", "comment")]
    if seen and seen[-1].kind == "operator" and seen[-1].text == "&":
        return line[: seen[-1].start].rstrip(), True
    return line, False
