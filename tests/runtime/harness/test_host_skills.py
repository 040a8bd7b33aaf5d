"""Skills in a run: quoted and invoked ones, and tools that only a skill opens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holaboss_client.events import RunEvent
from holaboss_runtime.harness.contract import Mount, RunnerEvent, WireProtocol
from holaboss_runtime.harness.frames import ToolResult
from holaboss_runtime.harness.host.skills import MAX_QUOTED_CHARS, split_quotes
from holaboss_runtime.harness.host.tools.skill import MAX_FILES
from holaboss_runtime.harness.host.toolset import toolset_of
from tests.runtime.harness.asking import (
    PROTOCOLS,
    answers_sent,
    bash,
    calls,
    decide,
    ending,
    history,
    policy,
    told,
    waiting,
)
from tests.runtime.harness.conftest import BuildPackage, Listener, local_sandbox
from tests.support.scripted_provider import ScriptedProvider, ToolCall, call, say

pytestmark = pytest.mark.anyio

GATED = "permission denied by skill policy: tool bash is gated. Invoke the skill deploy first, then call it again."


def write(root: Path, place: str, front: str = "", body: str = "Do it well.") -> str:
    folder = root / place
    folder.mkdir(parents=True, exist_ok=True)
    text = f"---\nname: {folder.name}\ndescription: About {folder.name}.\n{front}\n---\n{body}\n"
    (folder / "SKILL.md").write_text(text)
    return str(folder)


def block(name: str, body: str = "Do it well.", place: str = "") -> str:
    place = place or f"skills/{name}"
    head = f'<skill name="{name}" location="{place}/SKILL.md">'
    return f"{head}\nPaths in this skill are relative to {place}.\n\n{body}\n</skill>"


def invocations(events: list[RunnerEvent]) -> list[dict[str, Any]]:
    return [event.payload for event in events if event.event_type == RunEvent.SKILL_INVOCATION]


def said(provider: ScriptedProvider) -> str:
    """What the newest request has as the words of the person."""
    return provider.requests[-1].prompt.text


@pytest.mark.parametrize(
    ("instruction", "ids", "rest"),
    [
        ("/a\n/b\n\nDo it.\n", ["a", "b"], "Do it."),
        ("/a\nDo it.", ["a"], "Do it."),
        ("/a", ["a"], ""),
        ("/B\n/a\n/b", ["B", "a"], ""),
        ("\n  \n/a  \r\n/A\r\n/b_c-1\r\n\r\nDo\r\nit.", ["a", "b_c-1"], "Do\r\nit."),
        ("/a\n\n/b\nDo it.", ["a"], "/b\nDo it."),
        ("/a b\nDo it.", [], "/a b\nDo it."),
        ("/usr/bin is\n/a", [], "/usr/bin is\n/a"),
        (" /a\nindented", [], " /a\nindented"),
        ("Look:\n/a", [], "Look:\n/a"),
        ("//\n/ä\n", [], "//\n/ä\n"),
        ("", [], ""),
    ],
)
def test_the_lines_a_message_begins_with(instruction: str, ids: list[str], rest: str) -> None:
    assert split_quotes(instruction) == (ids, rest)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_quoted_skills_stand_before_the_message(
    listener: Listener,
    provider: ScriptedProvider,
    package: BuildPackage,
    workspace: Path,
    protocol: WireProtocol,
) -> None:
    dirs = [write(workspace, "skills/lookup"), write(workspace, "skills/policy", body="Be <kind>.")]
    provider.enqueue(say("Here."))
    events = await listener.run(
        package(
            "/LOOKUP\n/policy\n/lookup\nReview this lead.",
            protocol=protocol,
            workspace_skill_dirs=dirs,
            context_messages=["Something else."],
        )
    )
    assert ending(events)[0] == "success"
    words = str(provider.requests[-1].body)
    places = [
        words.index(text)
        for text in (
            "Something else.",
            "Quoted workspace skills:",
            "Do it well.",
            "Be <kind>.",
            "Review this lead.",
        )
    ]
    assert places == sorted(places)
    assert words.count("Do it well.") == 1
    assert "/policy\\n" not in words
    assert invocations(events) == []


async def test_what_is_missing_is_said(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    dirs = [write(workspace, "skills/a", "", "x" * (MAX_QUOTED_CHARS // 2)), write(workspace, "skills/b")]
    dirs.append(write(workspace, "skills/c", "", "y" * (MAX_QUOTED_CHARS // 2)))
    provider.enqueue(say("Hm."), say("Hm."))
    await listener.run(package("/a\n/gone\n/c\n\nGo.", workspace_skill_dirs=dirs))
    words = str(provider.requests[-1].body)
    assert "Not there: /gone." in words
    assert "Too long to be quoted as well: /c. Load it with the skill tool." in words
    assert "Do it well." not in words
    await listener.run(package("/gone"))
    assert said(provider).endswith("tell the person which:\nNot there: /gone.")


async def test_a_skill_is_loaded_with_its_files(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    folder = Path(write(workspace, "skills/sales"))
    (folder / "references").mkdir()
    (folder / "references/prices.md").write_text("p")
    (folder / "scripts").mkdir()
    (folder / "scripts/run.sh").write_text("r")
    (folder / ".hidden").write_text("h")
    (folder / "link.md").symlink_to("/etc/passwd")
    provider.enqueue(call("skill", name="SALES", args="For Ada."), say("Done."))
    events = await listener.run(package(workspace_skill_dirs=[str(folder)]))
    expected = (
        f"{block('sales')}\n\nFiles of this skill:\n- references/prices.md\n- scripts/run.sh\n\nFor Ada."
    )
    assert answers_sent(provider.requests[-1].body)[0][1] == expected
    (completed,) = told(events, "completed")
    assert completed["result"]["details"]["skill"] == {
        "id": "sales",
        "name": "sales",
        "location": "skills/sales/SKILL.md",
        "origin": "workspace",
        "problems": [],
    }
    kinds = [event.event_type for event in events if event.event_type in ("tool_call", "skill_invocation")]
    assert kinds == ["tool_call", "skill_invocation", "skill_invocation", "tool_call"]
    identity: dict[str, Any] = {
        "requested_name": "SALES",
        "skill_id": "sales",
        "skill_name": "sales",
        "skill_location": "skills/sales/SKILL.md",
        "granted_tools_expected": [],
    }
    started, done = invocations(events)
    assert started == {"phase": "started"} | identity
    assert done == {
        "phase": "completed",
        **identity,
        "widening_scope": "run",
        "managed_tools": [],
        "granted_tools": [],
        "active_granted_tools": [],
        "managed_commands": [],
        "granted_commands": [],
        "active_granted_commands": [],
        "workspace_boundary_override": False,
        "args": "For Ada.",
        "error": False,
        "error_message": None,
    }


async def test_an_unknown_one_names_those_there_are(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    dirs = [write(workspace, "skills/b"), write(workspace, "skills/a"), str(workspace / "skills/vanished")]
    provider.enqueue(call("skill", name="nope"), say("Hm."))
    events = await listener.run(package(workspace_skill_dirs=dirs))
    (answer,) = answers_sent(provider.requests[-1].body)
    assert "There is no skill 'nope' in this run. The skills are: b, a." in answer[1]
    started, done = invocations(events)
    assert started["skill_id"] is None
    assert done["error"]
    assert "no skill 'nope'" in done["error_message"]


async def test_what_comes_with_holaboss_can_be_read_and_not_written(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, tmp_path: Path
) -> None:
    folder = write(tmp_path, "embedded/helper")
    (Path(folder) / "more.md").write_text("the rest")
    provider.enqueue(
        call("skill", name="helper"),
        call("read", path="/skills/helper/more.md"),
        call("write", path="/skills/helper/more.md", content="mine"),
        say("Done."),
    )
    mounts = [Mount(mount_path="/skills/helper", source=folder)]
    await listener.run(package(workspace_skill_dirs=[folder], mounts=mounts))
    loaded, read, written = (text for _, text in answers_sent(provider.requests[-1].body))
    assert loaded.startswith(block("helper", place="/skills/helper"))
    assert "the rest" in read
    assert "can only be read" in written
    assert (Path(folder) / "more.md").read_text() == "the rest"


async def test_the_files_of_a_skill_are_bounded(workspace: Path) -> None:
    folder = write(workspace, "skills/many")
    for number in range(MAX_FILES + 10):
        (Path(folder) / f"f{number:03}").write_text("")
    hand = local_sandbox(workspace, workspace_skill_dirs=[folder])
    outcome = await hand.execute("skill", {"name": "many"})
    listed = [line for line in outcome.text.splitlines() if line.startswith("- ")]
    assert (len(listed), listed[-1]) == (MAX_FILES + 1, "- … and more")


async def test_the_tool_is_there_only_when_a_skill_is(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    provider.enqueue(say("Hi."), say("Hi."))
    await listener.run(package())
    assert "skill" not in provider.requests[-1].prompt.tools
    await listener.run(package(workspace_skill_dirs=[write(workspace, "skills/a")]))
    assert "skill" in provider.requests[-1].prompt.tools


async def test_a_tool_is_closed_until_its_skill_was_invoked(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    dirs = [
        write(workspace, "skills/deploy", "holaboss_granted_tools: [bash, read, skill, ghost]\n"
                                          "holaboss_granted_commands: [ship]"),
        write(workspace, "skills/other"),
    ]  # fmt: skip
    provider.enqueue(
        calls(bash("echo early >> log")),
        call("skill", name="other"),
        calls(bash("echo still >> log")),
        call("skill", name="deploy"),
        calls(bash("echo open >> log"), ToolCall("read", {"path": "log"})),
        say("Deployed."),
        say("Hm."),
    )
    events = await listener.run(package("/deploy\nGo on.", workspace_skill_dirs=dirs))
    status, result = ending(events)
    assert (status, result.denials) == ("success", [])
    assert (workspace / "log").read_text() == "open\n"
    texts = [text for _, text in answers_sent(provider.requests[-1].body)]
    assert texts[0] == texts[2] == GATED
    refused = told(events, "completed")[0]
    assert refused["error"]
    assert refused["denied"] == "bash is gated by the skill deploy."
    widened = [payload for payload in invocations(events) if payload["phase"] == "completed"]
    assert [payload["granted_tools"] for payload in widened] == [[], ["bash"]]
    assert [payload["active_granted_tools"] for payload in widened] == [[], ["bash"]]
    assert widened[1]["managed_tools"] == ["bash"]
    assert widened[1]["granted_commands"] == widened[1]["managed_commands"] == ["ship"]
    started = [payload for payload in invocations(events) if payload["phase"] == "started"]
    assert started[1]["granted_tools_expected"] == ["bash"]

    provider.enqueue(calls(bash("echo later >> log")), say("Closed again."))
    await listener.run(package(workspace_skill_dirs=dirs, history=history(result)))
    assert (workspace / "log").read_text() == "open\n"


async def test_a_skill_never_loosens_what_the_person_said(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    dirs = [write(workspace, "skills/deploy", "holaboss_granted_tools: [bash, write]\nallowed-tools: bash")]
    rules = policy(bash="always_ask", write="deny")
    provider.enqueue(
        calls(bash("echo early >> log")),
        call("skill", name="deploy"),
        calls(bash("echo asked >> log"), ToolCall("write", {"path": "f", "content": "x"})),
        calls(bash("echo again >> log")),
        say("Done."),
    )
    options: dict[str, Any] = {"workspace_skill_dirs": dirs, "permissions": rules}
    asked = await listener.run(package(**options))
    first = waiting(asked)
    assert [pending.tool_args["command"] for pending in first.pending] == ["echo asked >> log"]
    assert [denial.tool_name for denial in first.denials] == ["write"]
    assert not (workspace / "log").exists()

    approved = decide(first.pending[0])
    resumed = await listener.run(package("", **options, history=history(first), decisions=[approved]))
    second = waiting(resumed)
    assert (workspace / "log").read_text() == "asked\n"
    assert [pending.tool_args["command"] for pending in second.pending] == ["echo again >> log"]


async def test_nobody_is_asked_about_a_closed_tool(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    dirs = [write(workspace, "skills/deploy", "holaboss_granted_tools: [bash]")]
    provider.enqueue(calls(bash("echo x >> log")), say("I see."))
    events = await listener.run(package(workspace_skill_dirs=dirs, permissions=policy(bash="always_ask")))
    assert ending(events)[0] == "success"
    assert answers_sent(provider.requests[-1].body)[0][1] == GATED


async def test_tools_a_specification_allows_stay_open_when_every_run_has_them(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    dirs = [write(workspace, "skills/deploy", "allowed-tools: bash(git:*) read write")]
    provider.enqueue(calls(bash("echo free >> log")), say("Done."))
    await listener.run(package(workspace_skill_dirs=dirs))
    assert (workspace / "log").read_text() == "free\n"


async def test_an_edited_skill_does_not_open_what_it_closed_when_the_run_began(
    listener: Listener, provider: ScriptedProvider, package: BuildPackage, workspace: Path
) -> None:
    dirs = [write(workspace, "skills/deploy", "holaboss_granted_tools: [bash]")]
    provider.enqueue(
        call("write", path="skills/deploy/SKILL.md", content="---\ndescription: x\n---\n"),
        calls(bash("echo x >> log")),
        say("Hm."),
    )
    await listener.run(package(workspace_skill_dirs=dirs))
    assert not (workspace / "log").exists()


def test_the_toolset_has_no_old_names(package: BuildPackage) -> None:
    async def unused(_: str, __: dict[str, Any]) -> ToolResult:
        raise AssertionError

    given = package(tools=["todo", "todowrite", "todoread", "skill", "glob"])
    assert list(toolset_of(given, unused)) == ["todo"]
