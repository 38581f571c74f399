"""Per-token rewards: each turn's reward is placed on the agent's last token of that turn.

This is where LMRL-Gym (Abdulhai et al. 2023, and its code) puts them; the environment's tokens earn nothing. Tokens are
counted in the order in which they were said, across rows.
"""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from sonde.core import UserError

from .credit import Values
from .types import Floats, Sample


def agent_token_order(sample: Sample) -> NDArray[np.int64]:
    """The agent's tokens of a sample in the order in which they were said: their indices among the tokens of all rows,
    end to end. A token that begins a row is left out: nothing predicts it."""
    agent_N = np.frombuffer(b"".join(row.agent for row in sample.rows), np.bool_).copy()
    agent_N[np.cumsum([0, *(len(row) for row in sample.rows[:-1])])] = False
    said_N = np.flatnonzero(agent_N)
    return said_N[np.argsort(_token_turns(sample)[said_N], kind="stable")]


def _token_turns(sample: Sample) -> NDArray[np.int64]:
    return np.concatenate([np.asarray(row.turns, np.int64) for row in sample.rows])


def agent_token_turns(sample: Sample) -> NDArray[np.int64]:
    """The turn of each agent token, in the order of `agent_token_order`."""
    return _token_turns(sample)[agent_token_order(sample)]


def token_rewards(sample: Sample) -> Values:
    """The reward of every agent token, in the order of `agent_token_order`: that of its turn on the turn's last
    token, else 0.

    Raises `UserError` where a turn has a reward but no trained agent token: nobody could learn from the reward, and
    leaving it out would falsify every return.
    """
    turn_N = agent_token_turns(sample)
    earned = np.asarray(sample.rewards, np.float64)
    last_N = np.append(turn_N[1:] != turn_N[:-1], True)[: len(turn_N)]
    mute = np.setdiff1d(np.flatnonzero(earned), turn_N)
    if len(mute):
        raise UserError(
            f"trajectory {sample.trajectory}: turn {mute[0]} has reward {earned[mute[0]]:g} but no trained agent "
            "token; allowed: rewards on turns with agent tokens (move rewards of other seats' acts to the turn before)"
        )
    return np.where(last_N, earned[turn_N], 0.0)


def scatter_to_rows(sample: Sample, values: Values) -> tuple[Floats, ...]:
    """One array per row: `values` on the agent's tokens, in the order of `agent_token_order`, and 0 elsewhere."""
    flat = np.zeros(sum(map(len, sample.rows)))
    flat[agent_token_order(sample)] = values
    ends = np.cumsum([len(row) for row in sample.rows])[:-1]
    return tuple(array("f", part.tolist()) for part in np.split(flat, ends))
