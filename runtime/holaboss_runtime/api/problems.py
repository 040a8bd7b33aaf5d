"""Every error reply is problem details with a stable code; nothing of a body is echoed."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from holaboss_runtime.api.methods import allowed_methods
from holaboss_runtime.errors import DomainError, Kind

STATUS: dict[Kind, int] = {
    "invalid": 400,
    "forbidden": 403,
    "not_found": 404,
    "conflict": 409,
    "too_large": 413,
    "unprocessable": 422,
    "unavailable": 503,
}
_CODES = {404: "route_not_found", 405: "method_not_allowed"}
_DETAILS = {404: "There is nothing at this address.", 405: "This address does not take this method."}


class ProblemResponse(JSONResponse):
    media_type = "application/problem+json"


def problem(
    status: int,
    code: str,
    detail: str,
    /,
    *,
    headers: Mapping[str, str] | None = None,
    extra: Mapping[str, object] | None = None,
) -> ProblemResponse:
    """`extra` are further members; none of them can take the place of one that every problem has."""
    body = {
        **(extra or {}),
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
    }
    return ProblemResponse(body, status, headers=dict(headers) if headers else None)


def install(app: FastAPI) -> None:
    """Make every error of the application a problem."""
    app.add_exception_handler(DomainError, _domain)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


async def _domain(_request: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, DomainError)
    return problem(STATUS[error.kind], error.code, error.detail, extra=error.context)


async def _validation(_request: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    # Only where and what: `input` would echo a key that was sent in the wrong shape.
    errors = [
        {
            "loc": [str(part) for part in item["loc"]],
            "msg": item["msg"].removeprefix("Value error, "),
            "type": item["type"],
        }
        for item in found
    ]
    where = ".".join(errors[0]["loc"][1:]) or errors[0]["loc"][0]
    return problem(422, "invalid_request", f"{where}: {errors[0]['msg']}.", extra={"errors": errors})


async def _http(request: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, HTTPException)
    status = error.status_code
    detail = _DETAILS.get(status, HTTPStatus(status).phrase)
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["allow"] = allowed_methods(request.app.state.routes, request.scope["path"])
    return problem(status, _CODES.get(status, "error"), detail, headers=headers)


def unexpected() -> ProblemResponse:
    return problem(500, "internal", "Something went wrong inside the runtime.")


async def _unexpected(_request: Request, _error: Exception) -> ProblemResponse:
    """The gate has the error too, and writes it down."""
    return unexpected()
