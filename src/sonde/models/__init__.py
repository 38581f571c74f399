"""Language model backends: one file each, found by name (`sonde.make("models:hf")`)."""

HELPERS = ("batching", "cache", "convert", "fetch", "retry")
"""Files beside the backends that are not backends themselves."""
