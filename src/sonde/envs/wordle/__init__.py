"""The Wordle environment and everything about it."""
