"""What runs inside the sandbox. It stands alone: the standard library only, and nothing else of Doorward.

`zygote` is started once for a profile and makes workers; each `worker` runs one program at a time.
"""
