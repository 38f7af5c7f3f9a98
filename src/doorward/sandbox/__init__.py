"""The sandbox: the only package that starts processes. Programs run confined, in warm workers inside bubblewrap."""
