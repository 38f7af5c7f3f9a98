"""The record that nobody can quietly change: checkpoints, verification, rotation, recovery, reports."""
