"""Word chaining: the environment and all that belongs to it."""

REGISTERED = {
    "agents:lookahead": "solver:Lookahead",
    "users:chainer": "user:Chainer",
}
"""Other registry names that this folder brings, and where their classes are."""
