"""The only place that starts a process: programs run confined to a workspace, by warm helpers inside bubblewrap."""
