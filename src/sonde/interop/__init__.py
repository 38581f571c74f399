"""Adapters between sonde and other libraries, one file each, imported when asked for.

`outward`: our environments in others' trainers and harnesses. They sit on `session.Session`, the agent's seat of an
episode as a host wants it, and know no rule of any game. `sonde.testing.check_interop` is the contract that each keeps.
`inward`: others' environments here, by name (`sonde.make("textarena:Mastermind-v0")`), on `third_party.ThirdPartyEnv`.

What an adapter needs is an extra of its library's name: `pip install 'sonde-rl[gymnasium]'`.
"""
