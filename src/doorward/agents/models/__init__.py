"""Models: providers over the network, GGUF files on this machine, and how to find them by name. The house model lives
in agents/house."""
