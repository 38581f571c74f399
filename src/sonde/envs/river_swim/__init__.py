"""The River swim environment and everything about it."""
