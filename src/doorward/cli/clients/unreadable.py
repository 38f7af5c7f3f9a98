"""What a configuration file is that cannot be changed without risk."""


class Unreadable(ValueError):
    """The text cannot be understood, or not be changed safely; says where or why."""
