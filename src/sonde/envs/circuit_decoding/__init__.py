"""Circuit decoding: the environment and all that belongs to it."""

REGISTERED = {
    "agents:split_probe": "solver:SplitProbe",
}
"""Other registry names that this folder brings, and where their classes are."""
