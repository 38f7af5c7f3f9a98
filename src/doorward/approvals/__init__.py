"""Asking a human first."""
