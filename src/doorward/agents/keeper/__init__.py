"""The keeper: an agent that carries out requests in plain words. Each of its calls goes through the gate."""
