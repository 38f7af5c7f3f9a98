"""Everything that a client can ask, written once for both kinds of client."""

from __future__ import annotations

from doorward.client.account import Account
from doorward.client.governing import Governing
from doorward.client.observing import Observing
from doorward.client.running import Running
from doorward.client.thinking import Thinking


class Api(Running, Thinking, Observing, Governing, Account):
    """The operations. On a `Client` each returns its answer; on an `AsyncClient` each is awaited.

    What is refused or fails is raised as one of the errors of `doorward.errors`, and what waits for a person as
    `Parked`. What an agent does too (running, looking) is done in the client's room unless another is given; what only
    people do (approving, making rooms and tokens) is done outside rooms.
    """
