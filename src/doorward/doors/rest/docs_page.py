"""`/docs`: the OpenAPI document as an HTML page, without scripts or external resources."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from doorward.doors.http import problems
from doorward.doors.http.problems import HTTP_STATUS
from doorward.doors.rest.operation import render_curl

STYLE = """
:root { color-scheme: light dark; --line: #d5d8dd; --soft: #f3f4f6; --word: #1a1d21; --quiet: #5a6270; --mark: #0b5cad }
@media (prefers-color-scheme: dark) {
  :root { --line: #3a4048; --soft: #22262c; --word: #e8eaed; --quiet: #a3abb8; --mark: #7ab8ff }
  body { background: #16181c }
}
* { box-sizing: border-box }
body { margin: 0; color: var(--word); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
main, header, nav { max-width: 62rem; margin: 0 auto; padding: 0 1rem }
h1 { margin: 1.5rem 0 .25rem } h2 { margin: 2.5rem 0 .5rem; border-bottom: 1px solid var(--line) }
h3 { margin: 1.75rem 0 .25rem; font-size: 1rem } p { margin: .4rem 0 }
a { color: var(--mark) } nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: 0; list-style: none }
code, pre { font: .875rem/1.45 ui-monospace, monospace } code { background: var(--soft); padding: 0 .2em }
pre { background: var(--soft); border: 1px solid var(--line); padding: .6rem; overflow-x: auto; white-space: pre }
pre code { background: none; padding: 0 }
.method { font-weight: 700; color: var(--mark) } .quiet { color: var(--quiet) }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-size: .9rem }
th, td { text-align: left; vertical-align: top; padding: .3rem .5rem; border-bottom: 1px solid var(--line) }
td:first-child { white-space: nowrap }
@media (max-width: 40rem) {
  h1 { font-size: 1.5rem } thead { display: none } tr { display: block; border-bottom: 1px solid var(--line) }
  td { display: inline-block; border: 0; padding: .15rem .4rem .15rem 0 } td:last-child { display: block }
}
"""


_CODE = re.compile("`([^`]+)`")
_SERVER_PLACEHOLDER = "{here}"
"""Placeholder for the server's URL, filled in from each request."""


class DocsPage:
    """The page, rendered once."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.html = "".join(_render_page(document))
        digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
        nothing = "; ".join(f"{kind} 'none'" for kind in ("default-src", "base-uri", "form-action", "frame-ancestors"))
        self._policy = f"{nothing}; style-src 'sha256-{digest}'"

    async def respond(self, request: Request) -> Response:
        headers = {
            "Content-Security-Policy": self._policy,
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-cache",
        }
        here = f"{request.url.scheme}://{request.headers.get('host', '')}"
        return Response(self.html.replace(_SERVER_PLACEHOLDER, escape(here)), 200, headers, "text/html")


def _render_page(document: Mapping[str, Any]) -> Iterator[str]:
    title, tags = document["info"]["title"], document["tags"]
    yield (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}: REST</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>'
        f"<header><h1>{title} over REST</h1><p>{escape(document['info']['description'])} "
        f'Version {document["info"]["version"]}; for programs: <a href="/openapi.json">openapi.json</a>.</p>'
        "</header><nav aria-label='Parts'><ul>"
    )
    for tag in tags:
        yield f'<li><a href="#{tag["name"]}">{tag["name"]}</a></li>'
    yield '<li><a href="#problems">problems</a></li></ul></nav><main>'
    yield from _render_intro()
    operations = [
        (method.upper(), path, one) for path, methods in document["paths"].items() for method, one in methods.items()
    ]
    for tag in tags:
        yield f'<h2 id="{tag["name"]}">{tag["name"]}</h2><p>{escape(tag["description"])}.</p>'
        for method, path, one in operations:
            if tag["name"] in one["tags"]:
                yield from _render_operation(method, path, one, document)
    yield from _render_problems()
    yield "</main></body></html>"


def _render_intro() -> Iterator[str]:
    yield "<h2>Get started</h2><p>Create a token on the machine that runs Doorward, and send it with each request:</p>"
    yield _render_code(
        "TOKEN=$(doorward token create laptop --kind human --access edit --json | jq -r .result.token)\n"
        f'curl -H "Authorization: Bearer $TOKEN" {_SERVER_PLACEHOLDER}/api/me'
    )
    yield (
        "<p>A call that is done returns 200 or 201. A call that waits for approval returns 202 and a ticket. When it "
        "is approved, send <code>POST /api/run</code> with the ticket. A call that is refused or failed returns a "
        '<a href="#problems">problem</a>. Agents and programs must name their <code>room</code>.</p>'
    )


def _render_operation(method: str, path: str, one: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    yield f'<section><h3 id="{one["operationId"]}"><span class="method">{method}</span> '
    yield f"<code>{escape(path)}</code></h3><p>{escape(one['summary'])}.</p>"
    if "description" in one:
        yield f'<p class="quiet">{_render_text(one["description"])}</p>'
    rows = [
        (
            spec["name"],
            spec["in"],
            spec.get("schema") or spec["content"]["application/json"]["schema"],
            spec["required"],
        )
        for spec in one["parameters"]
    ]
    body = _body_schema(one, document)
    required = body.get("required", [])
    rows += [(name, "body", spec, name in required) for name, spec in body.get("properties", {}).items()]
    if rows:
        yield _open_table("name", "in", "type", "description")
        for name, where, spec, needed in rows:
            said = next((p.get("description", "") for p in one["parameters"] if p["name"] == name), "")
            words = _render_text(str(spec.get("description") or said))
            mark = " <strong>required</strong>" if needed else ""
            yield f"<tr><td><code>{escape(name)}</code></td><td>{where}</td><td>{escape(_type_name(spec))}</td>"
            yield f"<td>{words}{mark}</td></tr>"
        yield "</tbody></table></div>"
    yield _render_code(render_curl(method, path, one, body, _SERVER_PLACEHOLDER))
    yield "</section>"


def _body_schema(one: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of an operation's body, resolved from the components."""
    content = one.get("requestBody", {}).get("content", {})
    schema: Mapping[str, Any] = next(iter(content.values()))["schema"] if content else {}
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema


def _type_name(spec: Mapping[str, Any]) -> str:
    if "enum" in spec:
        return " | ".join(str(one) for one in spec["enum"])
    if "anyOf" in spec:
        return " | ".join(_type_name(one) for one in spec["anyOf"])
    return str(spec.get("type", "any"))


def _render_problems() -> Iterator[str]:
    yield '<h2 id="problems">problems</h2><p>Problem details (RFC 9457). The code names the kind of problem.</p>'
    yield _open_table("code", "status", "meaning")
    rows = [(code, HTTP_STATUS[code], title) for code, title in problems.PROBLEM_TITLES.items()]
    rows += [(one.code, one.status, one.title) for one in problems.HTTP_PROBLEMS.values()]
    for code, status, title in rows:
        yield f'<tr id="{code}"><td><code>{code}</code></td><td>{status}</td><td>{escape(title)}.</td></tr>'
    yield "</tbody></table></div>"


def _open_table(*heads: str) -> str:
    cells = "".join(f"<th>{head}</th>" for head in heads)
    return f'<div class="wide"><table><thead><tr>{cells}</tr></thead><tbody>'


def _render_text(text: str) -> str:
    """Escape a sentence, and show text in backticks as code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _render_code(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>"
