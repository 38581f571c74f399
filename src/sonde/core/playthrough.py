"""Golden playthroughs: a whole episode as readable text, and back.

Every environment ships some (`envs/NAME/golden/NAME.PRESET.K.txt`). Tests replay them line by line, so a change of
rules or wording shows up as a readable diff; language models get them as few-shot examples.

    === env {"name": "mastermind", ...}
    === task {"env": "mastermind", ..., "hidden": "0427"}
    === seed 0
    === told agent
    I am holding a secret code ...
    === agent
    <Think> ... </Think> <Answer> 1 1 2 2 </Answer>
    === told agent
    Your guess 1122 has 0 exact and 1 partial. ...
    === info {"result": "counts", ...} rewards {}
    === outcome {"kind": "win", ...}
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .env import Env
from .episode import Episode
from .errors import UserError
from .registry import build, env_folder
from .types import Act, Json, Task

_MARK = "=== "


@dataclass(frozen=True)
class Playthrough:
    """The content of a playthrough file: the world, and the text of each act in order."""

    env: dict[str, Json]
    task: Task
    seed: int
    acts: tuple[tuple[str, str], ...]
    """Pairs of seat and text."""

    def replay_episode(self) -> Episode:
        """Replay the episode."""
        env: Env[Any] = build(self.env)
        ep = Episode.begin(env, self.task, seed=self.seed)
        for seat, text in self.acts:
            if ep.to_act != seat:
                raise UserError(f"playthrough: {seat!r} speaks, but {ep.to_act!r} is to act")
            ep = ep.step(text)
        return ep


def write_playthrough(ep: Episode) -> str:
    """Write an episode as text. Raises `UserError` if `read_playthrough` would not recover the same words, because a
    reply contains lines that look like this format's markers."""
    start = Episode.begin(ep.env, ep.task, seed=ep.seed)
    lines = [
        f"{_MARK}env {_dump_json(ep.env.config)}",
        f"{_MARK}task {_dump_json(ep.task.to_json())}",
        f"{_MARK}seed {ep.seed}",
    ]
    for seat, messages in start.messages.items():
        lines += [f"{_MARK}told {seat}\n{m.content}" for m in messages]
    for act in ep.acts:
        lines += _act(act)
    if ep.outcome is not None:
        lines.append(f"{_MARK}outcome {_dump_json(ep.outcome._asdict())}")
    text = "\n".join(lines) + "\n"
    if read_playthrough(text).acts != tuple((act.seat, act.action.text) for act in ep.acts):
        raise UserError(f"playthrough: a text has a line that begins with {_MARK!r}")
    return text


def _act(act: Act) -> Iterable[str]:
    yield f"{_MARK}{act.seat}\n{act.action.text}"
    for seat, text in act.told.items():
        yield f"{_MARK}told {seat}\n{text}"
    yield f"{_MARK}info {_dump_json(act.info)} rewards {_dump_json(act.rewards)}"


def read_playthrough(text: str) -> Playthrough:
    """Parse the text that `write_playthrough` makes. What seats were told is skipped, because replay reproduces it."""
    facts: dict[str, str] = {}
    acts: list[tuple[str, str]] = []
    for block in ("\n" + text.removesuffix("\n")).split("\n" + _MARK)[1:]:
        head, _, body = block.partition("\n")
        kind, _, rest = head.partition(" ")
        if kind in ("env", "task", "seed"):
            facts[kind] = rest
        elif not rest:
            acts.append((kind, body))
    missing = {"env", "task", "seed"} - set(facts)
    if missing:
        raise UserError(f"playthrough: no line === {missing.pop()}")
    task = Task.from_json(json.loads(facts["task"]))
    return Playthrough(json.loads(facts["env"]), task, int(facts["seed"]), tuple(acts))


def golden_playthroughs(env: str, preset: str) -> list[Playthrough]:
    """The playthroughs that ship with sonde for an environment, in order."""
    folder = env_folder(env).joinpath("golden")
    if not folder.is_dir():
        return []
    names = sorted(f.name for f in folder.iterdir() if f.name.startswith(f"{env}.{preset}."))
    return [read_playthrough(folder.joinpath(name).read_text("utf-8")) for name in names]


def _dump_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
