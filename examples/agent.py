"""An agent without a model: it reads a request in words, picks tools for it, fills in their arguments, and explains.

    USHELL_MCP_ENABLED=1 doorward up
    python examples/agent.py "Find all Python files and show their sizes"

What a model would do by thinking is done by a few rules here, so that everything can be followed: discover the tools,
plan steps, choose a tool for each step by what the tools say of themselves, run it, and feed its output into the next.
Doorward judges each call, as it does for every agent; what it does not allow, or asks a person about, is told.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from line_client import LineClient, LineError, arguments

KINDS = {"python": "*.py", "text": "*.txt", "markdown": "*.md", "json": "*.json", "log": "*.log"}
WORDS = re.compile(r"[a-z0-9]+")
SMALL_WORDS = frozenset(
    WORDS.findall(
        "a about all an and any are at be by can could current do does for from get give has have here how i in is it "
        "its many me much my now of on or please s show tell that the their there these this to us want what where "
        "which who will with would you your"
    )
)
"""Words that say nothing of what is wanted."""
NO_FOLDERS = frozenset(WORDS.findall("all current here it my order that the this total which"))
"""Words that stand behind "in" without naming a folder."""
ENOUGH = 0.5
"""How much of a request a tool must speak of before it is run for it: half of its words that say something."""
Say = Callable[[str], None]


@dataclass
class Step:
    """One thing to do: what for, in the words that tools describe themselves with, and the arguments for it."""

    purpose: str
    needs: tuple[str, ...]
    """Parameters without which a tool is of no use here."""
    args: dict[str, Any] = field(default_factory=dict)
    feeds: str = ""
    """The parameter that takes the lines that the step before gave."""


class Agent:
    def __init__(self, client: LineClient, say: Say = print, wait: float = 0.0) -> None:
        self.client = client
        self.say = say
        self.wait = wait
        """How many seconds to wait for a person's approval."""
        self.tools = {tool["name"]: tool for tool in client.tools()}
        self.failed = False
        """Whether the last request was not carried out."""

    def do(self, request: str) -> str:
        """Carry out one request; the answer, as far as there is one."""
        self.failed = False
        self.say(f"Request: {request}")
        steps = plan(request)
        if not steps:
            return self.suggested(request)
        lines: list[str] = []
        for number, step in enumerate(steps, 1):
            if step.feeds:
                if not lines:
                    return self.answer("Nothing was found, so there is nothing more to do.")
                step.args[step.feeds] = lines
            tool = self.choose(step)
            if tool is None:
                return self.give_up(f"No tool here is good for: {step.purpose}.")
            self.say(f"Step {number}: {tool}, to {step.purpose}; arguments {step.args}")
            output = self.run(tool, step.args)
            if output is None:
                return self.give_up("The request could not be carried out.")
            lines = [line for line in output.splitlines() if line.strip()]
        return self.answer("\n".join(lines) or "There is nothing.")

    def choose(self, step: Step) -> str | None:
        """The tool whose own words have most in common with the purpose, among those that take what is needed."""
        wanted = set(WORDS.findall(step.purpose))
        fitting = [
            (len(wanted & told(tool)), tool["metadata"]["popular"], name)
            for name, tool in self.tools.items()
            if all(need in tool["inputSchema"]["properties"] for need in step.needs)
        ]
        return max(fitting)[2] if fitting and max(fitting)[0] else None

    def run(self, tool: str, args: dict[str, Any]) -> str | None:
        """What a tool gives, or None once it is clear that it gives nothing; why is said."""
        try:
            return str(self.client.call(tool, **args)["output"])
        except LineError as error:
            if error.code == "approval_needed":
                return self.approved(tool, error)
            self.say(f"  {tool} did not work ({error.code}): {error}")
            if error.code == "bad_params" and (places := outside(args)):
                self.say(f"  The workspace is all that I may touch, and {', '.join(places)} is not in it.")
            return None

    def approved(self, tool: str, parked: LineError) -> str | None:
        """What was parked runs only when a person agrees; the agent can do no more than wait."""
        ticket = parked.error["ticket"]
        self.say(
            f"  {tool} changes things, and a person decides: `doorward approvals show {ticket}` shows it, "
            f"and `doorward approvals approve {ticket}` says yes."
        )
        until = time.monotonic() + self.wait
        while time.monotonic() < until:
            try:
                result = self.client.resume(ticket)
            except LineError as error:
                if error.code != "not_approved" or "still waiting" not in str(error):
                    self.say(f"  It was not done: {error}")
                    return None
                time.sleep(0.5)
            else:
                self.say("  A person agreed.")
                return str(result["output"] or f"{tool} is done.")
        self.say("  Nobody has decided yet, so nothing was changed.")
        return None

    def suggested(self, request: str) -> str:
        """For what no rule covers: Doorward's own suggestion, run only when it fits and changes nothing."""
        suggestion = self.client.call("suggest_command", query=request).get("data") or {}
        if fit(request, self.tools.get(suggestion.get("tool", ""))) < ENOUGH:
            return self.give_up(f"I know no tool for this: {request}")
        self.say(f"I have no plan for this; Doorward suggests: {suggestion['suggestion']}")
        if self.tools[suggestion["tool"]]["metadata"]["effects"] != ["read"]:
            return self.give_up(f"It would change something, so I only tell you of it. {suggestion['explanation']}")
        output = self.run(suggestion["tool"], suggestion["args"])
        return self.give_up(suggestion["explanation"]) if output is None else self.answer(output)

    def answer(self, text: str) -> str:
        self.say(f"Answer:\n{text}\n")
        return text

    def give_up(self, text: str) -> str:
        self.failed = True
        return self.answer(text)


