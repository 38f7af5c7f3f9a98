"""An MCP server over standard streams with a little of everything, for tests of what passes through our own door.

It stands on the standard library alone, so that any Python starts it, inside the sandbox as well. It speaks the era of
sessions, or with `--stateless` the newer one.
"""

from __future__ import annotations

import json
import sys
from typing import Any

MODERN = "--stateless" in sys.argv
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ANY = {"type": "object", "properties": {}}
TEXT = {"type": "string"}
EITHER = {
    "type": "object",
    "properties": {"id": TEXT, "name": TEXT, "$filter": TEXT},
    "anyOf": [{"required": ["id"]}, {"required": ["name"]}],
    "additionalProperties": False,
}
KINDS = {
    "$ref": "#/$defs/kinds",
    "$defs": {
        "kinds": {
            "oneOf": [
                {"properties": {"kind": {"const": "a"}, "size": {"type": "integer"}}, "required": ["kind", "size"]},
                {"properties": {"kind": {"const": "b"}, "color": TEXT}, "required": ["kind"]},
            ]
        }
    },
    "required": ["unsaid"],
    "if": {"properties": {"color": True}, "required": ["color"]},
    "then": {"properties": {"shade": TEXT}},
    "not": {"required": ["nothing"]},
}
GIVES = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": "hello", "annotations": {"audience": ["user"]}, "_meta": {"example.com/k": 1}},
    {"type": "image", "data": PIXEL, "mimeType": "image/png"},
    {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "note:///one", "name": "one"},
    {"type": "resource", "resource": {"uri": "note:///two", "mimeType": "text/plain", "text": "two"}},
    {"type": "hologram", "rays": 7},
    {"type": "image", "mimeType": "image/png"},
]
FORM = {"type": "object", "properties": {"name": {"type": "string", "title": "Na\u202eme"}}, "required": ["name"]}


