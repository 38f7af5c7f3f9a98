"""Who the client is: logging in with a password, and out again."""

from __future__ import annotations

from typing import Any

from doorward.client import replies
from doorward.client.body import encoded
from doorward.client.flows import Flow, Send
from doorward.client.operation import operation
from doorward.client.session import Session


class Account(Session):
    @operation
    def login(self, tenant: str, user: str, password: str) -> Flow[None]:
        """Act as this person from now on. The access token is renewed by itself; the password is not kept."""
        yield from self._enter("login", {"tenant": tenant, "user": user, "password": password})

    @operation
    def register(self, tenant: str, user: str, password: str, *, passcode: str = "", name: str = "") -> Flow[None]:
        """Make a new tenant with this person as its first user, and act as them from now on.

        Where the server wants a passcode, its owner makes one with the command `user/invite`; it works once.
        """
        given = {"tenant": tenant, "user": user, "password": password, "passcode": passcode, "name": name}
        yield from self._enter("register", {key: value for key, value in given.items() if value})

    @operation
    def logout(self) -> Flow[None]:
        """End the login on the server too. A token that the client was made with counts again."""
        login, self._login = self._login, None
        if login is not None and login.refresh:
            body = encoded({"refreshToken": login.refresh})
            replies.value((yield from self._attempts(Send(method="POST", path="/api/auth/logout", body=body))))

    @operation
    def me(self) -> Flow[dict[str, Any]]:
        """Whom the server takes this client for."""
        return dict((yield from self._get("/api/me")))

    def _enter(self, how: str, given: dict[str, str]) -> Flow[None]:
        send = Send(method="POST", path=f"/api/auth/{how}", body=encoded(given))
        self._logged_in((yield from self._attempts(send)))
