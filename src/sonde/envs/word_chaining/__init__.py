"""The Word chaining environment and everything about it."""

REGISTERED = {
    "agents:word_chaining": "solver:WordChainingSolver",
    "users:chainer": "user:Chainer",
}
"""Other names that this folder registers, and the module and class of each."""
