"""How something is worded, set apart from what is wanted: typing mistakes, courtesy and talk around it, other words."""

from doorward.agents.house.wording.readings import Worded, worded

__all__ = ["Worded", "worded"]
