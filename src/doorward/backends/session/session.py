"""What lasts from one line of the session shell to the next: where one is, what was set, what was typed."""

from __future__ import annotations

import msgspec

from doorward import redact
from doorward.backends.session.secret_values import in_text, is_secret, without
from doorward.command import shortened
from doorward.errors import BadParams

START = "/workspace"
_MOST_NAMES = 200
_LONGEST_VALUE = 32_768
_MOST_BYTES = 262_144
MOST_HISTORY = 500
_LONGEST_LINE = 2_000
MOST_TALK = 20
_LONGEST_TALK = 8_000


class Session(msgspec.Struct, kw_only=True):
    """One session of one user: of a person, or of an agent that acts for a person or for itself."""

    tenant: str
    user: str
    """The person it belongs to, or that its agent acts for."""
    agent: str = ""
    """The agent it belongs to; empty when it is the person's own."""
    id: str
    room: str
    """Where it was opened, and where alone it goes on; empty: outside rooms."""
    cwd: str = START
    """Where it is in the tree of virtual files."""
    before: str = START
    """Where it was before, for `cd -`."""
    env: dict[str, str] = {}
    aliases: dict[str, str] = {}
    status: int = 0
    """The exit code of the last line, which is `$?`."""
    history: list[str] = []
    """What was typed, oldest first, without secrets."""
    talk: list[tuple[str, str]] = []
    """What the keeper was asked here and what it answered, oldest first."""
    requests: list[str] = []
    """The calls in which the keeper was asked that: what it changed in them is what `undo that` means here."""
    lost: list[str] = []
    """Variables that held secrets, which are nowhere stored; after a new start their values are gone."""
    created_at: float = 0.0
    used_at: float = 0.0

    @property
    def home(self) -> str:
        """What `~` stands for."""
        return f"/home/{self.user}"

    @property
    def mounts(self) -> dict[str, str]:
        """The top of the tree of virtual files, and what each part of it shows."""
        return {
            "/workspace": "the files of the workspace",
            self.home: f"the folder {self.home[1:]} of the workspace",
            "/tmp": "the folder tmp of the workspace",  # noqa: S108 - a name in our own tree
            "/data": "the collections, and their records as files",
            "/system": "how the house stands and which commands there are",
            "/proc": "the calls that run",
        }

    def variable(self, name: str) -> str | None:
        """What `$name` stands for; None where it is not set."""
        given = {"HOME": self.home, "PWD": self.cwd, "OLDPWD": self.before, "USER": self.agent or self.user}
        return self.env.get(name, given.get(name))

    @property
    def secrets(self) -> list[str]:
        """The values that nothing which is written down may show."""
        return [value for name, value in self.env.items() if value and is_secret(name)]

    def set(self, name: str, value: str) -> None:
        """Set a variable, within what a session may hold."""
        if len(value) > _LONGEST_VALUE:
            raise BadParams(
                f"A variable holds at most {_LONGEST_VALUE} characters; {name} would have {len(value)}.",
                hint="Write a long text into a file.",
            )
        _fits("variables", {**self.env, name: value})
        self.env[name] = value
        self.lost = [one for one in self.lost if one != name]

    def unset(self, name: str) -> None:
        self.env.pop(name, None)
        self.lost = [one for one in self.lost if one != name]

    def alias(self, name: str, text: str) -> None:
        if not name or any(one in name for one in "/$`'\"\\|&;<>() \t\n="):
            raise BadParams(f"The name of an alias is one plain word; given {shortened(name)}.")
        if without(text, [*self.secrets, *in_text(text)]) != text:
            raise BadParams(
                f"The alias {name} would hold a secret, and aliases are stored.",
                hint="Set a variable, and let the alias name it, in single quotes: alias name='command $VARIABLE'.",
            )
        _fits("aliases", {**self.aliases, name: text})
        self.aliases[name] = text

    def remember(self, line: str) -> None:
        """Put a line into the history: without secrets, and the oldest make way."""
        shown = redact.said(without(line.strip(), [*self.secrets, *in_text(line)]))[:_LONGEST_LINE]
        if shown and (not self.history or self.history[-1] != shown):
            self.history.append(shown)
            del self.history[:-MOST_HISTORY]

    def asks(self, call: str) -> None:
        """Remember a call in which the keeper is asked something here."""
        self.requests.append(call)
        del self.requests[:-MOST_TALK]

    def said(self, asked: str, answered: str) -> None:
        """Remember what the keeper was asked and what it answered, for what is asked next."""
        told = [redact.said(without(one, self.secrets))[:_LONGEST_TALK] for one in (asked, answered)]
        self.talk.append((told[0], told[1]))
        del self.talk[:-MOST_TALK]


def _fits(what: str, held: dict[str, str]) -> None:
    if len(held) > _MOST_NAMES:
        raise BadParams(f"A session has at most {_MOST_NAMES} {what}; unset one first.")
    if sum(len(name) + len(value) for name, value in held.items()) > _MOST_BYTES:
        raise BadParams(f"The {what} of a session hold at most {_MOST_BYTES} characters together; unset one first.")
