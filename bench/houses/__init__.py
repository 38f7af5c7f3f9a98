"""Five generated houses, questions about them with their true answers, and a judge of what is said."""
