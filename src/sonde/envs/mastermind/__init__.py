"""The Mastermind environment and everything about it."""
