"""`sonde read`: the conversations of a run in the terminal, every turn with what it earned and taught."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path

from rich.console import Console, Group
from rich.text import Text

from sonde._util.escaping import plain
from sonde.beliefs import records as believed
from sonde.beliefs.elicitation import Elicited
from sonde.core import AGENT, Act, Outcome, Trajectory, Turn, UserError, invalid
from sonde.evaluation.reply_defects import DEFECTS
from sonde.evaluation.rows import TRUNCATED, Row
from sonde.runs.run import EVALUATION, load_evaluation
from sonde.runs.store import BY_KEY, Run

_STYLES = {AGENT: "bold cyan", "told": "dim"}
_WIDE = 8
"""Characters of a seat's column."""
_NOTHING: tuple[object, ...] = (None, "", (), [])


def chosen(folder: Path, n: int, task: int | None, kind: str | None, reply: str | None = None) -> Sequence[Trajectory]:
    """Up to `n` episodes of a run in order of task and sample; of one task, of one outcome, or only those with a reply
    of such a kind (`replies.DEFECTS`), if asked."""
    if n < 1:
        raise invalid("-n", n, "1 or more")
    run = Run.load(folder).trajectories
    found = run.where(order=BY_KEY)
    if task is not None:
        found = found.where("task_index = ?", task, order=BY_KEY)
    if kind is not None:
        found = found.where("coalesce(kind, 'error') = ?", kind, order=BY_KEY)
    episodes = list(islice(found if reply is None else filter(DEFECTS[reply], found), n))
    if not episodes:
        asked = {"--task": task, "--outcome": kind, "--reply": reply}
        wanted = " and ".join(f"{option} {value}" for option, value in asked.items() if value is not None)
        raise UserError(f"{folder}: no episode of {wanted or 'any kind'} among its {len(run)}")
    return episodes


def read_in_terminal(folder: Path, episodes: Sequence[Trajectory], out: Console) -> None:
    """Print episodes, with the information of every turn where the run has been evaluated, and with what a model
    believed where that was elicited."""
    rows = {r.trajectory: r for r in load_evaluation(folder).rows} if (folder / EVALUATION).is_file() else {}
    beliefs = believed.read(folder).beliefs
    for t in episodes:
        out.print(_episode(t, rows.get(t.id), beliefs.get(t.id, ())), soft_wrap=False)
        out.print()


def _episode(t: Trajectory, row: Row | None, beliefs: Sequence[Elicited]) -> Group:
    said = [line for turn in t.turns for line in (*_lines(turn), Text(_facts(turn, row, beliefs), style="dim"))]
    return Group(Text(_title(t), style="bold"), *said)


def _title(t: Trajectory) -> str:
    name, n = t.policies.get(AGENT, {}).get("name", AGENT), len(t.turns)  # a host's agent is not on record
    ended = t.error or (_end(t.outcome) if t.outcome else "not ended")
    task = f"{t.task.env} ({t.task.preset}) {t.task.split} {t.task.index}, sample {t.sample}"
    return f"{task}: {name}, {n} {'turn' if n == 1 else 'turns'}, {ended}"


def _end(outcome: Outcome) -> str:
    why = f" ({TRUNCATED[outcome.truncated]})" if outcome.truncated in TRUNCATED else ""
    return f"{outcome.kind}{why}, return {outcome.score:g}"


def _lines(turn: Turn) -> Iterator[Text]:
    """What each seat said, once where it says the same again, and what the agent was told where that is other words."""
    for (seat, said), same in groupby(turn.acts, key=lambda act: (act.seat, act.action.text)):
        acts = list(same)
        times = f" ({len(acts)} times)" if len(acts) > 1 else ""
        yield _line(seat, (said or _thought(acts[-1])) + times, _STYLES.get(seat, "bold magenta"))
        told = acts[-1].told.get(AGENT, "")
        if told and told != said:
            yield _line("told", told, _STYLES["told"])


def _thought(act: Act) -> str:
    """What a seat that said nothing only thought."""
    thoughts = [c.reasoning for c in act.action.completions if c.reasoning]
    return f"(reasoning only) {thoughts[-1]}" if thoughts else ""


def _line(who: str, said: str, style: str) -> Text:
    first, *rest = plain(said.strip()).split("\n")
    pad = " " * (_WIDE + 1)
    return Text.assemble((f"{who[:_WIDE]:{_WIDE}} ", style), first, *(f"\n{pad}{line}" for line in rest))


def _facts(turn: Turn, row: Row | None, beliefs: Sequence[Elicited]) -> str:
    """The turn's number, reward, information gained, change of belief and record."""
    parts = [f"turn {turn.index + 1}", f"reward {turn.rewards.get(AGENT, 0.0):g}"]
    if row and row.gains and turn.index < len(row.gains):
        parts.append(f"{row.gains[turn.index].realised:+.2f} bits")
    if turn.index + 1 < len(beliefs):
        before, after = (beliefs[turn.index + i].target for i in (0, 1))
        parts.append(f"ln b {before:.2f} to {after:.2f}")
    parts += [f"{name} {value}" for name, value in turn.info.items() if value not in _NOTHING and name != "reply"]
    return f"{' ' * (_WIDE + 1)}{' · '.join(parts)}"
