"""Real programs on real pseudo-terminals: shells, a REPL, a program that draws a screen, and how they end."""

from __future__ import annotations

import asyncio
import os
import shutil

import pytest

from holaboss_client.terminals import Terminal
from holaboss_runtime.errors import DomainError
from holaboss_runtime.permissions.model import ContainmentDemand, PermissionPolicy, PermissionRule
from holaboss_runtime.terminals import live
from holaboss_runtime.terminals.holding import Ground
from holaboss_runtime.terminals.service import MOST_IN_WORKSPACE, MOST_LIVE, Terminals
from tests.runtime.terminals.conftest import PATIENCE_S, Rig, joined
from tests.support.processes import descendants

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("containment", ["held", "not held"], indirect=True)
NOT_HELD = pytest.mark.parametrize("containment", ["not held"], indirect=True)


def ours(mark: str) -> list[str]:
    return [process.command for process in descendants(os.getpid()) if mark in process.command]


@BOTH
async def test_a_shell_answers_and_ends_with_its_exit_code(rig: Rig) -> None:
    started = await rig.start("bash --norc", title="A shell", metadata={"pane": 1})
    assert (started.status, started.cols, started.rows, started.owner) == ("running", 120, 36, "user")

    await rig.terminals.send(started.terminal_id, "echo $((40 + 2))=$TERM; stty size; exit 7\n")
    events = await rig.over(started.terminal_id)
    ended = rig.terminals.get(started.terminal_id)

    assert "42=xterm-256color\r\n36 120\r\n" in joined(events)
    assert (ended.status, ended.exit_code, ended.title, ended.metadata) == (
        "exited",
        7,
        "A shell",
        {"pane": 1},
    )
    assert [event.sequence for event in events] == list(range(1, ended.last_event_seq + 1))
    assert (events[0].event_type, events[-1].event_type) == ("started", "exit")
    assert events[0].payload["containment"] == ended.containment
    assert events[-1].payload == {"exit_code": 7, "status": "exited"}


@BOTH
async def test_it_is_the_terminal_of_the_program_with_jobs(rig: Rig) -> None:
    started = await rig.start("bash --norc")
    await rig.terminals.send(started.terminal_id, "sleep 400 & jobs; echo $(tty)-done; exit 0\n")
    said = await rig.said(started.terminal_id)
    assert "Running" in said
    assert "/dev/" in said
    assert "no job control" not in said
    assert not ours("sleep 400")


@pytest.mark.skipif(shutil.which("python3", path="/usr/bin:/bin") is None, reason="no python3 of the system")
@BOTH
async def test_a_repl(rig: Rig) -> None:
    started = await rig.start("/usr/bin/python3 -q -E")
    await rig.until(started.terminal_id, ">>>")
    await rig.terminals.send(started.terminal_id, "print('forty', 6 * 7)\n")
    await rig.until(started.terminal_id, "forty 42")
    await rig.terminals.send(started.terminal_id, "import time; print('go' + 'ing'); time.sleep(500)\n")
    await rig.until(started.terminal_id, "going")
    rig.terminals.signal(started.terminal_id, "SIGINT")
    await rig.until(started.terminal_id, "KeyboardInterrupt\r\n>>>")
    await rig.terminals.send(started.terminal_id, "exit(5)\n")
    await rig.over(started.terminal_id)
    assert rig.terminals.get(started.terminal_id).exit_code == 5


@pytest.mark.skipif(shutil.which("less") is None, reason="no less")
@BOTH
async def test_a_program_that_draws_a_screen(rig: Rig) -> None:
    (rig.folder / "long.txt").write_text("".join(f"line {number}\n" for number in range(500)))
    started = await rig.start("less long.txt", cols=40, rows=10)
    screen = await rig.until(started.terminal_id, "line 8")
    assert "\x1b[?1049h" in screen  # the other screen
    assert "line 9" not in screen
    await rig.terminals.send(started.terminal_id, "G")
    await rig.until(started.terminal_id, "line 499")
    await rig.terminals.send(started.terminal_id, "q")
    assert "\x1b[?1049l" in await rig.said(started.terminal_id)
    assert rig.terminals.get(started.terminal_id).exit_code == 0


