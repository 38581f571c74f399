"""Chess: the environment and all that belongs to it."""

REGISTERED = {
    "agents:chess": "solver:ChessSolver",
    "users:minimax": "minimax:Minimax",
    "users:stockfish": "stockfish:Stockfish",
}
"""Other registry names that this folder brings, and where their classes are."""
