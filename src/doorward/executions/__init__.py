"""Calls that wait or run at this moment, what they have said so far, and how somebody stops one."""
