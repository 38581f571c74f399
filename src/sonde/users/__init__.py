"""Simulated users, opponents and judges: one file each, found by name (`sonde.make("users:...")`)."""

HELPERS = ("modelled",)
"""Files beside the users that are not users themselves."""
