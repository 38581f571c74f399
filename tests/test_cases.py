"""Tables of cases: every case runs, every failure is named, and a table that is empty is an error."""

from __future__ import annotations

import pytest

from tests.cases import each


def test_every_failure_is_named_and_every_case_runs() -> None:
    seen: list[tuple[int, str]] = []

    @each("a", [1, 2])
    @each("b", ["x", "y"], ids=["first", "second"])
    def check(a: int, b: str) -> None:
        seen.append((a, b))
        assert (a, b) != (1, "x")
        if a == 2:
            with pytest.raises(ZeroDivisionError):
                _ = 1 / a

    with pytest.raises(pytest.fail.Exception, match="2 of 2 cases failed: 1, 2") as caught:
        check()
    assert seen == [(1, "x"), (1, "y"), (2, "x"), (2, "y")]
    assert "case: first" in str(caught.value) and "2 of 2 cases failed: first, second" in str(caught.value)


def test_one_failure_stays_itself_and_values_may_be_made_late(tmp_path: object) -> None:
    @each("n, root", lambda: [(4, 2), (9, 4), pytest.param(16, 4, id="sixteen")])
    def check(n: int, root: int, folder: object) -> None:
        assert folder is tmp_path and root * root == n

    with pytest.raises(AssertionError) as caught:
        check(folder=tmp_path)
    assert caught.value.__notes__ == ["case: 9, 4"]


def test_skipped_and_missing_cases() -> None:
    @each("n", [1, 2])
    def skips(n: int) -> None:
        if n < 3:
            pytest.skip("not here")

    with pytest.raises(pytest.skip.Exception):
        skips()
    for values in ([], [pytest.param(1, marks=pytest.mark.slow)]):
        with pytest.raises(AssertionError, match=r"no cases for n|a case with marks"):
            each("n", values)(lambda n: None)()
