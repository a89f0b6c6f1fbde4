"""A small OpenAI-compatible server that looks at the pictures: an oracle behind HTTP.

It knows nothing of the mazes but what the messages show, and counts who asks for what.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from PIL import Image

from visgym_maze import Layout, picture_urls, solve, spell

CELL = 25
WALL, GOAL, AGENT = (169, 169, 169), (255, 0, 0), (0, 0, 255)


def oracle(messages: list[dict[str, Any]]) -> str:
    """The best action, read off the newest picture."""
    url = picture_urls(messages)[-1]
    picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB"))
    corners, centres = picture[::CELL, ::CELL], picture[CELL // 2 :: CELL, CELL // 2 :: CELL]
    walls = (corners == WALL).all(axis=2)
    (goal,), (agent,) = (
        [(int(row), int(column)) for row, column in np.argwhere((grid == colour).all(axis=2))]
        for grid, colour in ((corners, GOAL), (centres, AGENT))
    )
    if agent == goal:
        return "<action>stop</action>"
    maze = Layout(*walls.shape, walls.astype(np.uint8).tobytes(), agent, goal)
    return spell(solve(maze).optimal_actions(agent)[0])


class ChatServer:
    """Serves on a free port of this machine until closed.

    Attributes:
        asked: Number of answers asked for, by the first picture of the conversation.
        requests: All requests, as ``(headers, body)``.
        faults: What to do instead of answering, one for each of the next requests.
        answer: From messages to the text of the answer.
        most_at_once: Most requests that were in work at the same time.
    """

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.requests: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.faults: deque[Callable[[BaseHTTPRequestHandler], None]] = deque()
        self.answer: Callable[[list[dict[str, Any]]], str] = oracle
        self.hold_after: int | None = None
        self.seconds = 0.0
        self.most_at_once = 0
        self.lock = threading.Lock()
        self._at_once = 0
        self._released = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                owner.serve(self)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def close(self) -> None:
        self._released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self.lock:
            self.requests.append((dict(handler.headers), body))
            fault = self.faults.popleft() if self.faults else None
            held = self.hold_after is not None and len(self.requests) > self.hold_after
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            if fault is None and not held:
                self.asked[first_picture(body["messages"])] += 1
        if held:
            self._released.wait()
            handler.close_connection = True
            return
        time.sleep(self.seconds)
        reply = None if fault is not None else completion(self.answer(body["messages"]))
        with self.lock:  # before the reply, which may bring on the next request at once
            self._at_once -= 1
        with contextlib.suppress(ConnectionError):  # who asked may have given up
            if fault is not None:
                fault(handler)
            else:
                send(handler, 200, reply)


def first_picture(messages: list[dict[str, Any]]) -> str:
    return picture_urls(messages)[0]


def completion(text: str | None) -> dict[str, Any]:
    return {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 4, "total_tokens": 104},
    }


def send(handler: BaseHTTPRequestHandler, status: int, body: object, **headers: str) -> None:
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    handler.send_response(status)
    for name, value in {**headers, "Content-Length": str(len(data))}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(data)


def status(code: int, body: object = "busy", **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    """A fault: answer with this status."""
    return lambda handler: send(handler, code, body, **headers)


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    """A fault: close the connection without a word."""
    handler.close_connection = True
