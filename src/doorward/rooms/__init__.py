"""Rooms, messages and members, with the users, accounts and tokens behind them. Decisions about calls are in gate/."""
