"""Doors: how people and programs reach Doorward. A door translates requests for the gate and decides nothing itself."""
