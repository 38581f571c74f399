"""Positions of chess as text: FEN, the moves in them as SAN, and how a game ends.

The rules come from the library `chess` (python-chess, GPL-3), an optional package in the extra `[chess]`. Only
`parse_position` imports it, at the first position; everywhere else a position is its FEN.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from sonde._util.extras import require_extra
from sonde.core import UserError, invalid

from .._shared.answer import begins_another, parse_answer

if TYPE_CHECKING:
    from chess import Board

CLASSES = ("Q", "QR", "R", "RR")
"""White's pieces beside the king in endgames that have a table."""
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

SAN = re.compile(r"(?:O-O(?:-O)?|[KQRBN][a-h]?[1-8]?x?[a-h][1-8]|(?:[a-h]x)?[a-h][1-8](?:=[QRBN])?)[+#]?", re.ASCII)
"""The pattern of a move."""
_NUMBER = re.compile(r"^\d{1,3}\.", re.ASCII)
"""The number before a move of White."""
_LONGEST = 60
_LONGEST_FEN = 100


@lru_cache(maxsize=1 << 13)
def parse_position(fen: str) -> Board:
    """The position as a shared object that must not be modified."""
    require_extra("a game of chess", "chess")
    import chess

    return chess.Board(fen)


def check_fen(field: str, value: object) -> str:
    """Return a position from outside in the library's notation; raises an error that names the field unless White can
    move."""
    allowed = f"a legal position with White to move, in FEN, such as {START}"
    if not isinstance(value, str) or len(value) > _LONGEST_FEN:
        raise invalid(field, value, allowed)
    try:
        found = parse_position(value)
    except ValueError as e:
        raise invalid(field, value, f"{allowed} ({e})") from None
    if found.status():
        raise invalid(field, value, f"{allowed} (not possible: {found.status().name})")
    if not found.turn or game_ending(found, ()):
        raise invalid(field, value, f"{allowed} ({'the game is over' if found.turn else 'Black is to move'})")
    return found.fen()


def space_characters(fen: str) -> str:
    """Separate the characters by spaces, as LMRL-Gym writes positions and moves.

    >>> space_characters("8/8 w"), space_characters("Nf3")
    ('8 / 8   w', 'N f 3')
    """
    return " ".join(fen)


@lru_cache(maxsize=1 << 10)
def legal(fen: str) -> tuple[str, ...]:
    """The legal moves, sorted."""
    here = parse_position(fen)
    return tuple(sorted(here.san(move) for move in here.legal_moves))


def moves_by_square(fen: str) -> dict[str, dict[str, str]]:
    """The legal moves, by origin and target square; a pawn is promoted to a queen.

    >>> moves_by_square(START)["g1"]
    {'h3': 'Nh3', 'f3': 'Nf3'}
    """
    here, found = parse_position(fen), dict[str, dict[str, str]]()
    for move in here.legal_moves:
        uci = move.uci()
        if uci[4:] in ("", "q"):
            found.setdefault(uci[:2], {})[uci[2:4]] = here.san(move)
    return found


def parse_move(fen: str, text: str) -> str | None:
    """The move in a reply, in SAN; None if there is none. The reply may have spaces, the number of the move (`12.`),
    signs of check and mate, a mark at the end (`!`, `?`, `.`) and 0 for O; otherwise it must be exact SAN."""
    return parse_answer(text, partial(_match_move, fen), partial(_is_running, fen), bare=True)


def _is_running(fen: str, san: str) -> bool:
    return begins_another(legal(fen))(san)


def _match_move(fen: str, answer: str) -> str | None:
    said = _NUMBER.sub("", "".join(answer.split())) if len(answer) <= _LONGEST else ""
    said = said.rstrip("!?.+#").replace("0", "O")
    if not SAN.fullmatch(said):
        return None
    here = parse_position(fen)
    try:
        san = here.san(here.parse_san(said))
    except ValueError:
        return None
    return san if san.rstrip("+#") == said else None


