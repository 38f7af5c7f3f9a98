"""The line door: a TCP protocol with one JSON request a line and one JSON answer a line."""
