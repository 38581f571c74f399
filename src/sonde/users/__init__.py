"""Simulated users, opponents and judges: one file each, found by name (`sonde.make("users:...")`)."""
