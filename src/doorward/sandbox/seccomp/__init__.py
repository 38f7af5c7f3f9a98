"""The filters of system calls that programs run under: data that ships, and the readable policy it is made from.

A program that runs needs `shipped` alone. `policy` and `alone` are what a person reviews, `rules` the words they are
written in, `machines` the facts about processors, and `assembler` turns them into what the kernel takes. After a
change to any of them, `make filters` writes the shipped files anew; a test fails until that is done.
"""