@BOTH
@pytest.mark.parametrize("way", ["key", "signal"])
async def test_an_interrupt_reaches_what_runs_in_front_and_nobody_else(rig: Rig, way: str) -> None:
    started = await rig.start(
        "trap 'echo shell-too' INT;"
        " (trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done); echo end"
    )
    await rig.until(started.terminal_id, "ready")
    if way == "key":
        await rig.terminals.send(started.terminal_id, "\x03")
    else:
        rig.terminals.signal(started.terminal_id, "INT")
    said = await rig.said(started.terminal_id)
    assert "caught" in said
    assert "end" in said
    assert rig.terminals.get(started.terminal_id).status == "exited"


@BOTH
async def test_a_shell_survives_an_interrupt_of_its_job(rig: Rig) -> None:
    started = await rig.start("bash --norc")
    await rig.terminals.send(started.terminal_id, "echo be''gin; sleep 300\n")
    await rig.until(started.terminal_id, "begin")
    while not ours("sleep 300"):  # noqa: ASYNC110 — what is waited for is outside of this loop
        await asyncio.sleep(0.01)
    rig.terminals.signal(started.terminal_id, "int")
    await rig.terminals.send(started.terminal_id, "echo st''ill here; exit\n")
    assert "still here" in await rig.said(started.terminal_id)


@BOTH
async def test_a_new_size_is_seen(rig: Rig) -> None:
    started = await rig.start("trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done")
    await rig.until(started.terminal_id, "ready")
    resized = rig.terminals.resize(started.terminal_id, 91, 23)
    assert (resized.cols, resized.rows) == (91, 23)
    await rig.until(started.terminal_id, "23 91")


@BOTH
async def test_text_is_decoded_whatever_it_is_cut_into(rig: Rig) -> None:
    started = await rig.start(r"printf 'a\303'; sleep 0.2; printf '\251\n'; printf '\377|\342\202'; exit 0")
    assert await rig.said(started.terminal_id) == "aé\r\n\ufffd|\ufffd"


async def test_a_flood_is_kept_in_bounds_and_says_what_is_missing(rig: Rig) -> None:
    started = await rig.start("yes 0123456789012345678901234567890123456789")
    async with asyncio.timeout(PATIENCE_S):
        while not (now := rig.terminals.get(started.terminal_id)).dropped_event_seq:
            await rig.terminals.wait(started.terminal_id, now.last_event_seq, 20, 0.01)
    closed = await rig.terminals.close_one(started.terminal_id)
    page = rig.terminals.events(started.terminal_id, limit=1_000)

    assert closed.status == "closed"
    assert page.events[0].sequence == closed.dropped_event_seq + 1
    stored = rig.database.scalar("SELECT sum(length(payload)) FROM terminal_session_events")
    assert 1_500_000 < stored < 2_300_000
    largest = rig.database.scalar("SELECT max(length(payload)) FROM terminal_session_events")
    assert largest < 10_000


@BOTH
async def test_closing_ends_what_does_not_want_to_end(rig: Rig) -> None:
    started = await rig.start(
        "trap '' HUP TERM INT; (setsid sleep 301 &); nohup sleep 302 & echo ready; while :; do sleep 303; done"
    )
    await rig.until(started.terminal_id, "ready")
    closed = await rig.terminals.close_one(started.terminal_id)
    assert closed.status == "closed"
    assert closed.exit_code is not None
    assert not [command for number in (301, 302, 303) for command in ours(f"sleep {number}")]
    assert await rig.terminals.close_one(started.terminal_id) == closed


@BOTH
async def test_a_plain_program_finds_its_terminal(rig: Rig) -> None:
    started = await rig.start("stty size </dev/tty", cols=77, rows=11)
    assert await rig.said(started.terminal_id) == "11 77\r\n"


@BOTH
async def test_what_stays_behind_ends_with_the_program(rig: Rig) -> None:
    started = await rig.start("(setsid nohup sleep 304 >/dev/null 2>&1 &); sleep 0.3; echo out")
    assert "out" in await rig.said(started.terminal_id)
    assert not ours("sleep 304")


