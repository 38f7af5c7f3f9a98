"""One request on its way through the gate: where it came from, and how far it got."""

from __future__ import annotations

from doorward.core.model import Call, Caller, Request
from doorward.gate.executions.execution import Execution
from doorward.gate.executions.notices import Watcher


class Progress:
    __slots__ = ("call", "caller", "parent", "previewing", "request", "watch")

    def __init__(self, request: Request, watch: Watcher | None = None, parent: Execution | None = None) -> None:
        self.request = request
        self.watch = watch
        self.parent = parent
        """The call that this one is nested in, if any."""
        self.caller: Caller | None = None
        self.call: Call | None = None
        self.previewing = False
        """Whether its effect is being previewed, which may run a program on a copy of the workspace."""

    @property
    def is_anonymous(self) -> bool:
        """Whether it came from outside and its credentials were not valid."""
        credential = self.request.credential
        return self.caller is None and self.parent is None and not (credential.owner or credential.persona)
