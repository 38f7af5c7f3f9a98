"""AI agents: personas in rooms, the keeper, and the models behind them. Every call they make goes through the gate."""
