"""Policies for the agent seat: one file each, found by name (`sonde.make("agents:llm")`)."""
