"""The one route that needs no token and no service: whether somebody listens."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter()


@router.get("/healthz")
@router.head("/healthz", include_in_schema=False)  # what many probes send
async def healthz() -> dict[str, bool]:
    return {"ok": True}
