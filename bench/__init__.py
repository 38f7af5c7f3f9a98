"""Measurements of Doorward, each beside its target and, where there is one, beside a peer. Run by `make bench`."""
