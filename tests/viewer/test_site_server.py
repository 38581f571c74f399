"""The application over HTTP: who is answered, what a page may load, what is told when something is wrong."""

from __future__ import annotations

import asyncio
import re
import shutil
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from sonde._util.escaping import make_visible
from sonde.core import UserError
from sonde.evaluation.ratings import Rating, read_ratings
from sonde.viewer.site.library import Library
from sonde.viewer.site.server import HOST, start_server

from .conftest import named


class Answer(NamedTuple):
    status: int
    text: str
    headers: dict[str, str]
    url: str


Ask = Callable[..., Awaitable[Answer]]


def answered(library: Library, ask: Callable[[Ask, str], Awaitable[Any]]) -> Any:
    """What `ask` makes of an application that runs as long as it does."""

    async def run() -> Any:
        runner, address = await start_server(library, 0, "token")

        async with aiohttp.ClientSession() as session:

            async def request(path: str, method: str = "GET", **more: Any) -> Answer:
                async with session.request(method, f"{address.removesuffix('token/')}{path}", **more) as answer:
                    return Answer(answer.status, await answer.text(), dict(answer.headers), str(answer.url))

            try:
                return await ask(request, address)
            finally:
                await runner.cleanup()

    return asyncio.run(run())


def get(library: Library, path: str, **more: Any) -> Answer:
    return answered(library, lambda ask, _: ask(path, **more))


def test_only_who_knows_the_token_is_answered(library: Library) -> None:
    async def asked(ask: Ask, address: str) -> None:
        for path in ("", "other/", "token2/", "favicon.ico", "other/run/x", "%ff/"):
            answer = await ask(path)
            assert (answer.status, answer.text) == (404, "not found\n")
        assert (await ask("token/")).status == 200 and (await ask("token")).url.endswith("/token/")
        port = address.split(":")[2].split("/", maxsplit=1)[0]
        assert (await ask("token/", headers={"Host": f"evil.example:{port}"})).status == 404
        assert (await ask("token/", headers={"Host": f"localhost:{port}"})).status == 200

    answered(library, asked)


def test_a_page_may_load_its_own_styles_and_run_one_script(library: Library) -> None:
    answer = get(library, "token/")
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'") and "unsafe-eval" not in policy
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]{44}'; ", policy)
    assert answer.headers["Referrer-Policy"] == "no-referrer" and answer.headers["Cache-Control"] == "no-store"
    assert answer.text.count("<script") == 1
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', answer.text)


def test_games_are_moved_from_their_own_pages_only(library: Library) -> None:
    async def asked(ask: Ask, _: str) -> None:
        form = {"env": "mastermind", "task": "3"}
        refused = await ask("token/play", method="POST", data=form, headers={"Sec-Fetch-Site": "cross-site"})
        assert refused.status == 403
        begun = await ask("token/play", method="POST", data=form)
        assert begun.status == 200 and "/token/play/" in begun.url
        key = begun.url.split("/play/")[1]
        unread = await ask("token/play", method="POST", data={"run": named(library, "entropy"), "turn": "²"})
        assert unread.status == 404 and "turn: got" in unread.text
        moved = await ask(f"token/play/{key}", method="POST", data={"say": "0123"})
        assert "0123" in moved.text and moved.url.endswith(f"/play/{key}")

    answered(library, asked)


def test_pages_parts_and_json_are_served(library: Library) -> None:
    name = named(library, "random")
    identity = library.run(name).run[0].id

    async def asked(ask: Ask, _: str) -> None:
        for path in (
            f"run/{name}",
            f"episode/{name}/{identity}",
            f"replay/{name}/{identity}",
            f"best/{name}/{identity}/0",
        ):
            assert (await ask(f"token/{path}")).status == 200
            answer = await ask(f"token/api/{path}")
            assert answer.headers["Content-Type"] == "application/json" and answer.text.startswith("{")
        assert "version" in (await ask(f"token/state/run/{name}")).text
        assert "Rules, as the agent gets them" in (await ask("token/rules/mastermind/paprika")).text
        assert "preset" in (await ask("token/rules/mastermind/nothing")).text
        assert (await ask("token/assets/style.css")).headers["Content-Type"].startswith("text/css")
        picked = await ask(f"token/compare?run={name}&run={named(library, 'entropy')}")
        assert "/compare/" in picked.url and picked.status == 200

    answered(library, asked)


