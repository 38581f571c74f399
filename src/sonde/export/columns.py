"""The columns of both tables with type, unit and meaning. A missing value is empty, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

Table = Literal["episodes", "turns"]
Kind = Literal["text", "bool", "int", "seed", "float"]


class Column(NamedTuple):
    """`kind` seed is an unsigned integer of 64 bits; `unit` is empty for counts, names and truth values."""

    kind: Kind
    unit: str
    meaning: str


TAG = "tag."
"""Prefix of the columns of `episodes` that hold the tags of a task, one for each tag."""

_KEY: Mapping[str, Column] = {
    "env": Column("text", "", "environment"),
    "preset": Column("text", "", "preset of the environment"),
    "agent": Column("text", "", "label of the agent, with the policies that replace the environment's in other seats"),
    "split": Column("text", "", "split of the tasks"),
    "seed": Column("seed", "", "world seed"),
    "index": Column("int", "", "number of the task in its split"),
    "task": Column("text", "", "id of the task: cluster by it"),
    "sample": Column("int", "", "number of the episode in its world"),
    "trajectory": Column("text", "", "id of the episode; joins both tables and the records"),
}
"""Columns of both tables."""

EPISODES: Mapping[str, Column] = {
    **_KEY,
    "success": Column("bool", "", "whether the episode was won"),
    "outcome": Column("text", "", "win, loss, unreadable, out_of_turns or error"),
    "truncated": Column(
        "text", "", "what cut the episode short: turns, tokens, context or filter; empty if nothing did"
    ),
    "error": Column("text", "", "failure outside the environment (model, network); empty if there was none"),
    "return": Column("float", "reward", "sum of the agent's rewards"),
    "turns": Column("int", "", "turns played"),
    "tokens": Column("int", "tokens", "prompts and completions of all seats"),
    "prior_entropy": Column("float", "bits", "entropy of the exact prior"),
    "final_entropy": Column("float", "bits", "entropy of the exact posterior after the last turn"),
    "bits": Column("float", "bits", "fall of the entropy over the episode"),
    "truth_bits": Column("float", "bits", "rise of log2 of the exact probability of the truth"),
    "efficiency": Column("float", "0 to 1", "mean over turns of expected_bits / best_bits"),
    "invalid": Column("int", "turns", "turns that the rules did not allow"),
    "repeated": Column("int", "turns", "turns that repeated an earlier question"),
    "not_understood": Column("int", "turns", "turns whose message the user did not understand"),
    "not_known": Column("int", "turns", "turns whose question the user could not answer"),
    "regret": Column("float", "reward", "expected return of the best policy minus that of the actions taken"),
    "first_belief": Column("float", "nats", "ln of the model's own probability of the truth before the first turn"),
    "last_belief": Column("float", "nats", "the same after the last turn"),
    "naturalness": Column("float", "1 to 5", "mean rating of the conversation by people"),
}
"""One row per episode. Beliefs of the model need `sonde elicit`, bits an exact filter, regret a finite problem,
ratings people who gave them in `sonde view`."""

TURNS: Mapping[str, Column] = {
    **_KEY,
    "turn": Column("int", "", "number of the turn, from 1"),
    "result": Column("text", "", "the environment's name for the result of the turn"),
    "invalid": Column("bool", "", "whether the rules did not allow the answer"),
    "repeated": Column("bool", "", "whether the question repeated an earlier one"),
    "not_understood": Column("bool", "", "whether the user did not understand the message"),
    "not_known": Column("bool", "", "whether the user could not answer the question"),
    "reward": Column("float", "reward", "the agent's reward"),
    "tokens": Column("int", "tokens", "prompts and completions of all seats"),
    "entropy_before": Column("float", "bits", "entropy of the exact posterior before the turn"),
    "entropy_after": Column("float", "bits", "the same after it"),
    "bits": Column("float", "bits", "entropy_before - entropy_after; can be negative"),
    "truth_bits": Column("float", "bits", "rise of log2 of the exact probability of the truth"),
    "expected_bits": Column("float", "bits", "expected gain of the question asked"),
    "best_bits": Column("float", "bits", "expected gain of the best question at that moment"),
    "efficiency": Column("float", "0 to 1", "expected_bits / best_bits; empty where nothing was left to learn"),
    "exact_before": Column("float", "probability", "exact probability of the truth before the turn"),
    "exact_after": Column("float", "probability", "the same after it"),
    "belief_before": Column("float", "nats", "ln of the model's own probability of the truth before the turn"),
    "belief_after": Column("float", "nats", "the same after it"),
    "regret": Column("float", "reward", "expected return lost by this action"),
}
"""One row per turn. Without the record of an episode (`Evaluation.to_frame`), `result`, `reward`, `tokens`, the
probabilities of the truth and `regret` are empty."""

TABLES: Mapping[Table, Mapping[str, Column]] = {"episodes": EPISODES, "turns": TURNS}