@BOTH
async def test_a_hidden_password_is_not_in_the_log(rig: Rig) -> None:
    started = await rig.start("read -rs -p 'Password: ' given; echo; echo ${#given} characters")
    await rig.until(started.terminal_id, "Password: ")
    await rig.terminals.send(started.terminal_id, "hunter2-secret\n")
    events = await rig.over(started.terminal_id)
    assert "14 characters" in joined(events)
    assert "hunter2" not in str(events)
    typed = next(event for event in events if event.event_type == "input")
    assert typed.payload == {"bytes": 15, "by": "user"}


@BOTH
async def test_a_long_text_is_typed_as_fast_as_it_is_read(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "WRITE_S", PATIENCE_S)
    started = await rig.start("stty raw -echo; echo ready; head -c 60000 | wc -c")
    await rig.until(started.terminal_id, "ready")
    await rig.terminals.send(started.terminal_id, "x" * 60_000)
    assert "60000" in await rig.said(started.terminal_id)


async def test_a_program_that_reads_nothing_is_not_waited_for_without_end(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "WRITE_S", 0.2)
    started = await rig.start("stty raw -echo; echo ready; sleep 305")
    await rig.until(started.terminal_id, "ready")
    with pytest.raises(DomainError) as refused:
        await rig.terminals.send(started.terminal_id, "x" * 60_000)
    assert refused.value.code == "terminal_busy"
    assert (await rig.terminals.close_one(started.terminal_id)).status == "closed"


async def test_two_programs_that_end_before_anybody_looks(rig: Rig) -> None:
    one, two = await asyncio.gather(rig.start("echo one"), rig.start("echo two; exit 4"))
    assert await rig.said(one.terminal_id) == "one\r\n"
    assert await rig.said(two.terminal_id) == "two\r\n"
    with pytest.raises(DomainError, match="has ended") as refused:
        await rig.terminals.send(two.terminal_id, "x")
    assert refused.value.code == "terminal_not_running"
    with pytest.raises(DomainError):
        rig.terminals.resize(one.terminal_id, 80, 24)


async def test_a_killed_program_has_the_code_of_a_shell(rig: Rig) -> None:
    started = await rig.start("echo ready; exec sleep 306")
    await rig.until(started.terminal_id, "ready")
    rig.terminals.signal(started.terminal_id, "KILL")
    await rig.over(started.terminal_id)
    assert rig.terminals.get(started.terminal_id).exit_code == 137


# Where it stands


@BOTH
async def test_it_begins_in_a_folder_of_the_workspace(rig: Rig) -> None:
    (rig.folder / "a b" / "-c").mkdir(parents=True)
    started = await rig.start("pwd; exit 3", cwd="a b/-c")
    assert (await rig.said(started.terminal_id)).strip() == str(rig.folder / "a b" / "-c")
    assert (started.cwd, rig.terminals.get(started.terminal_id).exit_code) == ("a b/-c", 3)


@pytest.mark.parametrize("cwd", ["..", "/etc", "out", "missing", "file", ".holaboss", "a/../.."])
async def test_other_folders_are_refused(rig: Rig, cwd: str) -> None:
    (rig.folder / "out").symlink_to("/etc")
    (rig.folder / "file").write_text("")
    with pytest.raises(DomainError) as refused:
        await rig.start("pwd", cwd=cwd)
    assert refused.value.code in ("path_outside_workspace", "terminal_folder_missing")
    assert rig.terminals.list(rig.workspace_id).count == 0


async def test_it_is_held_like_a_command(rig: Rig, home: object) -> None:
    outside = rig.folder.parent.parent.parent / "outside"
    outside.write_text("canary-terminal")
    rig.policy[0] = PermissionPolicy(
        rules=[PermissionRule(effect="always_ask", tool="write", path="AGENTS.md")],
        containment=ContainmentDemand(required=True, network="off"),
    )
    command = (
        f"cat {outside}; ls ~; ls .holaboss; echo x >> workspace.yaml; echo x >> AGENTS.md; echo x > mine;"
        " (exec 3<>/dev/tcp/127.0.0.1/1) 2>&1; cat /sys/class/net/*/address | wc -l; env"
    )
    plan = (rig.folder / "workspace.yaml").read_text()
    started = await rig.start(command)
    said = await rig.said(started.terminal_id)
    assert "canary-terminal" not in said
    assert (rig.folder / "workspace.yaml").read_text() == plan
    assert "x\n" not in (rig.folder / "AGENTS.md").read_text()[-2:]
    assert (rig.folder / "mine").read_text() == "x\n"
    assert (started.containment, started.network) == ("bubblewrap", "off")
    assert "TOKEN" not in said


