"""Rooms, the people and agents in them, and the tokens that vouch for them."""
