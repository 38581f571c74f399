"""The public contract of environments: what every environment guarantees, checked by playing it.

    from sonde.testing import check_env
    check_env(sonde.make("their.module:TheirGame"))

`check_env` needs no test framework; it raises one `ContractError` that names every violated rule. `RULES` are the
individual rules, each a function of an `EnvProbe` whose name and docstring state the guarantee. `digest_env` shows
whether two processes play identically. `check_interop` is the contract of adapters (`interop.py`). Source: the
environment contract of `docs/design.md`, section 8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sonde.core import EMPTY, Env, ProgramPolicy

from . import beliefs, play, setup
from .hostile import hostile_reply, huge_reply
from .interop import INTEROP_RULES, Adapter, HostEpisode, InteropCase, check_interop
from .probe import EnvProbe, check_rules, digest_env

Rule = Callable[[EnvProbe], None]

RULES: Mapping[str, Rule] = {rule.__name__: rule for rule in (*setup.RULES, *play.RULES, *beliefs.RULES)}


def check_env(
    env: Env[Any],
    *,
    episodes: int = 100,
    seed: int = 0,
    policies: Mapping[str, ProgramPolicy] = EMPTY,
    on_rule: Callable[[str], object] | None = None,
) -> None:
    """Raise `ContractError` naming every rule that `env` violates, and how.

    `episodes` is the maximum number that each rule plays; `policies` play the seats for which `env.spec` names no
    program. `on_rule` is called with the name of each rule before it is checked: `print` shows the progress of a long
    check.
    """
    probe = EnvProbe(env=env, episodes=episodes, seed=seed, policies=policies)

    def check_rule(rule: Rule) -> None:
        if on_rule is not None:
            on_rule(rule.__name__)
        rule(probe)

    check_rules(RULES, check_rule, lambda n: f"{env.name} ({env.config}) breaks {n}")


__all__ = [
    "INTEROP_RULES",
    "RULES",
    "Adapter",
    "EnvProbe",
    "HostEpisode",
    "InteropCase",
    "Rule",
    "check_env",
    "check_interop",
    "digest_env",
    "hostile_reply",
    "huge_reply",
]
