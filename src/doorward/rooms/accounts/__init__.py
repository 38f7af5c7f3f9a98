"""Accounts: passwords, login sessions, browser sessions and API tokens."""
