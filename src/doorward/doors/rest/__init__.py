"""REST: commands, executions, approvals, rooms and the rest as resources over HTTP, each one command of the gate."""
