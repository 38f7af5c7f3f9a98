"""Configuration: hand-edited files (reading, writing, validating, watching), the settings and the home folder.

Recipes, personas, the catalogue and upstream servers have their own packages, which use the watched files of this one.
"""
