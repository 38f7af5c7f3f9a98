"""The keeper: told in plain words what is wanted, it does that by calls through the gate, and says what it did."""
