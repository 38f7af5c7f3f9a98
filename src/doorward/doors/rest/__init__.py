"""The REST door: commands, executions, approvals, rooms and more as HTTP resources. Most operations run one command."""
