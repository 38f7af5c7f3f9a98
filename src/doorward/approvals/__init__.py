"""Approvals: decisions of people about single calls."""
