"""Ways in. A door translates; it decides nothing."""
