"""What is known of cities, and how questions about them are read.

`questions` reads a message, `atlas` holds the facts, `game` plays.
"""
