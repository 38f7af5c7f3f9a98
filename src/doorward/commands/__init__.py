"""The commands, one family per file or package. Doors and the gate call them; they do not know any door."""
