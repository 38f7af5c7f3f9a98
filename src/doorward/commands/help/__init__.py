"""Commands help/*: search, describe and suggest commands. The search index is in `store`."""

from doorward.commands.help import lookup, suggestions
from doorward.commands.help.family import family, namespaces

__all__ = ["family", "lookup", "namespaces", "suggestions"]
