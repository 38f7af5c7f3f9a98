"""The session shell: a small language whose every stage is a call through the gate, and the sessions that remember.

No real shell is behind it. `language` reads a text, `expansion` fills in what stands for something else, `stages` finds
the command that a word means, and `interpreter` makes the calls, one after another. What lasts from line to line is a
`session`, kept by `sessions`.
"""
