"""Adapters between sonde and other libraries, one file each, imported on demand.

`outward`: our environments in other libraries' trainers and harnesses. They use `session.Session`, the agent's seat of
an episode in the form that a host needs, and contain no rules of any game. `sonde.testing.check_interop` is the
contract for each of them. `inward`: other libraries' environments in sonde, by name
(`sonde.make("textarena:Mastermind-v0")`), based on `third_party.ThirdPartyEnv`.

The packages that an adapter needs are an extra with its library's name: `pip install 'sonde-rl[gymnasium]'`.
"""
