"""Circuit decoding: the environment and all that belongs to it."""

REGISTERED = {
    "agents:circuit_decoding": "solver:CircuitDecodingSolver",
}
"""Other registry names that this folder brings, and where their classes are."""
