"""Personas: AI members of rooms, each defined by one JSON file. How they think and act is in agents/."""
