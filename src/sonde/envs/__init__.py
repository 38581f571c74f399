"""Environments: one file each, found by name (`sonde.make("wordle")`)."""
