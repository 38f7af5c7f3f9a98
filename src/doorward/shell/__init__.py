"""The session shell: a small shell language in which every command is a call through the gate.

No real shell runs. The parser builds a script, the expansion replaces variables and patterns, and the interpreter makes
the calls. A session keeps the folder, variables, aliases and history from line to line.
"""