class Peer:
    def __init__(self) -> None:
        self.notes = {"note:///one": "first", "note:///two": "second"}
        self.slow: list[Any] = []
        self.cancelled = 0
        self.subscribed: set[str] = set()
        self.stream: Any = None
        self.ids = 0

    def send(self, **message: Any) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def tell(self, method: str, **params: Any) -> None:
        if self.stream is not None:
            params["_meta"] = {"io.modelcontextprotocol/subscriptionId": self.stream}
        self.send(method=f"notifications/{method}", params=params)

    def answer(self, id: Any, **result: Any) -> None:
        self.send(id=id, result={**({"resultType": "complete"} if MODERN else {}), **result})

    def say(self, id: Any, text: str, **more: Any) -> None:
        self.answer(id, content=[{"type": "text", "text": text}], **more)

    def run(self) -> None:
        for line in sys.stdin:
            self.take(json.loads(line))

    def take(self, message: dict[str, Any]) -> None:
        method, id, params = message.get("method", ""), message.get("id"), message.get("params") or {}
        if method == "notifications/cancelled":
            if params.get("requestId") in self.slow:
                self.cancelled += 1
        elif id is None or not method:
            return
        elif ("io.modelcontextprotocol/protocolVersion" in (params.get("_meta") or {})) is not MODERN:
            self.send(id=id, error={"code": -32601, "message": "Method not found"})
        elif method == "tools/call":
            getattr(self, f"tool_{params['name']}")(id, params.get("arguments") or {}, params)
        elif method == "subscriptions/listen":
            self.stream = id
            self.subscribed = set(params["notifications"].get("resourceSubscriptions", []))
            self.tell("subscriptions/acknowledged", notifications=params["notifications"])
        else:
            self.other(id, method, params)

    def other(self, id: Any, method: str, params: dict[str, Any]) -> None:
        can = {
            "tools": {"listChanged": True},
            "resources": {"subscribe": True, "listChanged": True},
            "prompts": {"listChanged": True},
            "completions": {},
            "logging": {},
        }
        if method == "initialize":
            info = {"name": "peer", "version": "1"}
            self.answer(id, protocolVersion="2025-11-25", capabilities=can, serverInfo=info)
        elif method == "server/discover":
            self.answer(id, supportedVersions=["2026-07-28"], capabilities=can)
        elif method == "tools/list":
            names = sorted(name.removeprefix("tool_") for name in dir(self) if name.startswith("tool_"))
            about: dict[str, Any] = {
                "sums": {"outputSchema": GIVES, "description": "Adds up two pomegranates."},
                "either": {"inputSchema": EITHER},
                "kinds": {"inputSchema": KINDS},
            }
            self.answer(id, tools=[{"name": name, "inputSchema": ANY, **about.get(name, {})} for name in names])
        elif method == "resources/list":
            words = "\u202ewords"
            found = [{"uri": uri, "name": uri[8:], "description": words, "icons": 7} for uri in self.notes]
            self.answer(id, resources=found)
        elif method == "resources/templates/list":
            self.answer(id, resourceTemplates=[{"uriTemplate": "note:///{name}", "name": "note"}])
        elif method == "prompts/list":
            arguments = [{"name": "who", "required": True}]
            self.answer(id, prompts=[{"name": "greet", "arguments": arguments}, {"name": "use"}])
        elif method == "resources/read":
            self.read(id, params["uri"])
        elif method == "prompts/get":
            self.prompt(id, params["name"], params.get("arguments", {}))
        elif method == "completion/complete":
            typed = params["argument"]["value"]
            given = [f"{params['ref']['type']}:{typed}{letter}" for letter in "ab"]
            self.answer(id, completion={"values": given})
        elif method in ("resources/subscribe", "resources/unsubscribe"):
            (self.subscribed.add if method.endswith("/subscribe") else self.subscribed.discard)(params["uri"])
            self.answer(id)
        else:
            self.answer(id)

    def prompt(self, id: Any, name: str, arguments: dict[str, str]) -> None:
        if name == "use":
            self.answer(id, messages=[{"role": "wizard", "content": {"type": "text", "text": "Abracadabra."}}])
        elif "who" not in arguments:
            self.send(id=id, error={"code": -32602, "message": "Whom?"})
        else:
            link = {"type": "resource_link", "uri": "note:///one", "name": "one"}
            hello = {"type": "text", "text": f"Greet {arguments['who']}."}
            said = [{"role": "user", "content": hello}, {"role": "assistant", "content": link}]
            self.answer(id, description="a greeting", messages=said)

    def read(self, id: Any, uri: str) -> None:
        if uri == "note:///large":
            self.answer(id, contents=[{"uri": uri, "text": "x" * 2_000_000}])
        elif uri in self.notes:
            self.answer(id, contents=[{"uri": uri, "mimeType": "text/plain", "text": self.notes[uri]}])
        else:
            self.send(id=id, error={"code": -32002, "message": f"There is no {uri}."})

    def wanted(self, id: Any, params: dict[str, Any], method: str, what: dict[str, Any]) -> dict[str, Any] | None:
        """Ask for something, and give what comes back; None: the client comes again with it."""
        if MODERN:
            responses = params.get("inputResponses")
            if responses is not None:
                assert params["requestState"] == "carried"
                return {"result": responses["it"]}
            requests = {"it": {"method": method, "params": what}}
            self.send(
                id=id, result={"resultType": "input_required", "inputRequests": requests, "requestState": "carried"}
            )
            return None
        self.ids += 1
        asked = f"ask-{self.ids}"
        self.send(id=asked, method=method, params=what)
        for line in sys.stdin:
            message = json.loads(line)
            if message.get("id") == asked:
                return dict(message)
            if message.get("method") == "notifications/cancelled" and message["params"].get("requestId") == id:
                self.cancelled += 1
                return None
            self.take(message)
        return None

    def tool_blocks(self, id: Any, arguments: Any, params: Any) -> None:
        self.answer(id, content=BLOCKS)

    def tool_nothing(self, id: Any, arguments: Any, params: Any) -> None:
        self.answer(id, content=[])

    def tool_either(self, id: Any, arguments: Any, params: Any) -> None:
        self.say(id, json.dumps(arguments))

    tool_kinds = tool_either

    def tool_sums(self, id: Any, arguments: Any, params: Any) -> None:
        self.say(id, '{"sum": 3}', structuredContent={"sum": 3})

    def tool_list(self, id: Any, arguments: Any, params: Any) -> None:
        self.say(id, "[1,2]", structuredContent=[1, 2])

    def tool_fails(self, id: Any, arguments: Any, params: Any) -> None:
        image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
        self.answer(id, content=[{"type": "text", "text": "no paper"}, image], isError=True)

    def tool_large(self, id: Any, arguments: Any, params: Any) -> None:
        data = "A" * arguments["size"]
        image = {"type": "image", "data": data, "mimeType": "image/png"}
        text = {"type": "text", "text": "t" * arguments.get("text", 5)}
        self.answer(id, content=[text, image, *[image] * arguments.get("more", 0)])

    def tool_asks(self, id: Any, arguments: Any, params: Any) -> None:
        what = {"message": "Who\u202e are you?", "requestedSchema": FORM, **arguments}
        said = self.wanted(id, params, "elicitation/create", what)
        if said is not None:
            self.say(id, json.dumps(said.get("result", said.get("error"))))

    def tool_samples(self, id: Any, arguments: Any, params: Any) -> None:
        messages = [{"role": "user", "content": {"type": "text", "text": "say something"}}]
        said = self.wanted(id, params, "sampling/createMessage", {"messages": messages, "maxTokens": 5})
        if said is not None:
            self.say(id, json.dumps(said.get("result", said.get("error"))))

    def tool_logs(self, id: Any, arguments: Any, params: Any) -> None:
        for level in ("debug", "info", "error"):
            self.send(method="notifications/message", params={"level": level, "logger": "x", "data": f"a {level}"})
        self.say(id, "logged")

    def tool_steps(self, id: Any, arguments: Any, params: Any) -> None:
        token = params["_meta"]["progressToken"]
        told = {"progressToken": token, "progress": 1, "total": 4, "message": "a quarter"}
        self.send(method="notifications/progress", params=told)
        self.say(id, "went on")

    def tool_slow(self, id: Any, arguments: Any, params: Any) -> None:
        self.slow.append(id)

    def tool_stopped(self, id: Any, arguments: Any, params: Any) -> None:
        self.say(id, f"{len(self.slow)} begun, {self.cancelled} cancelled")

    def tool_change(self, id: Any, arguments: Any, params: Any) -> None:
        self.notes["note:///one"] = "changed"
        if "note:///one" in self.subscribed:
            self.tell("resources/updated", uri="note:///one")
        self.say(id, f"told of {sorted(self.subscribed)}")

    def tool_grow(self, id: Any, arguments: Any, params: Any) -> None:
        self.notes["note:///new"] = "new"
        self.tell("resources/list_changed")
        self.say(id, "grown")


Peer().run()
