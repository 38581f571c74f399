"""A hub on this machine, as far as huggingface_hub needs one to create repositories, commit files and read them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_REPO = r"/(?:api/)?(?P<kind>models|datasets)/(?P<repo>[\w.-]+/[\w.-]+)"


@dataclass
class Hub:
    """Repositories by kind and name, each with its files; `private` and `tokens` are what was asked with."""

    files: dict[tuple[str, str], dict[str, bytes]] = field(default_factory=dict)
    private: dict[str, bool] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    url: str = ""

    def commit_of(self, place: tuple[str, str]) -> str:
        state = sorted((name, hashlib.sha1(data).hexdigest()) for name, data in self.files[place].items())
        return hashlib.sha1(json.dumps(state).encode()).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """One request; `hub` is set by `serve_hub`."""

    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *args: object) -> None:
        pass

    def reply(self, data: object, status: int = 200, **headers: str) -> None:
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def missing(self, code: str = "RepoNotFound") -> None:
        self.reply({"error": "Repository Not Found"}, 404, X_Error_Code=code)

    def place_of(self, pattern: str) -> tuple[tuple[str, str], re.Match[str] | None]:
        """The repository that the path names, by this pattern; no match if there is none."""
        found = re.fullmatch(pattern, self.path.partition("?")[0])
        place = (found["kind"] or "models", found["repo"]) if found else ("", "")
        return place, found if place in self.hub.files else None

    def do_POST(self) -> None:
        self.hub.tokens.add(self.headers.get("Authorization", ""))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/api/repos/create":
            return self.create(json.loads(body))
        if self.path.startswith("/api/validate-yaml"):
            return self.reply({"errors": [], "warnings": []})
        place, found = self.place_of(_REPO + r"/(?P<what>preupload|commit)/.*")
        if found is None:
            return self.missing()
        if found["what"] == "preupload":
            names = [f["path"] for f in json.loads(body)["files"]]
            return self.reply(
                {"files": [{"path": name, "uploadMode": "regular", "shouldIgnore": False} for name in names]}
            )
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "file":
                self.hub.files[place][line["value"]["path"]] = base64.b64decode(line["value"]["content"])
        commit = self.hub.commit_of(place)
        url = f"{self.hub.url}/{place[0]}/{place[1]}/commit/{commit}"
        self.reply({"success": True, "commitOid": commit, "commitUrl": url})

    def create(self, asked: dict[str, Any]) -> None:
        name, kind = f"{asked.get('organization') or 'me'}/{asked['name']}", f"{asked.get('type') or 'model'}s"
        known = (kind, name) in self.hub.files
        self.hub.files.setdefault((kind, name), {})
        self.hub.private.setdefault(name, asked.get("visibility") == "private" or bool(asked.get("private")))
        self.reply({"url": f"{self.hub.url}/{kind}/{name}", "id": name}, 409 if known else 200)

    def do_GET(self) -> None:
        place, found = self.place_of(_REPO + r"(?:/revision/[^/]+|/(?P<tree>tree)/[^/]+(?:/.*)?)?")
        if found is None:
            return self.send_file()
        files, commit = self.hub.files[place], self.hub.commit_of(place)
        if found["tree"]:
            rows = [(name, len(data), hashlib.sha1(data).hexdigest()) for name, data in files.items()]
            return self.reply([{"type": "file", "path": n, "size": size, "oid": oid} for n, size, oid in rows])
        siblings = [{"rfilename": name} for name in files]
        about = {"id": place[1], "sha": commit, "siblings": siblings, "tags": [], "private": self.hub.private[place[1]]}
        self.reply(about)

    def send_file(self) -> None:
        place, found = self.place_of(r"(?:/(?P<kind>datasets))?/(?P<repo>[\w.-]+/[\w.-]+)/resolve/[^/]+/(?P<file>.*)")
        if found is None:
            return self.missing()
        data = self.hub.files[place].get(found["file"])
        if data is None:
            return self.missing("EntryNotFound")
        etag = f'"{hashlib.sha1(data).hexdigest()}"'
        self.reply(data, ETag=etag, X_Repo_Commit=self.hub.commit_of(place), Accept_Ranges="bytes")

    do_HEAD = do_GET


@contextmanager
def serve_hub() -> Iterator[Hub]:
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("OfHub", (Handler,), {"hub": hub}))
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