def to_san(fen: str, uci: str) -> str:
    """A legal move that an engine named, in SAN."""
    here = parse_position(fen)
    try:
        return here.san(here.parse_uci(uci))
    except ValueError as e:
        raise UserError(f"chess: move: got {uci!r} from the engine, allowed: a legal move in {fen} ({e})") from e


def position_key(fen: str) -> str:
    """The part of a position that decides whether it repeats: everything but the clocks."""
    return fen.rsplit(" ", 2)[0]


def play_move(fen: str, san: str, before: tuple[str, ...]) -> tuple[str, tuple[str, ...], str]:
    """The position after a legal move, the earlier positions that may repeat, and how the game ended, if it did
    (`game_ending`). `before` are the positions before the move."""
    here = parse_position(fen)
    move = here.parse_san(san)
    keeps = not here.is_irreversible(move)
    after = here.copy(stack=False)
    after.push(move)
    seen = (*before, position_key(fen)) if keeps else ()
    return after.fen(), seen, game_ending(after, seen)


def game_ending(here: Board, before: tuple[str, ...]) -> str:
    """How the game ended: mate, stalemate, material (neither side can mate), seventyfive (moves without capture or pawn
    move), fivefold (repetition); empty if it has not. These end a game without a claim (FIDE 5.2, 9.6)."""
    if not any(here.legal_moves):
        return "mate" if here.is_check() else "stalemate"
    if here.is_insufficient_material():
        return "material"
    if here.halfmove_clock >= 150:
        return "seventyfive"
    return "fivefold" if len(before) >= 16 and before.count(position_key(here.fen())) >= 4 else ""


# --- exact play against the bare king --------------------------------------------------------------------------------


def plies_to_mate(fen: str) -> int | None:
    """The exact number of plies until White mates with best play of both sides; None if White cannot force mate, or if
    no table has the position (`is_solved`)."""
    return _plies_to_mate(parse_position(fen))


def is_solved(fen: str) -> bool:
    """Whether a table has the position: Black has the bare king, and White one of `CLASSES`."""
    return _white_pieces(parse_position(fen)) in CLASSES


def _white_pieces(here: Board) -> str:
    """White's pieces beside the king; empty if Black has any."""
    if here.occupied_co[False].bit_count() != 1:
        return ""
    men = (here.piece_at(square) for square in range(64) if here.occupied_co[True] >> square & 1)
    return "".join(sorted(man.symbol() for man in men if man and man.symbol() != "K"))


def _plies_to_mate(here: Board) -> int | None:
    pieces = _white_pieces(here)
    if pieces not in CLASSES:  # bare kings, after a capture
        return None
    from .endgames import load_table

    kings = here.king(False), here.king(True)
    assert kings[0] is not None and kings[1] is not None
    kinds = {here.queens: "Q", here.rooks: "R"}
    others = [square for mask in kinds for square in range(64) if mask >> square & 1]
    return load_table(pieces).plies_to_mate(here.turn, kings[0], kings[1], others)


def plies_after_moves(fen: str) -> dict[str, int | None]:
    """`plies_to_mate` after each legal move of a solved position."""
    here = parse_position(fen).copy(stack=False)
    found: dict[str, int | None] = {}
    for san in legal(fen):
        here.push_san(san)
        found[san] = _plies_to_mate(here)
        here.pop()
    return found


def table_moves(fen: str) -> tuple[str, ...]:
    """The best moves of a solved position: for White those that mate soonest (none if mate cannot be forced), for Black
    those that avoid mate, or else delay it longest."""
    plies = plies_after_moves(fen)
    if not parse_position(fen).turn and None in plies.values():
        return tuple(san for san, n in plies.items() if n is None)
    forced = [n for n in plies.values() if n is not None]
    best = min(forced, default=0) if parse_position(fen).turn else max(forced)
    return tuple(san for san, n in plies.items() if n == best)


def move_regret(fen: str, san: str) -> int | None:
    """The plies by which White's move in a solved position delays mate, compared with the best move; None if it gives
    a forced mate away."""
    best, found = plies_to_mate(fen), plies_after_moves(fen)[san]
    return None if best is None or found is None else found + 1 - best
