"""The least that a validated POST costs here: one Litestar handler that decodes a move and answers a small object. Prints its address."""

from __future__ import annotations

import socket
from typing import Any

import uvicorn
from litestar import Litestar, post
from litestar.params import JSONBody

from shared.rules.moves import AnyMove
from shared.web.strict_request import StrictRequest


@post("/moves", status_code=200)
async def moves(data: JSONBody[AnyMove]) -> dict[str, Any]:
    """Answers without doing anything."""
    return {"revision": 1, "position": "TABLE_0:1", "hash": "0" * 64, "events": [{"type": type(data).__name__}]}


if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    app = Litestar([moves], request_class=StrictRequest, logging_config=None)
    uvicorn.Server(uvicorn.Config(app, http="httptools", loop="uvloop", lifespan="off", access_log=False, log_config=None)).run([listener])
