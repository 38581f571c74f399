"""The Circuit decoding environment and everything about it."""

REGISTERED = {
    "agents:circuit_decoding": "solver:CircuitDecodingSolver",
}
"""Other names that this folder registers, and the module and class of each."""
