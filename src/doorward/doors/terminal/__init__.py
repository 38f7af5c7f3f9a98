"""The terminal door: the owner's socket for the `doorward` command and its shell."""
