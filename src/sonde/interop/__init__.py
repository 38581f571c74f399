"""sonde inside other people's trainers and harnesses: one file per foreign protocol, imported when it is asked for.

All of them sit on `session.Session`, the agent's seat of an episode as a host wants it, and none knows a rule of its
own. `sonde.testing.check_interop` is the contract that each keeps. What a host needs installed is an extra of the same
name: `pip install 'sonde-rl[gymnasium]'`.
"""
