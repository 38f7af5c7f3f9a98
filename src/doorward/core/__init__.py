"""The vocabulary of every other package: errors, command declarations, requests and outcomes, events, wire formats.

It imports nothing else of Doorward, does no input or output of its own, and knows no policy.
"""
