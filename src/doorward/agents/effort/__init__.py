"""Agents that regulate their effort: energy, conversations by urgency, models by what they cost, and a sub-agent."""
