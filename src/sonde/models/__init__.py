"""Language model backends: one file each, found by name (`sonde.make("models:hf")`)."""

HELPERS = (
    *("adapting", "address", "attend", "batching", "cache", "chat", "convert", "decode", "draw", "echo", "encoding"),
    *("endpoint", "fetch", "heads", "hub", "imprint", "keys", "masking", "pool", "providers", "quiet", "reasoning"),
    *("refusals", "rendering", "reply", "requests", "retry", "saving", "score", "shipped", "slots", "template_check"),
    *("templates", "tokens", "tree", "verdicts", "weights"),
)
"""Files beside the backends that are not backends themselves."""
