"""What is meant by a request that nobody foresaw: the nearest of many examples of how people say the same."""

from doorward.agents.house.phrasing.finding import Found, found

__all__ = ["Found", "found"]
