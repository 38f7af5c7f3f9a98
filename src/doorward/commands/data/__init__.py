"""Commands data/* and collection/*: system collections, managed collections, and attached databases.

The storage itself is in `store`.
"""

from __future__ import annotations

from doorward.commands.data import changes, queries
from doorward.commands.data.collection import family as collection_family
from doorward.commands.data.family import family

__all__ = ["changes", "collection_family", "family", "queries"]
