"""The `doorward` command line: one module per subcommand, and the terminal views they share.

Rules and state are not here: every subcommand runs governed commands through the gate.
"""
