"""The values that all of sonde passes around. All are immutable data without behaviour of their own.

From the outside in: a `Task` is a world to find out about; a `Policy` in a *seat* gets a `View` and answers with an
`Action`; the environment turns it into a `Step`; the two together are an `Act`; an agent act and everything until the
agent may act again is a `Turn`; an episode ends with an `Outcome`. Values created at every act are named tuples, which
are twice as fast to create as frozen dataclasses.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from json.encoder import encode_basestring_ascii
from math import isfinite
from typing import Any, Literal, NamedTuple, get_args

from sonde._util.argument_checks import Checked
from sonde._util.frozen import Frozen, freeze

from .errors import UserError, invalid
from .tools import CallDefect, ToolCall

AGENT = "agent"
"""The seat of the evaluated policy, in every environment."""

EMPTY: Frozen[Any] = Frozen()
MEMORY_LIMIT = 64 * 1024
"""Maximum size in bytes of the JSON that a policy may carry from act to act (`Action.memory`)."""

_SURROGATE = re.compile("[\ud800-\udfff]")

Json = Any
"""None, bool, int, float, str, or lists and string-keyed mappings of these."""


def content_hash(value: Json) -> str:
    """Twenty hexadecimal digits that identify a JSON value, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=10).hexdigest()


def hash_texts(*texts: str) -> str:
    """`content_hash` of a list of texts, in a third of the time.

    >>> hash_texts("a", "\u00e9") == content_hash(["a", "\u00e9"])
    True
    """
    text = ",".join(map(encode_basestring_ascii, texts))
    return blake2b(f"[{text}]".encode(), digest_size=10).hexdigest()


