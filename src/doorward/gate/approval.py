"""An approval: a stored request about one exact call."""

from __future__ import annotations

from typing import Literal

import msgspec

from doorward.core.classification import Access
from doorward.core.escape_invisible import escape_invisible
from doorward.core.model import Kind

ApprovalState = Literal["pending", "approved", "denied", "expired", "used"]


class Approval(msgspec.Struct, frozen=True):
    id: str
    tenant: str
    room: str
    caller: str
    kind: Kind
    behalf: str
    command: str
    params: str
    """The exact parameters while the call can still run; afterwards the redacted ones."""
    redacted: str
    digest: str
    access: Access
    approvers: str
    quorum: int
    state: ApprovalState
    created_at: float
    expires_at: float
    decided_at: float | None = None
    used_by: str | None = None
    call: str = ""
    """The call that waits."""
    door: str = ""
    tier: str = ""
    lines_added: int = 0
    """The number of lines that the previewed effect adds; 0 if it is unknown."""
    lines_removed: int = 0
    hold_seconds: float = 0.0
    """How long it waits from the moment at which a person looks at it; 0 if looking changes nothing."""
    held_by: str = ""
    """The person whose look holds it."""
    reason: str = ""
    """Why it was denied, or what was approved of it, in the words of the person who decided."""

    @property
    def waited_until(self) -> float:
        """When it stopped waiting for a decision; in the future while it waits."""
        decided = self.decided_at if self.state in ("approved", "denied", "used") else None
        return self.expires_at if decided is None else decided

    @property
    def call_text(self) -> str:
        """The exact call for people to read before they decide, with invisible characters escaped."""
        return f"{self.command} {escape_invisible(self.params, lines=False)}"

    @property
    def state_text(self) -> str:
        """What became of it, to follow "is" and without a full stop."""
        if self.state == "used":
            about = f": {self.reason.removesuffix('.')}" if self.reason else ""
            return f"already used, by execution {self.used_by}{about}"
        if self.state == "expired" and self.decided_at is not None:
            return "expired: it was not used in time"
        return {
            "pending": "still waiting for a decision",
            "approved": "already approved",
            "denied": f"denied: {self.reason.removesuffix('.')}" if self.reason else "denied",
            "expired": "expired without a decision",
        }[self.state]

    @property
    def next_step(self) -> str:
        """What its caller can do now."""
        if self.state == "pending":
            return f"Decide with: doorward approvals approve {self.id}"
        if self.state == "denied":
            if self.reason:
                return "A person denied the call and said why. Follow that instead of repeating the call."
            return "A person denied the call. Do something else."
        return "If you still need it, run the call again without a ticket."


class ApprovalPreview(msgspec.Struct, frozen=True):
    """A part of the effect that people approve, as text with invisible characters escaped."""

    text: str
    length: int
    """The number of characters of the whole text, as it is stored."""
    next: int | None
    """Where the next part starts; None at the end."""
