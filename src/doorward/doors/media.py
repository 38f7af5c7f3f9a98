"""Media types in headers: how much a client likes one in its answer, and whether a body comes in one that is read."""

from __future__ import annotations

_UTF_8 = frozenset({"", "utf-8", "utf8"})


def liking(accept: str, kind: str) -> float:
    """How much an Accept header likes a media type, from 0 to 1: the most exact part that names it counts. One that
    says nothing takes all."""
    if not accept.strip():
        return 1.0
    liked = [_range(part) for part in accept.split(",")]
    for form in (kind, f"{kind.partition('/')[0]}/*", "*/*"):
        found = [weight for named, weight in liked if named == form]
        if found:
            return max(found)
    return 0.0


def plain(content_type: str) -> str:
    """The media type that a Content-Type header names, without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def is_utf_8(content_type: str) -> bool:
    """Whether a Content-Type header leaves its body in UTF-8, as JSON is."""
    options = (part.partition("=") for part in content_type.split(";")[1:])
    return all(
        value.strip().strip('"').lower() in _UTF_8 for name, _, value in options if name.strip().lower() == "charset"
    )


def is_encoded(content_encoding: str) -> bool:
    """Whether a Content-Encoding header says that a body comes compressed, or otherwise not as it is."""
    return content_encoding.strip().lower() not in ("", "identity")


def _range(text: str) -> tuple[str, float]:
    """One part of an Accept header: which formats, and how much they are liked."""
    kind, *options = [part.strip().lower() for part in text.split(";")]
    weight = next((option[2:] for option in options if option.startswith("q=")), "1")
    try:
        return kind, min(1.0, max(0.0, float(weight)))
    except ValueError:
        return kind, 0.0
