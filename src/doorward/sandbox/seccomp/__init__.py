"""Seccomp filters: the shipped files, and the readable policy they are generated from.

At run time only the shipped files are loaded. After a change to the policy, `make filters` regenerates them; a test
fails until that is done.
"""
