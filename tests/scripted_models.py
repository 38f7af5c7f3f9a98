"""Model servers on loopback that speak the wire protocols of three vendors and answer with the steps of a script."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

DONE = "All steps are done."
TOOL_SEARCH = "tool_search"


class Step(NamedTuple):
    """One tool call of the model, by the client's own name of the tool. A text is a call in free form."""

    tool: str
    input: dict[str, Any] | str
    namespace: str = ""


class ScriptedModel:
    """Asks for each step in turn and then says that it is done. It keeps what the client sent."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps
        self._lock = threading.Lock()
        self._answered = 0
        self.requests: list[dict[str, Any]] = []
        """The requests that offered tools."""

    def answer(self, path: str, body: dict[str, Any]) -> tuple[str, bytes]:
        """The media type and the body of the response."""
        if not body.get("tools"):
            return self.encode(path, body, None, 0)
        with self._lock:
            number = self._answered
            self._answered += 1
            self.requests.append(body)
        return self.encode(path, body, self._steps[number] if number < len(self._steps) else None, number)

    def encode(self, path: str, body: dict[str, Any], step: Step | None, number: int) -> tuple[str, bytes]:
        raise NotImplementedError

    def list_tools(self) -> list[str]:
        """The names of the tools that the client offered first."""
        raise NotImplementedError

    def list_results(self) -> list[str]:
        """The result of each step, as the client sent it to the model, as JSON text."""
        raise NotImplementedError

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        """Serve on a free port, and yield the URL."""
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.respond("application/json", b'{"models": []}')

            def do_HEAD(self) -> None:
                self.respond("application/json", b"")

            def do_POST(self) -> None:
                given = self.rfile.read(int(self.headers.get("content-length") or 0))
                self.respond(*model.answer(self.path, json.loads(given or b"{}")))

            def respond(self, media: str, body: bytes) -> None:
                self.send_response(200)
                self.send_header("content-type", media)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def _encode_events(*events: dict[str, Any]) -> tuple[str, bytes]:
    text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return "text/event-stream", text.encode()


class AnthropicModel(ScriptedModel):
    """The Messages API, as Claude Code speaks it."""

    def encode(self, path: str, body: dict[str, Any], step: Step | None, number: int) -> tuple[str, bytes]:
        if "count_tokens" in path or "messages" not in path:
            return "application/json", b'{"input_tokens": 1}'
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"]}
        if step is None:
            block: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": DONE}
        else:
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": step.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(step.input)}
        reason = "end_turn" if step is None else "tool_use"
        return _encode_events(
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
            {"type": "message_stop"},
        )

    def list_tools(self) -> list[str]:
        return [tool["name"] for tool in self.requests[0]["tools"]]

    def list_results(self) -> list[str]:
        messages = [message["content"] for message in self.requests[-1]["messages"] if message["role"] == "user"]
        blocks = [block for content in messages if isinstance(content, list) for block in content]
        return [json.dumps(block) for block in blocks if block["type"] == "tool_result"]


class OpenAiModel(ScriptedModel):
    """The Responses API, as Codex speaks it."""

    def encode(self, path: str, body: dict[str, Any], step: Step | None, number: int) -> tuple[str, bytes]:
        call = {"id": f"item_{number}", "call_id": f"call_{number}"}
        if step is None:
            item: dict[str, Any] = {"type": "message", "role": "assistant", "id": f"item_{number}"}
            item["content"] = [{"type": "output_text", "text": DONE}]
        elif step.tool == TOOL_SEARCH:
            item = {"type": "tool_search_call", **call, "execution": "client", "arguments": step.input}
        elif isinstance(step.input, str):
            item = {"type": "custom_tool_call", **call, "name": step.tool, "input": step.input}
        else:
            item = {"type": "function_call", **call, "name": step.tool, "arguments": json.dumps(step.input)}
            item |= {"namespace": step.namespace} if step.namespace else {}
        usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None}
        return _encode_events(
            {"type": "response.created", "response": {"id": f"resp_{number}"}},
            {"type": "response.output_item.done", "item": item},
            {"type": "response.completed", "response": {"id": f"resp_{number}", "usage": {**usage, "total_tokens": 2}}},
        )

    def list_tools(self) -> list[str]:
        """The tools that the model found. Codex offers tools of MCP servers only to a search."""
        outputs = [item for item in self.requests[-1]["input"] if item["type"] == "tool_search_output"]
        spaces = [space for output in outputs for space in output["tools"]]
        return [f"{space['name']}{tool['name']}" for space in spaces for tool in space["tools"]]

    def list_results(self) -> list[str]:
        outputs = ("function_call_output", "custom_tool_call_output")
        return [json.dumps(item) for item in self.requests[-1]["input"] if item["type"] in outputs]


class GeminiModel(ScriptedModel):
    """The Gemini API, as Gemini CLI speaks it."""

    def encode(self, path: str, body: dict[str, Any], step: Step | None, number: int) -> tuple[str, bytes]:
        part: dict[str, Any] = {"text": DONE}
        if step is not None:
            part = {"functionCall": {"name": step.tool, "args": step.input}}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        answer = json.dumps({"candidates": [candidate], "usageMetadata": {"totalTokenCount": 2}, "totalTokens": 1})
        if "stream" in path:
            return "text/event-stream", f"data: {answer}\r\n\r\n".encode()
        return "application/json", answer.encode()

    def list_tools(self) -> list[str]:
        return [one["name"] for tool in self.requests[0]["tools"] for one in tool.get("functionDeclarations", [])]

    def list_results(self) -> list[str]:
        parts = [part for content in self.requests[-1]["contents"] for part in content["parts"]]
        return [json.dumps(part) for part in parts if "functionResponse" in part]
