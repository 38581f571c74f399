"""A local endpoint that speaks as OpenAI's streaming one, on a port of its own: what it says, or which tool it calls
(name and arguments), follows from the chat."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Say = Callable[[list[dict[str, str]]], "str | tuple[str, str]"]


@contextmanager
def serve_endpoint(say: Say) -> Iterator[str]:
    """Its base address while it runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = say(asked["messages"])
            said: dict[str, object] = {"role": "assistant", "content": text}
            if isinstance(text, tuple):
                call = {"name": text[0], "arguments": text[1]}
                calls = [{"index": 0, "id": f"c{len(asked['messages'])}", "type": "function", "function": call}]
                said = {"role": "assistant", "content": None, "tool_calls": calls}
            ended = "tool_calls" if "tool_calls" in said else "stop"
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            whole = {"id": "x", "created": 0, "model": asked["model"]}
            self.send_response(200)
            if asked.get("stream"):
                delta = {"index": 0, "delta": said, "finish_reason": None}
                end = {"index": 0, "delta": {}, "finish_reason": ended}
                rows = [{**whole, "object": "chat.completion.chunk", "choices": [c]} for c in (delta, end)]
                rows.append({**whole, "object": "chat.completion.chunk", "choices": [], "usage": usage})
                body = "".join(f"data: {json.dumps(row)}\n\n" for row in rows) + "data: [DONE]\n\n"
                self.send_header("Content-Type", "text/event-stream")
            else:
                choice = {"index": 0, "message": said, "finish_reason": ended}
                body = json.dumps({**whole, "object": "chat.completion", "choices": [choice], "usage": usage})
                self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
