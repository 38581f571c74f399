"""Language model backends: one file each, found by name (`sonde.make("models:hf")`)."""

HELPERS = (
    *("attend", "batching", "cache", "chat", "convert", "decode", "draw", "echo", "endpoint", "fetch", "heads", "hub"),
    *("imprint", "masking", "pool", "quiet", "reply", "requests", "retry", "saving", "score", "shipped"),
    *("slots", "templates", "tokens", "tree", "weights"),
)
"""Files beside the backends that are not backends themselves."""
