"""What the files that people edit by hand have in common: how they are read, written, checked and watched."""