@dataclass(frozen=True)
class Task(Checked):
    """One world to find out about.

    `public` holds all that a prior may see (sizes, labels); `hidden` holds the setup itself, or None when it is drawn
    from the world seed at reset. Both are JSON values.

    >>> Task(env="wordle", preset="paprika", split="test", index=3, public={"length": 5}, hidden="toast").id
    '4144316429a0615a93f5'
    """

    called = "task"

    env: str
    preset: str
    split: str
    index: int
    public: Mapping[str, Json] = EMPTY
    hidden: Json = None
    tags: Mapping[str, str] = EMPTY

    def __post_init__(self) -> None:
        for field_ in ("public", "hidden", "tags"):
            object.__setattr__(self, field_, freeze(getattr(self, field_)))

    @cached_property
    def id(self) -> str:
        """Content hash: equal tasks have equal ids in every process."""
        return content_hash(self.to_json())

    def to_json(self) -> dict[str, Json]:
        return {
            "env": self.env,
            "preset": self.preset,
            "split": self.split,
            "index": self.index,
            "public": dict(self.public),
            "hidden": self.hidden,
            "tags": dict(self.tags),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> Task:
        return cls(**data)

    def __hash__(self) -> int:
        return hash(self.id)


class Usage(NamedTuple):
    """Token counts of one model call; `cached` of the `prompt` tokens were not computed again."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Completion:
    """The result of a model call, with the tokens it sampled.

    `prompt_ids` holds only the new part of the prompt: this call's prompt is the first `shared` tokens of the same
    seat's previous call (its prompt and completion), followed by `prompt_ids`. `ids` includes the end-of-turn token
    when sampled. `logprobs` are natural log-probabilities at `temperature` (at 1 if it is 0), before truncation, one
    per id. `temperature` is the divisor of the logits, None if unknown; `truncated` says that top-p or min-p truncated
    the sampling distribution. `name` identifies a sub-call. `unread` marks a reply that could not be parsed: after a
    `malformed` one the model was asked again, after a `fallback` the call was given up. `finish` is `filter` if the
    host refused. `open_mark` is the mark with which the prompt opened a thought (`<think>`), so that `text` begins
    inside it; empty if it opened none or if the backend does not see the prompt. `unsent` names the requested sampling
    fields that were not sent because the endpoint does not support them; it used its defaults for them. `calls` are the
    tools that the model called, `call_defect` says why they stand for no action (`core.tools`); `text` is then what
    the model said beside them, and with backends that return token ids all that it wrote.

    >>> Completion(text="blue", ids=array("i", [901, 2]), logprobs=array("f", [-1.2, -0.1]), finish="stop").text
    'blue'
    """

    text: str
    ids: array[int] = field(default_factory=lambda: array("i"))
    logprobs: array[float] = field(default_factory=lambda: array("f"))
    temperature: float | None = None
    truncated: bool = False
    prompt_ids: array[int] = field(default_factory=lambda: array("i"))
    shared: int = 0
    finish: Literal["stop", "length", "filter"] = "stop"
    reasoning: str = ""
    open_mark: str = ""
    name: str = ""
    unread: Literal["", "malformed", "fallback"] = ""
    model: str = ""
    weights: str = ""
    usage: Usage = NO_USAGE
    unsent: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    call_defect: CallDefect = ""


class Message(NamedTuple):
    """One chat message: role `system`, `user` or `assistant`; an assistant message may carry the completion it came
    from.

    >>> Message("user", "Make your first guess.").role
    'user'
    """

    role: Literal["system", "user", "assistant"]
    content: str
    completion: Completion | None = None

    def to_json(self) -> dict[str, str]:
        """The form that chat templates and endpoints expect."""
        return {"role": self.role, "content": self.content}


class Action(NamedTuple):
    """What a policy does in one act: the text it says, and what `View.memory` will hold next time.

    >>> Action("<Answer>toast</Answer>", memory={"plan": "vowels first"}).text
    '<Answer>toast</Answer>'
    """

    text: str
    memory: Json = None
    completions: tuple[Completion, ...] = ()

    def check_storable(self) -> Action:
        """This action, its text made storable and its memory read-only. Raises `UserError` if the text is not text, or
        if the memory is not JSON of at most `MEMORY_LIMIT` bytes.

        Endpoints can return halves of surrogate pairs, which no file can hold. Matching halves are joined and others
        become U+FFFD, so that the recorded text equals the played one.
        """
        text, memory, completions = self
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UserError(f"action.text: got {type(text).__name__}, allowed: str")
        storable = join_surrogates(text)
        if storable is text and memory is None:
            return self
        return Action(storable, _freeze_memory(memory), completions)


def join_surrogates(text: str) -> str:
    """A text that any file can hold: matching halves of surrogate pairs are joined, others become U+FFFD. A text
    without halves is returned as it is.

    >>> join_surrogates("\\ud83d\\ude00 \\ud83d") == "\\U0001f600 \\ufffd"
    True
    """
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _freeze_memory(memory: Json) -> Json:
    """`memory` as a record returns it, so that a replayed episode has the same memory as the original."""
    if memory is None:
        return None
    try:
        written = json.dumps(memory, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as e:
        raise UserError(f"action.memory: not JSON ({e}), allowed: JSON values") from e
    if len(written) > MEMORY_LIMIT:
        raise UserError(f"action.memory: got {len(written)} bytes of JSON, allowed: at most {MEMORY_LIMIT}")
    return freeze(json.loads(written))


Rules = Literal["paper", "code"]
"""The values of every argument `rules`: where a paper's text and its code differ, which of them is followed."""

Kind = Literal["win", "loss", "unreadable", "out_of_turns", "error"]
Cut = Literal["", "tokens", "turns", "context", "filter"]
"""What cut an episode short, if anything."""
_KINDS, _CUTS, _SAID = get_args(Kind), get_args(Cut), (bool, type(None))


class _Outcome(NamedTuple):
    kind: Kind
    score: float = 0.0
    claimed: bool | None = None
    judged: bool | None = None
    truncated: Cut = ""


class Outcome(_Outcome):
    """How an episode ended.

    `kind` separates what other libraries merge: a `loss` (a mine, a wrong final choice), `unreadable` (no answer could
    be read), `out_of_turns` (no turn left, or no room for another) and an `error` (the world failed). `truncated` says
    what cut the episode short, if anything: the limit on `turns`, the limit on the `tokens` of a reply, the agent's own
    `context`, or the content `filter` of its model's host. Environments never set the last two (`Episode.cut_short`).
    `claimed` and `judged` are for environments with a judge. Any other value is a `UserError`.

    >>> Outcome("win", 1.0).success
    True
    """

    __slots__ = ()

    def __new__(
        cls,
        kind: Kind,
        score: float = 0.0,
        claimed: bool | None = None,
        judged: bool | None = None,
        truncated: Cut = "",
    ) -> Outcome:
        if kind not in _KINDS:
            raise invalid("outcome: kind", kind, ", ".join(_KINDS))
        if not (isinstance(score, float | int) and isfinite(score)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("outcome: score", score, "a finite number")
        if truncated not in _CUTS:
            raise invalid("outcome: truncated", truncated, f"{', '.join(filter(None, _CUTS))} or nothing")
        if not (isinstance(claimed, _SAID) and isinstance(judged, _SAID)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("outcome: claimed, judged", (claimed, judged), "true, false or none")
        return _Outcome.__new__(cls, kind, score, claimed, judged, truncated)

    @property
    def success(self) -> bool:
        return self.kind == "win" and self.judged is not False

    @property
    def is_broken_off(self) -> bool:
        """Whether the episode ended before the world did. Where every turn costs, aborting must not pay."""
        return self.kind in ("unreadable", "error") or self.truncated in ("context", "filter")


class Step(NamedTuple):
    """What an environment returns for one act.

    `told` maps each seat to the text it is told, `rewards` to its reward; `info` holds structured facts that follow
    from what the agent has been told so far, never more. All three are `Frozen`. `outcome` is set on the last step
    only.

    >>> Step(state=("toast", 1), told=Frozen(agent="absent"), info=Frozen(result="marks")).rewards
    {}
    """

    state: Hashable
    told: Mapping[str, str] = EMPTY
    rewards: Mapping[str, float] = EMPTY
    info: Mapping[str, Any] = EMPTY
    outcome: Outcome | None = None


class Act(NamedTuple):
    """One seat speaking, and the resulting step."""

    seat: str
    action: Action
    told: Mapping[str, str]
    rewards: Mapping[str, float]
    info: Mapping[str, Any]


class Turn(NamedTuple):
    """An agent act and everything until the agent may act again. Most environments have one act per turn."""

    index: int  # pyright: ignore[reportIncompatibleMethodOverride]
    acts: tuple[Act, ...]

    @property
    def text(self) -> str:
        """What the agent said."""
        return self.acts[0].action.text

    @property
    def told(self) -> str:
        """What the agent was told by the end of the turn."""
        return "\n\n".join(t for a in self.acts if (t := a.told.get(AGENT)))

    @property
    def info(self) -> Mapping[str, Any]:
        """Structured facts of the turn; later acts override earlier ones."""
        if len(self.acts) == 1:
            return self.acts[0].info
        return Frozen({k: v for a in self.acts for k, v in a.info.items()})

    @property
    def rewards(self) -> Mapping[str, float]:
        """Reward per seat, summed over the turn."""
        if len(self.acts) == 1:
            return self.acts[0].rewards
        total: dict[str, float] = {}
        for act in self.acts:
            for seat, reward in act.rewards.items():
                total[seat] = total.get(seat, 0.0) + reward
        return Frozen(total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec(Checked):
    """What a person or program should know about an environment before playing it.

    `seats` maps every seat to the registry name of its default policy (None: the caller must provide one). `floor` and
    `reference` name the policies that define the ends of the `reference_score` scale. `assumes` maps a seat to the
    policy that the filter assumes there; with any other policy, gains are n/a.
    """

    called = "spec"

    name: str
    version: str
    summary: str
    preset: str
    max_turns: int
    reward_range: tuple[float, float]
    support: str
    source: str
    seats: Mapping[str, str | None] = field(default_factory=lambda: Frozen({AGENT: None}))
    floor: str = "random"
    reference: str = ""
    max_new_tokens: int = 1024
    assumes: Mapping[str, str] = field(default_factory=Frozen[str])
    departures: tuple[str, ...] = ()
