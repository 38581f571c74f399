"""Alpha-beta search over chess positions: a fixed depth, then the best exchange.

The search has textbook parts: negamax with alpha-beta, promising moves first. The evaluation is ours and small:
material, where the men stand, and, against a bare king, how near that king is to the edge and to the other king, so
that a won game ends in mate. Scores are centipawns for the side to move. The search uses neither random numbers nor a
clock, so a position and a depth have one result on every machine. It does not consider repetitions.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from .position import parse_position

if TYPE_CHECKING:
    from chess import Board, Move

MATE = 100_000
_PAWN, _KNIGHT, _BISHOP, _ROOK, _QUEEN, _KING = range(1, 7)
_WORTH = (0, 100, 320, 330, 500, 900, 0)
_PRICE = (0, 100, 320, 330, 500, 900, MATE)
"""The price of losing a piece that captures; a king must not be captured."""


def _centrality(square: int) -> int:
    """Centrality of a square, from 0 on the edge to 3 in the middle, in king's moves."""
    return min(square >> 3, 7 - (square >> 3), square & 7, 7 - (square & 7))


def _square_value(kind: int, square: int) -> int:
    """The value of White's piece on a square."""
    rank, middle = square >> 3, _centrality(square)
    place = {
        _PAWN: 4 * rank * (rank > 1) + (12 if square in (27, 28) else 0),
        _KNIGHT: 14 * middle - 20,
        _BISHOP: 8 * middle - 8 * (rank == 0),
        _ROOK: 15 * (rank == 6),
        _QUEEN: 3 * middle,
        _KING: -12 * rank - 6 * middle,
    }
    return _WORTH[kind] + place[kind]


_STANDS = tuple(tuple(_square_value(kind, square) if kind else 0 for square in range(64)) for kind in range(7))
_LATE = tuple(16 * _centrality(square) for square in range(64))
"""The value of a king's square when few pieces are left."""
_PIECES_LEFT = 4
"""Up to this many pieces of a side, pawns excluded and king included, count as few."""


@lru_cache(maxsize=1 << 12)
def best_moves(fen: str, depth: int) -> tuple[str, ...]:
    """The legal moves, in SAN and sorted, that a search of this depth rates best."""
    here = parse_position(fen).copy(stack=False)
    best = -2 * MATE
    found: list[Move] = []
    for move in _order_moves(here):
        here.push(move)
        # The window starts one below the best score, so that an equal move is distinguished from a worse one.
        score = -_alpha_beta(here, depth - 1, -2 * MATE, -(best - 1), 1)
        here.pop()
        if score > best:
            best, found = score, []
        if score == best:
            found.append(move)
    return tuple(sorted(here.san(move) for move in found))


def _alpha_beta(here: Board, depth: int, alpha: int, beta: int, ply: int) -> int:
    if depth <= 0:
        over = _terminal_score(here, ply)
        return _quiescence(here, beta) if over is None else over
    best = -2 * MATE
    for move in _order_moves(here):
        here.push(move)
        score = -_alpha_beta(here, depth - 1, -beta, -max(alpha, best), ply + 1)
        here.pop()
        if score > best:
            best = score
            if best >= beta:
                return best
    if best == -2 * MATE:
        return ply - MATE if here.is_check() else 0
    return 0 if here.is_insufficient_material() else best


def _terminal_score(here: Board, ply: int) -> int | None:
    """The score if the side to move is mated, or has only king and pawns and is stalemated; else None."""
    check = here.is_check()
    men = here.occupied_co[here.turn] & ~here.pawns
    if (not check and men & (men - 1)) or any(here.legal_moves):
        return None
    return ply - MATE if check else 0


def _quiescence(here: Board, beta: int) -> int:
    """The score if the side to move either makes no capture or makes its best one, after which the opponent recaptures
    if possible. A score of at least `beta` is returned at once."""
    stands, gain = evaluate_position(here), 0
    if stands >= beta:
        return stands
    for move in here.generate_pseudo_legal_captures():
        victim = _WORTH[here.piece_type_at(move.to_square) or _PAWN]
        if victim > gain:
            taker = here.piece_type_at(move.from_square) or 0
            price = _PRICE[taker]
            if victim - price > gain:
                gain = victim - price
            elif not here.is_attacked_by(not here.turn, move.to_square):
                gain = victim
    return stands + gain


def _order_moves(here: Board) -> list[Move]:
    """The legal moves, most promising first: captured piece, better square, promotion."""
    flip = 0 if here.turn else 56

    def move_promise(move: Move) -> int:
        stands = _STANDS[here.piece_type_at(move.from_square) or 0]
        victim = _WORTH[here.piece_type_at(move.to_square) or 0]
        return victim + stands[move.to_square ^ flip] - stands[move.from_square ^ flip] + _WORTH[move.promotion or 0]

    return sorted(here.legal_moves, key=move_promise, reverse=True)


def evaluate_position(here: Board) -> int:
    """Static evaluation in centipawns for the side to move."""
    white, black = _side_score(here, True), _side_score(here, False)
    return white - black if here.turn else black - white


def _side_score(here: Board, color: bool) -> int:
    mine, flip = here.occupied_co[color], 0 if color else 56
    score = 0
    kinds = (0, here.pawns, here.knights, here.bishops, here.rooks, here.queens)
    for kind in range(_PAWN, _KING):
        mask, stands = mine & kinds[kind], _STANDS[kind]
        while mask:
            low = mask & -mask
            score += stands[(low.bit_length() - 1) ^ flip]
            mask ^= low
    theirs = here.occupied_co[not color]
    king = (mine & here.kings).bit_length() - 1
    if (theirs & ~here.pawns).bit_count() <= _PIECES_LEFT:
        score += _LATE[king]
    else:
        score += _STANDS[_KING][king ^ flip]
    if theirs & here.kings == theirs and mine & ~here.kings:
        score += _king_drive(king, theirs.bit_length() - 1)
    return score


def _king_drive(king: int, other: int) -> int:
    """A bonus that grows as the bare king comes nearer to the edge, and the other king nearer to it."""
    apart = max(abs((king >> 3) - (other >> 3)), abs((king & 7) - (other & 7)))
    return 30 * (3 - _centrality(other)) + 10 * (7 - apart)
