"""Session grants: calls that need no approval again in the session whose call a person approved "for this session".

They are kept in memory: after a restart people are asked again. A grant is bound to the credential, the session, the
room, the workspace and the definition of the command, and it ends with the credential or after a time.
"""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from doorward.core.clock import Clock
from doorward.core.errors import Conflict
from doorward.core.model import Call, Caller, Credential
from doorward.gate.recipes.policy import CompiledAllowance
from doorward.gate.recipes.recipe import Allowance
from doorward.rooms.accounts.revocations import Matches

_MOST = 10_000


class SessionKey(msgspec.Struct, frozen=True):
    """Whose calls a grant covers, and where."""

    caller: Caller
    credential: Credential
    session: str
    room: str
    workspace: str
    command: str
    version: str

    @classmethod
    def of(cls, call: Call, credential: Credential) -> SessionKey:
        command = call.command
        return cls(call.caller, credential, call.session, call.room, call.workspace, command.name, command.version)


class SessionGrant(msgspec.Struct, frozen=True):
    approval: str
    decider: str
    calls: CompiledAllowance
    until: float


class SessionGrants:
    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._parked: OrderedDict[str, SessionKey] = OrderedDict()
        self._grants: dict[SessionKey, list[SessionGrant]] = {}

    def note_parked(self, approval: str, call: Call, credential: Credential) -> None:
        """Remember whose session a waiting call belongs to."""
        self._parked[approval] = SessionKey.of(call, credential)
        if len(self._parked) > _MOST:
            self._parked.popitem(last=False)

    def find_parked(self, approval: str) -> SessionKey | None:
        """The session of a waiting call; None if its access has ended, or Doorward was restarted since."""
        return self._parked.get(approval)

    def check_known(self, approval: str) -> None:
        """Refuse an answer for a session that is not known any more."""
        if approval not in self._parked:
            raise Conflict(
                "The session of this call has ended, or Doorward was restarted since. Approve it once or always."
            )

    def add(self, approval: str, decider: str, allowance: Allowance) -> None:
        """Grant the calls of an allowance to the session whose call waited."""
        self.check_known(approval)
        self._drop_expired()
        grant = SessionGrant(approval, decider, CompiledAllowance(allowance), self._clock.now() + self._seconds)
        self._grants.setdefault(self._parked.pop(approval), []).append(grant)

    def find(self, call: Call, credential: Credential) -> list[SessionGrant]:
        """Return the grants that cover this call, with these parameters, in this session."""
        if not self._grants:
            return []
        now, granted = self._clock.now(), self._grants.get(SessionKey.of(call, credential), [])
        return [one for one in granted if one.until > now and one.calls.covers(call.params)]

    def end_revoked(self, reason: str, matches: Matches) -> None:
        """Drop everything that belongs to access that has ended."""
        for key in [one for one in self._grants if matches(one.credential, one.caller)]:
            del self._grants[key]
        for id in [id for id, key in self._parked.items() if matches(key.credential, key.caller)]:
            del self._parked[id]

    def _drop_expired(self) -> None:
        now = self._clock.now()
        left = {key: [one for one in some if one.until > now] for key, some in self._grants.items()}
        self._grants = {key: some for key, some in left.items() if some}
