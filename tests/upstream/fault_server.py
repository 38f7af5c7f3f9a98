"""An MCP server over standard streams that misbehaves as it is told: one misbehaviour per option, and none without.

It stands on the standard library alone, so that any Python starts it, inside the sandbox as well. Its tools are `echo`,
which answers with the text it is given, and whatever the options add. Run it with `--help` for the list.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--era", choices=["handshake", "stateless", "both"], default="handshake", help="which era it speaks")
    add("--version", default="2025-11-25", help="the version that it wants to speak after a handshake")
    add("--name", default="echo", help="the name of its first tool")
    add("--describe", default="", help="a file whose text is the description of that tool, read for each list")
    add("--tools-from", default="", help="a file with the names of its tools, one a line, read for each list")
    add("--tools", type=int, default=0, help="so many tools beside the first")
    add("--page", type=int, default=0, help="tools on one page of the list; 0 means all on one")
    add("--repeat-cursor", action="store_true", help="every page leads to the same next one")
    add("--list-garbage", action="store_true", help="what it lists is no list")
    add("--same-name", action="store_true", help="two tools under one name, and one that is no object")
    add("--mute", action="store_true", help="never answers anything")
    add("--dies-of-discover", action="store_true", help="ends when it is asked in the newer era")
    add("--no-answer", action="store_true", help="never answers a call, and answers everything else")
    add("--no-ping", action="store_true", help="never answers a ping")
    add("--garbage", action="store_true", help="answers a call with what is no JSON")
    add("--bad-answer", action="store_true", help="answers a call with JSON that is no answer")
    add("--banner", action="store_true", help="writes lines for people on its output, before everything and in calls")
    add("--nonsense", action="store_true", help="writes lines without end when called")
    add("--chatter", type=int, default=0, help="so many notifications before the answer to a call")
    add("--twice", action="store_true", help="answers every call twice")
    add("--other-id", action="store_true", help="answers a call under the id of another")
    add("--error", action="store_true", help="answers every call with an error")
    add("--flood", type=int, default=0, help="writes one line of so many bytes when called")
    add("--large", type=int, default=0, help="answers a call with a text of so many bytes")
    add("--die", action="store_true", help="ends in the middle of a call, with code 3")
    add("--die-once", default="", help="the same, unless this file is there; it makes the file")
    add("--exit", type=int, default=None, help="ends at once, with this code")
    add("--complain", default="", help="writes this on its standard error first")
    add("--complain-much", type=int, default=0, help="so many lines on its standard error when called")
    add("--ignore-term", action="store_true", help="ignores SIGTERM, and the end of its input")
    add("--grandchild", action="store_true", help="leaves a process behind that has left its session")
    add("--deaf", action="store_true", help="stops reading after it has listed its tools")
    add("--close-output", action="store_true", help="closes its output when called, and lives on")
    add("--progress", type=int, default=0, help="so many steps of progress in a call")
    add("--log", action="store_true", help="logs a line in a call")
    add("--ask", default="", choices=["", "form", "url", "sampling", "roots"], help="asks in the middle of a call")
    add("--ask-forever", action="store_true", help="is never content with what it is told")
    add("--ask-twice-as-long", action="store_true", help="asks, in the newer era, for a little time first")
    add("--change", action="store_true", help="says in a call that its list of tools changed")
    add("--show", default="", help="the value of this variable of its environment is what it says in errors")
    add("--report-cancelled", action="store_true", help="its resource is which calls it heard and which were cancelled")
    add("--resources", action="store_true", help="has a resource, a template and a prompt")
    return parser.parse_args()


class Server:
    def __init__(self, told: argparse.Namespace) -> None:
        self.told = told
        self.lines = iter(sys.stdin.buffer.readline, b"")
        self.asked = 0
        self.stream: Any = None
        self.greeted = False
        self.called: list[Any] = []
        self.cancelled: list[Any] = []

    def send(self, message: dict[str, Any]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n")

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(1, rest) :]

    def answer(self, id: Any, result: dict[str, Any], modern: bool) -> None:
        self.send({"id": id, "result": {**({"resultType": "complete"} if modern else {}), **result}})

    def fail(self, id: Any, code: int, message: str, data: Any = None) -> None:
        self.send({"id": id, "error": {"code": code, "message": message, **({"data": data} if data else {})}})

    def run(self) -> None:
        for line in self.lines:
            self.take(json.loads(line))

    def take(self, message: dict[str, Any]) -> None:
        told, method, id = self.told, message.get("method"), message.get("id")
        params = message.get("params") or {}
        modern = f"{PREFIX}protocolVersion" in (params.get("_meta") or {})
        if told.mute or id is None or method is None:
            if method == "notifications/cancelled":
                self.cancelled.append(params.get("requestId"))
            return
        if modern and told.dies_of_discover:
            os._exit(9)
        if modern and told.era == "handshake":
            self.fail(id, -32602, "Invalid request parameters")
        elif not modern and told.era == "stateless":
            self.fail(id, -32022, "Unsupported protocol version", {"supported": [MODERN], "requested": "?"})
        elif method == "tools/call":
            self.call(id, params, modern)
        elif method == "subscriptions/listen":
            self.stream = id
            self.send({"method": "notifications/subscriptions/acknowledged", "params": self.tagged(params)})
        else:
            self.other(id, method, params, modern)

    def tagged(self, params: dict[str, Any]) -> dict[str, Any]:
        wanted = {"notifications": params["notifications"]} if "notifications" in params else {}
        return {"_meta": {f"{PREFIX}subscriptionId": self.stream}, **wanted}

    def other(self, id: Any, method: str, params: dict[str, Any], modern: bool) -> None:
        told = self.told
        capabilities: dict[str, Any] = {"tools": {"listChanged": True}, "logging": {}, "completions": {}}
        if told.resources:
            capabilities |= {"resources": {"subscribe": True, "listChanged": True}, "prompts": {"listChanged": True}}
        about = {"name": "fault", "version": "1"}
        if method == "server/discover":
            versions = [MODERN] if told.era == "stateless" else [MODERN, "2025-11-25"]
            meta = {f"{PREFIX}serverInfo": about}
            more = {"ttlMs": 0, "cacheScope": "private", "instructions": "Be kind."}
            self.answer(
                id, {"supportedVersions": versions, "capabilities": capabilities, "_meta": meta, **more}, modern
            )
        elif method == "initialize":
            result = {"protocolVersion": told.version, "capabilities": capabilities, "serverInfo": about}
            self.answer(id, {**result, "instructions": "Be kind."}, modern)
        elif method == "tools/list":
            self.answer(id, self.tools(params), modern)
            if told.deaf:
                while True:
                    time.sleep(60)
        elif method == "resources/list":
            self.answer(id, {"resources": [{"uri": "test://one", "name": "one"}]}, modern)
        elif method == "resources/templates/list":
            template = {"uriTemplate": "test://{which}", "name": "any"}
            self.answer(id, {"resourceTemplates": [template]}, modern)
        elif method == "prompts/list":
            self.answer(id, {"prompts": [{"name": "greet", "arguments": [{"name": "who"}]}]}, modern)
        elif method == "resources/read":
            text = f"text of {params['uri']}"
            if told.report_cancelled:
                text = json.dumps({"called": self.called, "cancelled": self.cancelled})
            self.answer(id, {"contents": [{"uri": params["uri"], "text": text}]}, modern)
        elif method in ("resources/subscribe", "resources/unsubscribe"):
            self.answer(id, {}, modern)
        elif method == "prompts/get":
            text = f"hello {params.get('arguments', {}).get('who', '')}"
            self.answer(id, {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}, modern)
        elif method == "completion/complete":
            self.answer(id, {"completion": {"values": [f"{params['argument']['value']}!"]}}, modern)
        elif method == "ping" and not modern:
            if not told.no_ping:
                self.answer(id, {}, modern)
        else:
            self.fail(id, -32601, "Method not found")

    def tools(self, params: dict[str, Any]) -> dict[str, Any]:
        told = self.told
        if told.list_garbage:
            return {"tools": "many"}
        names = [told.name, *(f"tool_{number:05}" for number in range(told.tools))]
        if told.tools_from:
            with open(told.tools_from) as file:
                names = file.read().split()
        described = "Says what it is told."
        if told.describe:
            with open(told.describe) as file:
                described = file.read()
        schema = {"type": "object", "properties": {"text": {"type": "string", "description": "What to say"}}}
        tools: list[Any] = [{"name": name, "description": described, "inputSchema": schema} for name in names]
        if told.same_name:
            tools += [{"name": "same", "inputSchema": schema}, {"name": "same", "inputSchema": {}}, 7, {"name": "bare"}]
        if not told.page:
            return {"tools": tools}
        start = 0 if told.repeat_cursor else int(params.get("cursor") or 0)
        following = start + told.page
        page: dict[str, Any] = {"tools": tools[start:following]}
        if told.repeat_cursor or following < len(tools):
            page["nextCursor"] = str(following)
        return page

    def call(self, id: Any, params: dict[str, Any], modern: bool) -> None:
        told, token = self.told, (params.get("_meta") or {}).get("progressToken")
        text = str((params.get("arguments") or {}).get("text", ""))
        self.called.append(id)
        if told.no_answer:
            return
        if told.banner:
            self.write(b"Listening to you now!\n")
        if told.complain_much:
            os.write(2, b"".join(b"complaint %d\n" % number for number in range(told.complain_much)))
        for number in range(told.chatter):
            level = "debug"
            self.send({"method": "notifications/message", "params": {"level": level, "data": f"line {number}"}})
        while told.nonsense:
            self.write(b"nonsense\n" * 1_000)
        if told.die or (told.die_once and not os.path.exists(told.die_once)):
            if told.die_once:
                with open(told.die_once, "w"):
                    pass
            os._exit(3)
        if told.close_output:
            os.close(1)
            while True:
                time.sleep(60)
        for step in range(told.progress):
            about = {
                "progressToken": token,
                "progress": step + 1,
                "total": told.progress,
                "message": f"step {step + 1}",
            }
            self.send({"method": "notifications/progress", "params": about})
        if told.log:
            self.send({"method": "notifications/message", "params": {"level": "warning", "data": "mind the gap"}})
        if told.change:
            tagged = {"params": self.tagged({})} if modern else {}
            self.send({"method": "notifications/tools/list_changed", **tagged})
        if told.flood:
            self.flood(told.flood)
        if told.ask:
            given = self.ask(id, params, modern)
            if given is None:
                return
            text = given
        self.finish(id, text, modern)

    def flood(self, size: int) -> None:
        piece = b"x" * 65_536
        while size > 0:
            self.write(piece[:size])
            size -= len(piece)

    def ask(self, id: Any, params: dict[str, Any], modern: bool) -> str | None:
        """What came of asking, as text; None when the newer era's question was sent as the answer to the call."""
        told = self.told
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        message = {"role": "user", "content": {"type": "text", "text": "What is it?"}}
        method, about = {
            "form": ("elicitation/create", {"mode": "form", "message": "Who are you?", "requestedSchema": schema}),
            "url": ("elicitation/create", {"mode": "url", "message": "Look there", "url": "https://example.com/"}),
            "sampling": ("sampling/createMessage", {"messages": [message], "maxTokens": 10}),
            "roots": ("roots/list", {}),
        }[told.ask]
        if modern:
            if told.ask_twice_as_long and "requestState" not in params:
                self.send({"id": id, "result": {"resultType": "input_required", "requestState": "wait"}})
                return None
            if "inputResponses" not in params or told.ask_forever:
                wanted = {"who": {"method": method, "params": about}}
                self.send(
                    {"id": id, "result": {"resultType": "input_required", "inputRequests": wanted, "requestState": "s"}}
                )
                return None
            return json.dumps({"state": params.get("requestState"), **params["inputResponses"]["who"]}, sort_keys=True)
        self.asked += 1
        self.send({"id": f"q{self.asked}", "method": method, "params": about})
        for line in self.lines:
            message_ = json.loads(line)
            if message_.get("id") == f"q{self.asked}" and "method" not in message_:
                return json.dumps(message_.get("result") or message_.get("error"), sort_keys=True)
        return None

    def finish(self, id: Any, text: str, modern: bool) -> None:
        told = self.told
        if told.show:
            return self.fail(id, -32000, f"it went wrong with {os.environ.get(told.show)}")
        if told.error:
            return self.fail(id, -32602, "Unknown tool")
        if told.garbage:
            return self.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[NaN}\n' % id)
        if told.bad_answer:
            return self.send({"id": id, "result": "fine"})
        if told.large:
            text = "x" * told.large
        result = {"content": [{"type": "text", "text": text}]}
        if told.other_id:
            return self.answer(id + 1_000, result, modern)
        self.answer(id, result, modern)
        if told.twice:
            self.answer(id, result, modern)
        return None


def main() -> None:
    told = options()
    if told.complain:
        os.write(2, told.complain.encode() + b"\n")
    if told.exit is not None:
        os._exit(told.exit)
    if told.banner:
        os.write(1, b"Welcome to the fault server\n\n")
    if told.grandchild:
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
    if told.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Server(told).run()
    while told.ignore_term:
        time.sleep(60)


main()
