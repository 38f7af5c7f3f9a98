"""Commands data/* and collection/*: system collections, managed collections, and attached databases.

The storage itself is in `store`.
"""

from __future__ import annotations

from doorward.backends.data import changing, querying, reading, undoing
from doorward.backends.data.collection import family as collection_family
from doorward.backends.data.family import family

__all__ = ["changing", "collection_family", "family", "querying", "reading", "undoing"]
