"""Code that runs inside the sandbox. It imports the standard library only, and nothing else of Doorward.

A `zygote` starts once for each profile and forks workers; each `worker` runs one program at a time.
"""
