"""What can be done: one family of commands per file."""
