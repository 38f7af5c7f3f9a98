"""Measures of Doorward itself, each printed beside its target; they need nothing but an installed Doorward."""
