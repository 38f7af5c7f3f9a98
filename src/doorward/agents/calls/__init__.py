"""What a model wrote, read as calls."""
