"""The Letter wordle environment and everything about it."""
