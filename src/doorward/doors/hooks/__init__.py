"""The hook door: coding clients ask the gate about their own tools before they run them."""
