"""Recipes: JSON files that say what AIs may do in a room, compiled into policies and reloaded when they change."""
