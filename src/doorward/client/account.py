"""Account operations of the client: log in, register, log out."""

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
        """Log in with a password. The access token is renewed automatically; the password is not stored."""
        yield from self._enter("login", {"tenant": tenant, "user": user, "password": password})

    @operation
    def register(self, tenant: str, user: str, password: str, *, passcode: str = "", name: str = "") -> Flow[None]:
        """Create a tenant with this person as its first user, and log in as them.

        If the server requires a passcode, its owner creates one with the command `user/invite`. It works once.
        """
        given = {"tenant": tenant, "user": user, "password": password, "passcode": passcode, "name": name}
        yield from self._enter("register", {key: value for key, value in given.items() if value})

    @operation
    def logout(self) -> Flow[None]:
        """Log out, on the server too. The client then uses the token it was created with, if any."""
        login, self._login = self._login, None
        if login is not None and login.refresh:
            body = encoded({"refreshToken": login.refresh})
            replies.value((yield from self._attempts(Send(method="POST", path="/api/auth/logout", body=body))))

    @operation
    def me(self) -> Flow[dict[str, Any]]:
        """Return the current identity."""
        return dict((yield from self._get("/api/me")))

    def _enter(self, how: str, given: dict[str, str]) -> Flow[None]:
        send = Send(method="POST", path=f"/api/auth/{how}", body=encoded(given))
        self._logged_in((yield from self._attempts(send)))
