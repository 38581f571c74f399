"""The web application of `sonde view`: loopback only, with a random token in every address.

A request without the token gets no answer. A page may load its own style sheet and run the one script that its content
security policy names by hash, so text of models stays text. Pages are rendered in threads; an open page polls whether
its run has changed.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import webbrowser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from aiohttp import web

from sonde.core import SondeError, UserError

from ..report import ReportPage, render_report
from ..templating import STYLE, hash_script, read_asset, render_template
from . import rate, training
from . import run as run_page
from .library import Library
from .links import Links, page_depth, parse_whole
from .pages import PARTS, SCRIPT, NotFoundError, as_json, find_page, hash_version, render_page
from .play import Games, play_example

HOST = "127.0.0.1"
PORTS = 20
"""Number of ports that are tried if none is given."""
FIRST_PORT = 8930
POLICY = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'sha256-{}'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_FIGURES: Mapping[str, Callable[[Library, str], str]] = {
    "run": run_page.draw_figures,
    "training": training.draw_figures,
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class App:
    """The request handlers, over a library and the games in progress."""

    def __init__(self, library: Library, token: str) -> None:
        self.library, self.token, self.games = library, token, Games()
        self.headers = {
            "Content-Security-Policy": POLICY.format(hash_script(read_asset(SCRIPT))),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
        }

    def make_application(self) -> web.Application:
        app = web.Application(middlewares=[self.guard_request], client_max_size=256 * 1024)
        base = f"/{self.token}"
        app.router.add_get(base, self.redirect_home)
        app.router.add_get(base + "/assets/{name}", self.show_asset)
        app.router.add_get(base + "/state/{path:.*}", self.show_state)
        app.router.add_get(base + "/figures/{kind}/{name}", self.show_figures)
        app.router.add_get(base + "/api/{path:.*}", self.show_json)
        app.router.add_get(base + "/report", self.show_report)
        app.router.add_get(base + "/compare", self.redirect_compare)
        app.router.add_get(base + "/play", self.show_start)
        app.router.add_post(base + "/play", self.begin_game)
        app.router.add_get(base + "/rules/{env}/{preset}", self.show_rules)
        app.router.add_get(base + "/play/{id}", self.show_game)
        app.router.add_post(base + "/play/{id}", self.move_game)
        app.router.add_post(base + "/rate/{run}/{id}", self.rate_episode)
        app.router.add_get(base + "/{path:.*}", self.show_page)
        return app

    @web.middleware
    async def guard_request(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer only requests with the token, to this host by its own name."""
        host = (request.host or "").rpartition(":")[0] or request.host
        given = request.path.split("/")[1] if "/" in request.path else ""
        if host not in (HOST, "localhost") or not hmac.compare_digest(given.encode(), self.token.encode()):
            return web.Response(status=404, text="not found\n", headers=self.headers)
        if request.method == "POST" and request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            return web.Response(status=403, text="only from its own pages\n", headers=self.headers)
        try:
            response = await handler(request)
        except web.HTTPException as e:
            e.headers.update(self.headers)
            raise
        except (SondeError, OSError) as e:
            response = await self._show_error(request, e)
        for name, value in self.headers.items():
            response.headers.setdefault(name, value)
        return response

    async def _show_error(self, request: web.Request, e: SondeError | OSError) -> web.Response:
        """The error in one line, as a page or as JSON."""
        status = 404 if isinstance(e, NotFoundError | UserError | FileNotFoundError) else 500
        said = str(e) if isinstance(e, SondeError) else f"{e.filename}: {e.strerror}; was the run moved or removed?"
        parts = _split_path(request.path.removeprefix(f"/{self.token}"))
        if parts and parts[0] in ("api", "state", "figures", "rules", *PARTS):
            return web.json_response({"error": said}, status=status)
        links = Links(page_depth(parts))
        values = {"why": said, "to": links, "script": read_asset(SCRIPT), "script_hash": "", "live": "", "css": ""}
        text = render_template("error.html.j2", p={"title": "Not found"}, **values)
        return _html_response(text, status)

    async def redirect_home(self, request: web.Request) -> web.StreamResponse:
        raise web.HTTPMovedPermanently(f"/{self.token}/")

    async def show_page(self, request: web.Request) -> web.Response:
        parts, query = _split_path(request.match_info["path"]), dict(request.query)

        def make_html() -> str:
            links = Links(page_depth(parts), query=query)
            found = find_page(self.library, parts, query)
            return render_page(
                found, links, live="/".join(parts) if parts[:1] not in [(name,) for name in PARTS] else ""
            )

        return _html_response(await asyncio.to_thread(make_html))

    async def show_json(self, request: web.Request) -> web.Response:
        parts, query = _split_path(request.match_info["path"]), dict(request.query)
        body = await asyncio.to_thread(lambda: as_json(find_page(self.library, parts, query)))
        return web.Response(body=body, content_type="application/json")

    async def show_state(self, request: web.Request) -> web.Response:
        found = await asyncio.to_thread(hash_version, self.library, _split_path(request.match_info["path"]))
        return web.json_response({"version": found})

    async def show_figures(self, request: web.Request) -> web.Response:
        draw = _FIGURES.get(request.match_info["kind"])
        if draw is None:
            raise NotFoundError(f"figures: got {request.match_info['kind']!r}, allowed: {', '.join(_FIGURES)}")
        return _html_response(await asyncio.to_thread(draw, self.library, request.match_info["name"]))

    async def show_report(self, request: web.Request) -> web.Response:
        names = list(request.query.getall("run", []))
        shelves = [self.library.run(name) for name in names] or self.library.runs
        evaluated = [shelf.folder for shelf in shelves if shelf.evaluation is not None]
        if not evaluated:
            raise UserError("report: got runs without an evaluation, allowed: one or more evaluated runs")
        text = await asyncio.to_thread(render_report, evaluated)
        response = _html_response(text)
        response.headers["Content-Security-Policy"] = POLICY.format(hash_script(read_asset(ReportPage.script)))
        return response

    async def redirect_compare(self, request: web.Request) -> web.Response:
        """Redirect from the table of runs: to the comparison of two runs, or the report of more."""
        names = list(dict.fromkeys(request.query.getall("run", [])))
        if len(names) == 2:
            raise web.HTTPSeeOther("/".join((f"/{self.token}", "compare", *names)))
        if not names:
            raise UserError("compare: got no run, allowed: two or more")
        raise web.HTTPSeeOther(f"/{self.token}/report?" + "&".join(f"run={name}" for name in names))

    async def show_asset(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name != STYLE:
            raise NotFoundError(f"assets: got {name!r}, allowed: {STYLE}")
        return web.Response(text=read_asset(name), content_type="text/css")

    async def rate_episode(self, request: web.Request) -> web.StreamResponse:
        """Store a rating, and redirect to the next conversation, or after the last one to the run."""
        run, identity, form = request.match_info["run"], request.match_info["id"], await _read_form(request)
        after = await asyncio.to_thread(rate.rate_episode, self.library, run, identity, form)
        to = Links()("rate", run, after, person=form["person"].strip()) if after else Links()("run", run)
        raise web.HTTPSeeOther(f"/{self.token}/{to}")

    # --- games -------------------------------------------------------------------------------------------------------

    async def show_start(self, request: web.Request) -> web.Response:
        query = dict(request.query)
        return _html_response(
            await asyncio.to_thread(lambda: render_page(self.games.start_page(query), Links(0, query=query)))
        )

    async def show_rules(self, request: web.Request) -> web.Response:
        env, preset = request.match_info["env"], request.match_info["preset"]
        return _html_response(await asyncio.to_thread(lambda: render_page(play_example(env, preset), Links(2))))

    async def begin_game(self, request: web.Request) -> web.StreamResponse:
        form = await _read_form(request)

        def make_game() -> str:
            if form.get("run"):
                turn = parse_whole("turn", form.get("turn", "0"))
                agreed = form.get("agreed") == "1"
                return self.games.take_over(self.library, form["run"], form.get("id", ""), turn, agreed=agreed)
            return self.games.start_game(form)

        raise web.HTTPSeeOther(f"/{self.token}/play/{await asyncio.to_thread(make_game)}")

    async def show_game(self, request: web.Request) -> web.Response:
        key = request.match_info["id"]
        return _html_response(await asyncio.to_thread(lambda: render_page(self.games.make_game_page(key), Links(1))))

    async def move_game(self, request: web.Request) -> web.StreamResponse:
        key, form = request.match_info["id"], await _read_form(request)
        await asyncio.to_thread(self.games.apply_form, key, form)
        raise web.HTTPSeeOther(f"/{self.token}/play/{key}#now")


def _split_path(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


async def _read_form(request: web.Request) -> dict[str, str]:
    return {name: value for name, value in (await request.post()).items() if isinstance(value, str)}


def _html_response(text: str, status: int = 200) -> web.Response:
    # A lone surrogate cannot be encoded; in text it is already shown by its code.
    return web.Response(body=text.encode("utf-8", "replace"), content_type="text/html", charset="utf-8", status=status)


async def start_server(library: Library, port: int | None, token: str | None = None) -> tuple[web.AppRunner, str]:
    """Start a server; return it with its address. Raises `UserError` if the port is taken."""
    token = token or secrets.token_urlsafe(16)
    runner = web.AppRunner(App(library, token).make_application(), access_log=None)
    await runner.setup()
    for tried in (port,) if port is not None else range(FIRST_PORT, FIRST_PORT + PORTS):
        try:
            site = web.TCPSite(runner, HOST, tried, reuse_address=True)
            await site.start()
        except OSError:
            continue
        (_, bound, *_), *_ = runner.addresses
        return runner, f"http://{HOST}:{bound}/{token}/"
    await runner.cleanup()
    where = f"port {port}" if port is not None else f"ports {FIRST_PORT} to {FIRST_PORT + PORTS - 1}"
    raise UserError(f"view: got {where}, taken by another program, allowed: a free port, or 0 for any (--port)")


def serve_app(
    places: Sequence[Path], *, port: int | None = None, browser: bool = True, on_start: Callable[[str], Any]
) -> None:
    """Serve until interrupted; call `on_start` with the address."""
    library = Library(places)

    async def serve_forever() -> None:
        runner, address = await start_server(library, port)
        on_start(address)
        if browser:
            webbrowser.open(address)
        try:
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    asyncio.run(serve_forever())
