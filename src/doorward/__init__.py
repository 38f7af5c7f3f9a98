"""Doorward: the one door between AIs and real machines."""

__version__ = "0.1.0"
