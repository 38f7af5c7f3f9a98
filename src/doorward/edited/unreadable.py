"""What a configuration file is that cannot be changed without risk."""


class Unreadable(ValueError):
    """The text cannot be understood; says where or why."""


class Unchangeable(Unreadable):
    """The text is understood, but written in a way in which it cannot be changed safely; says in which."""
