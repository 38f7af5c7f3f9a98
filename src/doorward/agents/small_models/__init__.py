"""The short context of small models: what a request needs in about a thousand tokens, and short results."""
