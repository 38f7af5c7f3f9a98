"""All operations of the client, written once for the blocking and the asynchronous client."""

from __future__ import annotations

from doorward.client.account import Account
from doorward.client.governing import Governing
from doorward.client.observing import Observing
from doorward.client.running import Running
from doorward.client.thinking import Thinking


class Api(Running, Thinking, Observing, Governing, Account):
    """The operations. On a `Client` each returns its result; on an `AsyncClient` each is awaited.

    A refused or failed call raises one of the errors of `doorward.errors`; a call that waits for approval raises
    `Parked`. Operations that agents use too (running and reading) act in the client's room unless you give another.
    Operations for people only (approvals, rooms, tokens) act outside rooms.
    """