async def test_a_workspace_that_is_only_read_stays_as_it_is(rig: Rig) -> None:
    from holaboss_client.terminals import StartTerminal

    ground = Ground(rig.folder.resolve(), PermissionPolicy(), writable=False)
    request = StartTerminal(workspace_id=rig.workspace_id, command="echo x > mine; ls AGENTS.md")
    started = await rig.terminals.start(request, ground=ground)
    assert "AGENTS.md" in await rig.said(started.terminal_id)
    assert not (rig.folder / "mine").exists()


@NOT_HELD
@pytest.mark.parametrize(
    "demand",
    [ContainmentDemand(required=True), ContainmentDemand(network="off"), ContainmentDemand(network="listed")],
)
async def test_what_cannot_be_kept_is_refused(rig: Rig, demand: ContainmentDemand) -> None:
    rig.policy[0] = PermissionPolicy(containment=demand)
    with pytest.raises(DomainError) as refused:
        await rig.start("true")
    assert refused.value.code == "terminal_not_contained"
    assert rig.terminals.list(rig.workspace_id).count == 0


@pytest.mark.parametrize(
    "about",
    [
        {"command": "a\0b"},
        {"command": "  "},
        {"title": "\ud800"},
        {"metadata": {"x": "y" * 20_000}},
        {"cwd": "\0"},
    ],
)
async def test_requests_that_nobody_can_carry_out(rig: Rig, about: dict[str, object]) -> None:
    from holaboss_client.terminals import StartTerminal

    request = StartTerminal.model_construct(
        **({"workspace_id": rig.workspace_id, "command": "true", "title": "", "owner": "user", "cwd": "."} | about),
        cols=80, rows=24, created_by=None, **({} if "metadata" in about else {"metadata": {}}),
    )  # fmt: skip
    with pytest.raises(DomainError) as refused:
        await rig.terminals.start(request)
    assert refused.value.code == "terminal_invalid"


async def test_a_program_that_cannot_be_started_says_so(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_left() -> tuple[int, int]:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "openpty", nothing_left)
    with pytest.raises(DomainError, match="Too many open files") as refused:
        await rig.start("true")
    assert refused.value.code == "terminal_failed"
    (failed,) = rig.terminals.list(rig.workspace_id).items
    assert (failed.status, failed.exit_code) == ("failed", None)


# How many, and for how long


async def test_a_workspace_has_room_for_eight(rig: Rig) -> None:
    wanted = [rig.start("sleep 307") for _ in range(MOST_IN_WORKSPACE + 3)]
    answers = await asyncio.gather(*wanted, return_exceptions=True)
    running = [answer for answer in answers if isinstance(answer, Terminal)]
    refused = [answer.code for answer in answers if isinstance(answer, DomainError)]
    assert (len(running), refused) == (MOST_IN_WORKSPACE, ["too_many_terminals"] * 3)
    await rig.terminals.close_one(running[0].terminal_id)
    assert (await rig.start("sleep 307")).status == "running"


@NOT_HELD
async def test_all_workspaces_have_room_for_sixty_four(rig: Rig) -> None:
    from holaboss_client.terminals import StartTerminal
    from holaboss_client.workspaces import CreateWorkspace

    count = MOST_LIVE // MOST_IN_WORKSPACE
    others = [await rig.workspaces.create(CreateWorkspace(name=f"W{number}")) for number in range(count)]
    for workspace in others:
        request = StartTerminal(workspace_id=workspace.id, command="exec sleep 308")
        await asyncio.gather(*(rig.terminals.start(request) for _ in range(MOST_IN_WORKSPACE)))
    with pytest.raises(DomainError) as refused:
        await rig.start("true")
    assert refused.value.code == "too_many_terminals"


