"""The Chess environment and everything about it."""

REGISTERED = {
    "agents:chess": "solver:ChessSolver",
    "users:minimax": "minimax:Minimax",
    "users:stockfish": "stockfish:Stockfish",
}
"""Other names that this folder registers, and the module and class of each."""
