"""Media types in Accept, Content-Type and Content-Encoding headers."""

from __future__ import annotations

_UTF_8 = frozenset({"", "utf-8", "utf8"})


def liking(accept: str, kind: str) -> float:
    """The quality (0 to 1) that an Accept header gives a media type. The most specific range counts; an empty header
    accepts everything."""
    if not accept.strip():
        return 1.0
    liked = [_range(part) for part in accept.split(",")]
    for form in (kind, f"{kind.partition('/')[0]}/*", "*/*"):
        found = [weight for named, weight in liked if named == form]
        if found:
            return max(found)
    return 0.0


def plain(content_type: str) -> str:
    """The media type of a Content-Type header, without parameters."""
    return content_type.partition(";")[0].strip().lower()


def is_utf_8(content_type: str) -> bool:
    """Whether a Content-Type header names UTF-8 or no charset."""
    options = (part.partition("=") for part in content_type.split(";")[1:])
    return all(
        value.strip().strip('"').lower() in _UTF_8 for name, _, value in options if name.strip().lower() == "charset"
    )


def is_encoded(content_encoding: str) -> bool:
    """Whether a Content-Encoding header says that the body is compressed or otherwise encoded."""
    return content_encoding.strip().lower() not in ("", "identity")


def _range(text: str) -> tuple[str, float]:
    """One range of an Accept header, with its quality."""
    kind, *options = [part.strip().lower() for part in text.split(";")]
    weight = next((option[2:] for option in options if option.startswith("q=")), "1")
    try:
        return kind, min(1.0, max(0.0, float(weight)))
    except ValueError:
        return kind, 0.0
