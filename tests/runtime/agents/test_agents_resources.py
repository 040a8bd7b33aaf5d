"""What a session may reach, and what it may never."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.agents import AttachResource, ResourceAttachment
from holaboss_client.base import new_id
from holaboss_runtime.agents import resources
from holaboss_runtime.agents.resources import Owner, from_document, setup_fingerprint
from holaboss_runtime.errors import DomainError
from holaboss_runtime.sessions.projections.documents import resource_document
from tests.runtime.agents.place import Place


@pytest.fixture
def owner(place: Place) -> Owner:
    place.agents.ensure("alpha")
    place.agents.ensure("beta")
    (place.root / "state").mkdir()
    (place.root / "state" / "runtime-config.json").write_text("{}")
    return Owner(place.tree, "alpha", new_id())


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "report.pdf").write_text("x")
    return folder


def defaults(place: Place, owner: Owner) -> list[ResourceAttachment]:
    substrate = place.tree.agent_workspace(owner.agent_id)
    return resources.default_resources(owner, substrate, place.agents.environments.get())


def local_file(
    body: AttachResource, owner: Owner, attached: Sequence[ResourceAttachment], **options: Any
) -> ResourceAttachment:
    source = resources.local_source(body, owner, **options)
    return resources.local_file(body, source, owner.session_id, attached)


def refusal(owner: Owner, source: str | Path, *attached: ResourceAttachment, **fields: Any) -> str:
    options = {name: fields.pop(name) for name in ("base", "private") if name in fields}
    with pytest.raises(DomainError) as raised:
        local_file(AttachResource(source_ref=str(source), **fields), owner, attached, **options)
    return raised.value.code


def test_the_default_ones_in_their_order(place: Place, owner: Owner) -> None:
    found = defaults(place, owner)
    assert [(one.kind, one.role, one.mount_path, one.access) for one in found] == [
        ("workspace_directory", "session_workspace", "/workspace", "read_write"),
        ("workspace_directory", "agent_workspace_substrate", "/workspace/agent", "read_only"),
        ("learnings_memory_store", None, "/memory/learnings", "read_only"),
        ("session_runtime_memory", None, "/runtime", "read_only"),
    ]
    session = place.tree.session("alpha", owner.session_id)
    agent = place.tree.agent("alpha")
    expected = [session / "workspace", agent / "workspace", agent / "learn", session / "runtime"]
    assert [one.source_ref for one in found] == [str(path) for path in expected]
    assert len({one.id for one in found}) == 4
    assert defaults(place, owner) == found


def test_the_fingerprint_is_the_same_for_the_same_setup(place: Place, owner: Owner, papers: Path) -> None:
    found = defaults(place, owner)
    other = Owner(place.tree, "beta", new_id())
    assert setup_fingerprint(defaults(place, other)) == setup_fingerprint(found)
    assert setup_fingerprint(list(reversed(found))) == setup_fingerprint(found)
    more = local_file(AttachResource(source_ref=str(papers)), owner, found)
    fingerprints = {
        setup_fingerprint(found),
        setup_fingerprint([*found, more]),
        setup_fingerprint([*found, more.model_copy(update={"access": "read_write"})]),
        setup_fingerprint([*found, more.model_copy(update={"prompt": "p"})]),
        setup_fingerprint([*found, more.model_copy(update={"role": "r"})]),
        setup_fingerprint([*found, more.model_copy(update={"mount_path": "/m"})]),
    }
    assert len(fingerprints) == 6
    moved = more.model_copy(update={"source_ref": "/elsewhere", "id": "other"})
    assert setup_fingerprint([*found, moved]) == setup_fingerprint([*found, more])


def test_a_file_of_this_machine(owner: Owner, papers: Path) -> None:
    made = local_file(AttachResource(source_ref=str(papers / "report.pdf"), prompt=" read me "), owner, ())
    assert made == ResourceAttachment(
        id=resources.resource_id(owner.session_id, "/files/report.pdf"),
        kind="local_file",
        source_ref=str(papers / "report.pdf"),
        mount_path="/files/report.pdf",
        access="read_only",
        prompt="read me",
    )
    same = AttachResource(source_ref="../papers/report.pdf", prompt="read me")
    assert local_file(same, owner, [made], base=papers) == made
    folder = AttachResource(source_ref=str(papers), mount_path="//data///mine/", access="read_write")
    assert local_file(folder, owner, [made]).mount_path == "/data/mine"


def test_a_link_is_followed_once_and_for_all(owner: Owner, papers: Path) -> None:
    (papers / "latest").symlink_to(papers / "report.pdf")
    made = local_file(AttachResource(source_ref=str(papers / "latest")), owner, ())
    assert made.source_ref == str(papers / "report.pdf")


def test_sources_that_are_none(owner: Owner, papers: Path) -> None:
    os.mkfifo(papers / "pipe")
    (papers / "loop").symlink_to(papers / "loop")
    for source in (
        papers / "missing",
        papers / "pipe",
        papers / "loop",
        "papers",
        "",
        " ",
        "/a\0b",
        "/\ud800",
    ):
        assert refusal(owner, source) == "resource_source_invalid"


def test_state_and_other_agents_stay_out_of_reach(place: Place, owner: Owner, papers: Path) -> None:
    tree = place.tree
    elsewhere = papers / "report.pdf"
    (papers / "to-state").symlink_to(place.root / "state")
    for source in (
        place.root / "state",
        place.root / "state" / "runtime-config.json",
        papers / "to-state" / "runtime-config.json",
        place.root,
        place.root.parent,
        Path("/"),
        tree.folder,
        tree.agents,
        tree.agent("beta"),
        tree.agent_workspace("beta") / "SOUL.md",
        tree.environment("local-default").parent,
    ):
        place.agents.environments.get()
        assert refusal(owner, source) == "resource_source_forbidden", source
    assert refusal(owner, elsewhere, private=[elsewhere]) == "resource_source_forbidden"
    assert refusal(owner, papers, private=[elsewhere]) == "resource_source_forbidden"
    hard_link = papers / "same-file"
    hard_link.hardlink_to(place.root / "state" / "runtime-config.json")
    private = [place.root / "state" / "runtime-config.json"]
    assert refusal(owner, hard_link, private=private) == "resource_source_forbidden"


def test_ones_own_agent_can_only_be_read(place: Place, owner: Owner) -> None:
    source = place.tree.agent_workspace("alpha")
    assert local_file(AttachResource(source_ref=str(source)), owner, ()).access == "read_only"
    assert refusal(owner, source, access="read_write") == "resource_source_forbidden"


@pytest.mark.parametrize(
    "path", ["", "/", "//", "files", "/a/../b", "/a/./b", "/a\\b", "/a\0", "/" + "a" * 1024]
)
def test_mount_paths_that_are_none(owner: Owner, papers: Path, path: str) -> None:
    assert refusal(owner, papers, mount_path=path) == "mount_path_invalid"


def test_a_mount_path_is_used_once(place: Place, owner: Owner, papers: Path) -> None:
    found = defaults(place, owner)
    for taken in ("/workspace", "/workspace/agent/", "/runtime"):
        assert refusal(owner, papers, *found, mount_path=taken) == "mount_path_taken"
    made = local_file(AttachResource(source_ref=str(papers)), owner, found)
    assert refusal(owner, papers, *found, made, access="read_write") == "mount_path_taken"


def test_there_is_a_limit(owner: Owner, papers: Path) -> None:
    made = local_file(AttachResource(source_ref=str(papers)), owner, ())
    many = [made.model_copy(update={"mount_path": f"/m/{number}"}) for number in range(100)]
    assert refusal(owner, papers, *many) == "too_many_resources"


def document(kind: str, mount_path: str, access: str = "read_only", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "sourceRef": "/x", "mountPath": mount_path, "access": access, **more}


@pytest.mark.parametrize(
    ("stored", "kind", "role"),
    [
        (
            document("session_workspace", "/workspace", "read_write"),
            "workspace_directory",
            "session_workspace",
        ),
        (
            document("agent_workspace_substrate", "/workspace/agent"),
            "workspace_directory",
            "agent_workspace_substrate",
        ),
        (
            document("workspace_directory", "/workspace", "read_write"),
            "workspace_directory",
            "session_workspace",
        ),
        (document("workspace_directory", "/brief"), "workspace_directory", "agent_workspace_substrate"),
        (
            document("workspace_directory", "/w", "read_write", metadata={"scope": "agent_shared_substrate"}),
            "workspace_directory",
            "agent_workspace_substrate",
        ),
        (
            document("workspace_directory", "/w", role="session_workspace"),
            "workspace_directory",
            "session_workspace",
        ),
        (document("learnings_memory_store", "/memory/learnings"), "learnings_memory_store", None),
        (document("local_file", "/files/a"), "local_file", None),
    ],
)
def test_either_spelling_of_a_kind_is_understood(stored: dict[str, Any], kind: str, role: str | None) -> None:
    found = from_document(stored, "s")
    assert (found.kind, found.role) == (kind, role)


def test_a_resource_survives_its_document_and_its_row(place: Place, owner: Owner) -> None:
    for one in defaults(place, owner):
        assert from_document(resource_document(one.model_dump()), owner.session_id) == one
        assert from_document(one.model_dump(), owner.session_id) == one


@pytest.mark.parametrize("kind", ["vault", "remote_file_store", "repo_mount"])
def test_reserved_kinds_are_refused_by_name(kind: str) -> None:
    with pytest.raises(DomainError, match=kind) as raised:
        from_document(document(kind, "/vaults/a"), "s")
    assert raised.value.code == "resource_kind_unsupported"


@pytest.mark.parametrize(
    "stored",
    [
        document("other", "/a"),
        document("local_file", "/a", "rw"),
        {"kind": "local_file", "mountPath": "/a", "access": "read_only"},
        {"kind": "local_file", "sourceRef": 3, "mountPath": "/a", "access": "read_only"},
    ],
)
def test_a_record_that_is_no_resource(stored: dict[str, Any]) -> None:
    with pytest.raises(DomainError) as raised:
        from_document(stored, "s")
    assert raised.value.code == "resource_invalid"
