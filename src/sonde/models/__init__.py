"""Language model backends: one file each, found by name (`sonde.make("models:hf")`)."""

HELPERS = (
    "batching", "cache", "chat", "convert", "decode", "draw", "fetch", "retry", "saving", "shipped", "slots", "weights",
)  # fmt: skip
"""Files beside the backends that are not backends themselves."""
