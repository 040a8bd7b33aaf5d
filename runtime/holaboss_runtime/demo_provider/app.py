"""The demo model as an ASGI application: `GET /v1/models` and `POST /v1/chat/completions`."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Iterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from holaboss_runtime.demo_provider import chat, script

MODEL = "scripted"


def create_app(token: str | None, pace_s: float) -> Starlette:
    """`token` is the bearer each request needs (None: no bearer), `pace_s` the pause between pieces."""

    def refusal(request: Request) -> Response | None:
        given = request.headers.get("authorization", "")
        if token is None or hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            return None
        return _problem(401, "The key of the demo model is missing or wrong.", "invalid_api_key")

    async def list_models(request: Request) -> Response:
        return refusal(request) or JSONResponse(chat.models([MODEL]))

    async def complete(request: Request) -> Response:
        if refused := refusal(request):
            return refused
        try:
            asked = chat.ChatRequest.model_validate_json(await request.body())
        except ValueError:
            return _problem(400, "This is not a chat request.", "invalid_request")
        if asked.model != MODEL:
            return _problem(
                404, f"The demo has one model, {MODEL}; {asked.model!r} is unknown.", "model_not_found"
            )
        reply = script.answer(chat.read_prompt(asked))
        if not asked.stream:
            return JSONResponse(chat.complete(reply, MODEL))
        pieces = chat.stream(reply, MODEL, usage=asked.stream_options.include_usage)
        return StreamingResponse(_paced(pieces, pace_s), media_type="text/event-stream")

    routes = [
        Route("/v1/models", list_models),
        Route("/v1/chat/completions", complete, methods=["POST"]),
    ]
    return Starlette(routes=routes)


async def _paced(pieces: Iterator[bytes], pace_s: float) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
        await asyncio.sleep(pace_s)


def _problem(status: int, message: str, code: str) -> Response:
    return JSONResponse(chat.error(message, code), status_code=status)
