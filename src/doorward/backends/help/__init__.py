"""help/*: find the command for a purpose, learn how to use it, and have one suggested."""

from doorward.backends.help import accepting, describing, searching, suggesting
from doorward.backends.help.family import family, namespaces

__all__ = ["accepting", "describing", "family", "namespaces", "searching", "suggesting"]