async def test_the_newest_fifty_are_kept(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holaboss_runtime.terminals.service.KEPT_ENDED", 3)
    made: list[str] = []
    for _ in range(5):
        made.append((await rig.start("echo x")).terminal_id)
        await rig.over(made[-1])
    assert [one.terminal_id for one in rig.terminals.list(rig.workspace_id).items] == made[:1:-1]
    assert rig.database.scalar("SELECT count(DISTINCT terminal_id) FROM terminal_session_events") == 3


@pytest.mark.parametrize("idle_s", [0.3])
async def test_an_agents_terminal_that_nobody_uses_is_closed_and_a_persons_is_not(rig: Rig) -> None:
    persons = await rig.start("sleep 309")
    agents = await rig.start("sleep 310", owner="agent")
    async with asyncio.timeout(PATIENCE_S):
        while (ticket := rig.changes.signal.ticket()) and rig.terminals.get(agents.terminal_id).is_live:
            await ticket.wait()
    assert rig.terminals.get(agents.terminal_id).status == "closed"
    assert rig.terminals.get(persons.terminal_id).status == "running"


@pytest.mark.parametrize("idle_s", [0.1])
async def test_an_agents_terminal_stays_while_something_runs_in_its_workspace(rig: Rig) -> None:
    asked: list[str] = []
    enough = asyncio.Event()

    def in_use(workspace_id: str) -> bool:
        asked.append(workspace_id)
        if len(asked) == 3:
            enough.set()
        return True

    rig.terminals.in_use = in_use
    agents = await rig.start("sleep 311", owner="agent")
    await enough.wait()
    assert rig.terminals.get(agents.terminal_id).status == "running"
    assert set(asked) == {rig.workspace_id}


async def test_a_server_that_stops_ends_them_all(rig: Rig) -> None:
    one = await rig.start("trap '' HUP TERM; echo ready; while :; do sleep 312; done")
    two = await rig.start("sleep 313")
    await rig.until(one.terminal_id, "ready")
    await rig.terminals.close()
    statuses = {record.terminal_id: record.status for record in rig.records.page()}
    assert statuses == {one.terminal_id: "interrupted", two.terminal_id: "interrupted"}
    assert not ours("sleep 31")
    with pytest.raises(DomainError) as refused:
        await rig.start("true")
    assert refused.value.code == "runtime_stopping"


async def test_what_a_dead_server_left_is_interrupted_at_the_next_start(rig: Rig) -> None:
    started = await rig.start("sleep 314")
    after = Terminals(rig.database, rig.changes, rig.workspaces, lambda _: PermissionPolicy())
    assert after.recover() == 1
    assert after.get(started.terminal_id).status == "interrupted"
    assert after.recover() == 0
    assert rig.terminals.recover() == 0


@BOTH
async def test_deleting_a_workspace_ends_its_terminals(rig: Rig) -> None:
    started = await rig.start("trap '' HUP TERM; echo ready; while :; do sleep 315; done")
    await rig.until(started.terminal_id, "ready")
    rig.workspaces.deleted.append(rig.terminals.workspace_deleted)
    await rig.workspaces.delete(rig.workspace_id)
    await rig.over(started.terminal_id)
    assert not ours("sleep 315")


async def test_everybody_who_shows_terminals_is_told(rig: Rig) -> None:
    before = rig.changes.last_seq()
    started = await rig.start("true")
    await rig.over(started.terminal_id)
    told = [event for event in rig.changes.after(before) or [] if event.kind == "terminal"]
    assert [event.payload["status"] for event in told] == ["starting", "running", "exited"]
    assert {event.payload["terminal_id"] for event in told} == {started.terminal_id}


async def test_lists_by_session_and_status(rig: Rig) -> None:
    one = await rig.start("sleep 316")
    two = await rig.start("true")
    await rig.over(two.terminal_id)
    listed = rig.terminals.list(rig.workspace_id, statuses=["running", "starting"])
    assert [item.terminal_id for item in listed.items] == [one.terminal_id]
    assert rig.terminals.list(rig.workspace_id).count == 2
    assert rig.terminals.list(rig.workspace_id, session_id="nobody").count == 0
    assert rig.terminals.list("elsewhere").count == 0
    with pytest.raises(DomainError) as refused:
        rig.terminals.get("nothing")
    assert refused.value.code == "terminal_not_found"
