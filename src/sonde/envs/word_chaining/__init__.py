"""Word chaining: the environment and all that belongs to it."""

REGISTERED = {
    "agents:word_chaining": "solver:WordChainingSolver",
    "users:chainer": "user:Chainer",
}
"""Other registry names that this folder brings, and where their classes are."""
