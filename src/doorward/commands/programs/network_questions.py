"""Asks whether a program may connect to a host: a call through the gate, inside the call that started the program."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from doorward.commands.context import Context
from doorward.commands.network import CONNECT, LONGEST_PROGRAM
from doorward.core import redact
from doorward.core.errors import NotPermitted
from doorward.gate.approval import Approval
from doorward.gate.decision_watch import watch_decision


class NetworkQuestions:
    def __init__(self, ctx: Context, argv: Sequence[str], report: Callable[[str], None]) -> None:
        """`report` gets a line when a question waits for a person, and when it is answered."""
        self._ctx = ctx
        self._argv = argv
        self._report = report

    async def ask(self, host: str, port: int) -> None:
        """Return when the program may connect. Raises NotPermitted with the reason if it may not."""
        call, run = self._ctx.call, self._ctx.services.run_for_program
        program = _describe_program(self._ctx, self._argv)
        params = {"host": host, "port": port, "program": program}
        outcome = await run(call, CONNECT, params)
        if outcome.status == "parked":
            self._report(f"waits for approval to reach {host}:{port}")
            asks = f"{program} wants to reach {host}:{port}."
            self._ctx.execution.step("note", {"text": f"{asks} Answer: doorward approvals approve {outcome.ticket}"})
            refusal = _explain_refusal(await self._wait_for_decision(outcome.ticket))
            self._report(f"may {'not ' if refusal else ''}reach {host}:{port}")
            if refusal:
                raise NotPermitted(refusal)
            outcome = await run(call, CONNECT, params, outcome.ticket)
        if outcome.status != "done":
            raise NotPermitted(outcome.message)

    async def _wait_for_decision(self, ticket: str) -> Approval:
        """Wait until a person decided or the request expired. It is withdrawn if the program ends before."""
        services, tenant = self._ctx.services, self._ctx.caller.tenant
        try:
            with self._ctx.execution.pause_time():
                watched = watch_decision(services.approvals, services.events, services.clock, tenant, ticket)
                async with watched as decision:
                    with contextlib.suppress(TimeoutError):
                        await decision
        except asyncio.CancelledError:
            await services.approvals.withdraw(tenant, ticket, "The program ended before anybody decided.")
            raise
        return await services.approvals.find(tenant, ticket)


def _explain_refusal(approval: Approval) -> str:
    """Why an approval lets nothing run, as a sentence; empty if it was approved."""
    if approval.state == "approved":
        return ""
    if approval.state == "denied":
        return f"A person denied it: {approval.reason}" if approval.reason else "A person denied it."
    return "Nobody answered in time. Run the program again to ask again."


def _describe_program(ctx: Context, argv: Sequence[str]) -> str:
    """The program in the words of its call, on one line, with secrets redacted."""
    script: Any = ctx.call.params.get("command")
    words = f"{ctx.call.command.name}: {script}" if isinstance(script, str) else shlex.join(argv)
    line = " ".join(redact.text(words, ctx.call.secrets).split())
    return line if len(line) <= LONGEST_PROGRAM else f"{line[: LONGEST_PROGRAM - 1]}…"
