"""The house model: plain English understood without a language model, from knowledge that is data."""
