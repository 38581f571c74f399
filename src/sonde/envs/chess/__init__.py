"""Chess: the environment and all that belongs to it."""

REGISTERED = {
    "agents:tactician": "solver:Tactician",
    "users:minimax": "minimax:Minimax",
    "users:stockfish": "stockfish:Stockfish",
}
"""Other registry names that this folder brings, and where their classes are."""
