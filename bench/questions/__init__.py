"""The examination of the house model: a seeded house, what people ask it, and how its answers are judged."""