def plan(request: str) -> list[Step]:
    """The steps that a request means, or none when no rule fits."""
    text = request.lower()
    kind = next((pattern for word, pattern in KINDS.items() if re.search(rf"\b{word}\b", text)), None)
    where = place(request)
    looking = Step(
        "find files by name, type, size and time", ("paths", "name", "mtime"), {"paths": [where], "type": "f"}
    )
    if kind:
        looking.args["name"] = kind
    age = re.search(r"older than (\d+) days?", text)
    if age:
        looking.args["mtime"] = f"+{age[1]}"
    if re.search(r"\b(delete|remove)\b", text):
        return [looking, Step("remove files and folders", ("paths", "recursive", "force"), feeds="paths")]
    if re.search(r"\bfiles?\b", text) and (kind or age):
        if re.search(r"\bsizes?\b|\bhow (large|big)\b", text):
            sizes = Step(
                "show all that is known of files: size", ("files", "format"), {"format": "%s %n"}, feeds="files"
            )
            return [looking, sizes]
        return [looking]
    if re.search(r"\b(time|date|day)\b", text):
        return [Step("print the time, or work with dates", ("utc", "format"))]
    changes = re.search(r"\b(create|make|copy|move|rename|write)\b", text)
    if not changes and re.search(r"\bwhat'?s in\b|\blist\b|\bdirectory\b|\bfolder\b", text):
        return [Step("list the entries of folders, or show files", ("paths", "long"), {"paths": [where], "long": True})]
    return []


def place(request: str) -> str:
    """The folder that a request speaks of. An agent's home, and where it stands, are both the workspace."""
    named = re.search(r"(?<!\w)(/[\w./-]+|\w[\w.-]*/[\w./-]*)", request)
    if named:
        return named[1].rstrip(".")
    behind_in = [name for name in re.findall(r"\bin (?:the )?([\w.-]*\w)", request) if name.lower() not in NO_FOLDERS]
    return behind_in[0] if behind_in else "."


def outside(args: dict[str, Any]) -> list[str]:
    """The places among arguments that can lie outside of the workspace."""
    return [place for place in args.get("paths", []) if place.startswith(("/", ".."))]


def fit(request: str, tool: dict[str, Any] | None) -> float:
    """How much of what a request says a tool says of itself, too: from 0 for nothing to 1 for all of it."""
    wanted = meaning(WORDS.findall(request.lower()))
    return len(wanted & meaning(told(tool))) / len(wanted) if wanted and tool else 0.0


def meaning(words: Iterable[str]) -> set[str]:
    """The words that say something, so that one line and many lines are the same."""
    return {word.removesuffix("s") for word in words if word not in SMALL_WORDS}


def told(tool: dict[str, Any]) -> set[str]:
    """The words that a tool says of itself."""
    about = tool["metadata"]
    return set(WORDS.findall(f"{tool['name']} {tool['description']} {' '.join(about['examples'])}".lower()))


def main() -> int:
    parser = arguments("Carry out a request in words with the tools of the line door.")
    parser.add_argument("request", nargs="+", help="what you want, in words")
    parser.add_argument("--wait", type=float, default=0.0, help="seconds to wait for a person's approval")
    given = parser.parse_args()
    request = " ".join(given.request).strip()
    if not request:
        parser.error('give a request in words, such as "What\'s in my home directory?"; nothing was given')
    try:
        with LineClient(given.host, given.port, token=given.token) as client:
            agent = Agent(client, wait=given.wait)
            agent.do(request)
            return 1 if agent.failed else 0
    except (OSError, LineError) as error:
        print(f"The line door on {given.host}:{given.port} did not serve this: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
