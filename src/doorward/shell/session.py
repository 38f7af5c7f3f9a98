"""A shell session: the folder, variables, aliases and history that last from one line to the next."""

from __future__ import annotations

import msgspec

from doorward.core import redact
from doorward.core.command import shorten
from doorward.core.errors import BadParams
from doorward.shell.secret_values import is_secret, redact_secrets, secrets_in_text

START_FOLDER = "/workspace"
_MOST_NAMES = 200
_LONGEST_VALUE = 32_768
_MOST_BYTES = 262_144
MAX_HISTORY = 500
_LONGEST_LINE = 2_000
MAX_TALK = 20
_LONGEST_TALK = 8_000


class ShellSession(msgspec.Struct, kw_only=True):
    """A session of one person, or of an agent that acts for a person or for itself."""

    tenant: str
    user: str
    """The person it belongs to, or that its agent acts for."""
    agent: str = ""
    """The agent it belongs to; empty when it is the person's own."""
    id: str
    room: str
    """The room it was opened in, the only one it can be used in; empty: outside rooms."""
    cwd: str = START_FOLDER
    """The current folder in the virtual file tree."""
    before: str = START_FOLDER
    """The previous folder, for `cd -`."""
    env: dict[str, str] = {}
    aliases: dict[str, str] = {}
    status: int = 0
    """The exit code of the last line, which is `$?`."""
    history: list[str] = []
    """The typed lines, oldest first, without secrets."""
    talk: list[tuple[str, str]] = []
    """Requests to the keeper and its answers, oldest first."""
    requests: list[str] = []
    """The calls of those requests; `undo that` undoes what the keeper changed in them."""
    lost: list[str] = []
    """Secret variables; they are not stored, so their values are lost after a restart."""
    created_at: float = 0.0
    used_at: float = 0.0

    @property
    def home(self) -> str:
        """The folder that `~` stands for."""
        return f"/home/{self.user}"

    @property
    def mounts(self) -> dict[str, str]:
        """The top-level folders of the virtual file tree, each with a description."""
        return {
            "/workspace": "the files of the workspace",
            self.home: f"the folder {self.home[1:]} of the workspace",
            "/tmp": "the folder tmp of the workspace",  # noqa: S108 - a name in our own tree
            "/data": "the collections, with records as files",
            "/system": "the state of the server, and its commands",
            "/proc": "your executions",
        }

    def get_variable(self, name: str) -> str | None:
        """The value of `$name`; None when it is not set."""
        given = {"HOME": self.home, "PWD": self.cwd, "OLDPWD": self.before, "USER": self.agent or self.user}
        return self.env.get(name, given.get(name))

    @property
    def secrets(self) -> list[str]:
        """The values that must not appear in anything recorded."""
        return [value for name, value in self.env.items() if value and is_secret(name)]

    def set_variable(self, name: str, value: str) -> None:
        """Set a variable, within the limits of a session."""
        if len(value) > _LONGEST_VALUE:
            raise BadParams(
                f"A variable has at most {_LONGEST_VALUE} characters; {name} would have {len(value)}.",
                hint="Write long text into a file.",
            )
        _check_limits("variables", {**self.env, name: value})
        self.env[name] = value
        self.lost = [one for one in self.lost if one != name]

    def unset_variable(self, name: str) -> None:
        self.env.pop(name, None)
        self.lost = [one for one in self.lost if one != name]

    def set_alias(self, name: str, text: str) -> None:
        if not name or any(one in name for one in "/$`'\"\\|&;<>() \t\n="):
            raise BadParams(f"An alias name must be one plain word; given {shorten(name)}.")
        if redact_secrets(text, [*self.secrets, *secrets_in_text(text)]) != text:
            raise BadParams(
                f"The alias {name} would contain a secret, and aliases are stored.",
                hint="Set a variable and use it in the alias, in single quotes: alias name='command $VARIABLE'.",
            )
        _check_limits("aliases", {**self.aliases, name: text})
        self.aliases[name] = text

    def add_history(self, line: str) -> None:
        """Add a line to the history, without secrets; the oldest lines are dropped."""
        shown = redact.speech(redact_secrets(line.strip(), [*self.secrets, *secrets_in_text(line)]))[:_LONGEST_LINE]
        if shown and (not self.history or self.history[-1] != shown):
            self.history.append(shown)
            del self.history[:-MAX_HISTORY]

    def add_request(self, call: str) -> None:
        """Remember the call of a request to the keeper."""
        self.requests.append(call)
        del self.requests[:-MAX_TALK]

    def add_talk(self, asked: str, answered: str) -> None:
        """Remember a request to the keeper and its answer, as context for the next request."""
        told = [redact.speech(redact_secrets(one, self.secrets))[:_LONGEST_TALK] for one in (asked, answered)]
        self.talk.append((told[0], told[1]))
        del self.talk[:-MAX_TALK]


def _check_limits(what: str, held: dict[str, str]) -> None:
    if len(held) > _MOST_NAMES:
        raise BadParams(f"A session has at most {_MOST_NAMES} {what}; unset one first.")
    if sum(len(name) + len(value) for name, value in held.items()) > _MOST_BYTES:
        raise BadParams(f"All {what} of a session have at most {_MOST_BYTES} characters together; unset one first.")
