"""The house model: plain English understood without a language model, from what this installation holds."""