@pytest.mark.parametrize(("path", "why"), [
    ("nothing/here", "address: got"), ("run/nobody", "one of the 4 runs"), ("play/nobody", "a game in progress"),
    ("compare", "compare: got no run"), ("assets/site.js", "assets: got"),
    ("group/{run}/x/²", "seed: got"), ("training/x", "one of the 1 trainings"),
])  # fmt: skip
def test_what_is_not_there_is_one_line_on_a_page(library: Library, path: str, why: str) -> None:
    answer = get(library, f"token/{path.format(run=named(library, 'entropy'))}")
    assert answer.status == 404 and why in answer.text.replace("&#39;", "'")
    assert "Traceback" not in answer.text


def test_what_is_not_there_is_one_line_of_json_for_programs(library: Library) -> None:
    answer = get(library, "token/api/run/<b>")
    assert answer.status == 404 and answer.headers["Content-Type"].startswith("application/json")
    assert "one of the 4 runs" in answer.text


def test_a_run_that_is_removed_meanwhile_is_told_of(runs: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(next(p for p in runs.iterdir() if "--random--" in p.name), tmp_path / "gone"))
    library = Library([tmp_path])
    identity = library.run("gone").run[0].id

    async def asked(ask: Ask, _: str) -> None:
        assert (await ask(f"token/episode/gone/{identity}")).status == 200
        assert (await ask("token/episode/gone/ffff")).status == 404
        shutil.rmtree(folder)
        answer = await ask("token/run/gone")
        assert answer.status == 404 and "removed?" in answer.text and "Traceback" not in answer.text
        assert "gone" in (await ask("token/state/run/gone")).text

    answered(library, asked)


def test_a_port_that_is_taken_is_named(library: Library) -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=rf"view: got port {port}, taken by another program, allowed: a free port"):
            asyncio.run(start_server(library, port))


def test_a_conversation_is_rated_without_its_outcome_and_agent(runs: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(next(p for p in runs.iterdir() if "--llm" in p.name), tmp_path / "rated"))
    library = Library([tmp_path])
    first, second = (t.id for t in list(library.run("rated").run)[:2])
    label = library.run("rated").agent

    async def asked(ask: Ask, _: str) -> None:
        form = await ask(f"token/rate/rated/{first}")
        assert form.status == 200 and "very natural" in form.text and make_visible(label) not in form.text
        shown = form.text.split("<main")[1].split("</main>")[0]
        assert 'class="kind' not in shown and "bits" not in shown and "<script" not in shown
        path, said = f"token/rate/rated/{first}", {"person": "<b>", "rating": "4", "comment": "<script>x</script>"}
        refused = await ask(path, method="POST", data=said, headers={"Sec-Fetch-Site": "cross-site"})
        assert refused.status == 403 and read_ratings(folder) == {}
        after = await ask(path, method="POST", data=said)
        assert after.status == 200 and f"/rate/rated/{second}?person=" in after.url
        assert read_ratings(folder) == {first: {"<b>": Rating(4, "<script>x</script>")}}
        again = await ask(f"token/rate/rated/{first}?person=%3Cb%3E")
        assert 'value="4" required checked' in again.text and "&lt;script&gt;x" in again.text
        assert "<script>x" not in (await ask(f"token/episode/rated/{first}")).text
        assert "100 % natural (3 to 5)" in (await ask("token/run/rated")).text
        for wrong, why in (
            ({"rating": "9"}, "rating: got 9"),
            ({"rating": ""}, "rating: got"),
            ({"person": " "}, "person: got"),
        ):
            answer = await ask(path, method="POST", data={**said, **wrong})
            assert answer.status == 404 and why in answer.text

    answered(library, asked)
