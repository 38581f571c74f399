"""The Cellular automata environment and everything about it."""
