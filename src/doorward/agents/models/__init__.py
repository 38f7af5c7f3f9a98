"""Where answers come from: models of others over their wires, and a stand-in that needs none."""
