"""Personas: the AIs of the house, each described by one file."""
