"""Commands help/*: search, describe and suggest commands. The search index is in `store`."""

from doorward.backends.help import accepting, describing, searching, suggesting
from doorward.backends.help.family import family, namespaces

__all__ = ["accepting", "describing", "family", "namespaces", "searching", "suggesting"]
