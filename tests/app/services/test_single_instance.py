"""One window per profile."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtNetwork import QLocalSocket

from holaboss_app.services.profile import Profile
from holaboss_app.services.single_instance import SingleInstance
from tests.app.conftest import QLoop


def profile_at(path: Path) -> Profile:
    profile = Profile.at(path)
    profile.create()
    return profile


def test_a_second_start_calls_the_first_forward(qloop: QLoop, tmp_path: Path) -> None:
    async def scenario() -> None:
        profile = profile_at(tmp_path / "a")
        first, second = SingleInstance(profile), SingleInstance(profile)
        called = asyncio.Event()
        first.activated.connect(called.set)
        assert first.acquire()
        assert not second.acquire()
        await called.wait()
        first.release()
        assert second.acquire()
        second.release()

    qloop.run(scenario())


def test_two_profiles_are_two_applications(qloop: QLoop, tmp_path: Path) -> None:
    first = SingleInstance(profile_at(tmp_path / "a"))
    second = SingleInstance(profile_at(tmp_path / "b"))
    assert first.acquire()
    assert second.acquire()
    first.release()
    second.release()


def test_a_visitor_who_says_something_else_is_ignored(qloop: QLoop, tmp_path: Path) -> None:
    async def scenario() -> None:
        instance = SingleInstance(profile_at(tmp_path))
        calls: list[str] = []
        called = asyncio.Event()
        instance.activated.connect(lambda: (calls.append("forward"), called.set()))
        assert instance.acquire()
        visitor = QLocalSocket()
        visitor.connectToServer(instance._name)
        assert visitor.waitForConnected(1000)
        visitor.write(b"quit\n")
        assert visitor.waitForBytesWritten(1000)
        # The next one is heard after it, and is the only one that counts.
        assert not SingleInstance(profile_at(tmp_path)).acquire()
        await called.wait()
        assert calls == ["forward"]
        visitor.abort()
        instance.release()

    qloop.run(scenario())
