"""Errors for configuration files that cannot be edited safely."""


class Unreadable(ValueError):
    """The text cannot be parsed; the message says where or why."""


class Unchangeable(Unreadable):
    """The text can be parsed but not edited safely; the message says why."""
