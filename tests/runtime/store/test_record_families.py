"""The record families beside the session core: what each keeps true whoever writes to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holaboss_client.base import utc_now
from holaboss_runtime.errors import DomainError
from holaboss_runtime.store.app_registry import PORTS, AppBuilds, AppCatalog, AppPorts
from holaboss_runtime.store.bindings import Bindings
from holaboss_runtime.store.clock import from_now
from holaboss_runtime.store.cronjobs import Cronjobs
from holaboss_runtime.store.database import Database
from holaboss_runtime.store.memory_entries import MemoryEmbeddings, MemoryEntries, MemoryEntry
from holaboss_runtime.store.notifications import Notifications
from holaboss_runtime.store.oauth_apps import OAuthApps
from holaboss_runtime.store.outputs import OutputFolders, Outputs
from holaboss_runtime.store.proposals import MemoryProposals, TaskProposals
from holaboss_runtime.store.run_tokens import RunTokens
from holaboss_runtime.store.skill_candidates import SkillCandidates


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database.open(tmp_path / "runtime.db")
    now = utc_now()
    opened.execute(
        "INSERT INTO workspaces (id, workspace_path, name, status, harness, created_at, updated_at)"
        " VALUES ('w', '/w', 'W', 'active', 'native', ?, ?)",
        (now, now),
    )
    for session in ("s", "t"):
        opened.execute(
            "INSERT INTO agent_sessions (session_id, workspace_id, created_by, created_at, updated_at)"
            " VALUES (?, 'w', 'u', ?, ?)",
            (session, now, now),
        )
    yield opened
    opened.close()


def refused(call: Any, *arguments: Any, **named: Any) -> str:
    with pytest.raises(DomainError) as raised:
        call(*arguments, **named)
    return raised.value.code


def test_a_binding_is_replaced_and_a_session_of_a_harness_bound_once(database: Database) -> None:
    bindings = Bindings(database)
    first = bindings.put("w", "s", "native", "h1")
    second = bindings.put("w", "s", "native", "h2")
    assert second == replace(first, harness_session_id="h2", updated_at=second.updated_at)
    assert bindings.get("w", "s") == second
    assert bindings.get("w", "t") is None
    assert refused(bindings.put, "w", "t", "native", "h2") == "agent_runtime_sessions_invalid"
    assert bindings.of_workspace("w") == [second]


def test_outputs_are_filtered_counted_and_paged(database: Database) -> None:
    outputs, folders = Outputs(database), OutputFolders(database)
    folder = folders.create("w", "F").id
    made = [
        outputs.create("w", kind, platform=kind, folder_id=folder, created_at=f"2026-{kind}")
        for kind in ("a", "b")
    ]
    made.append(outputs.create("w", "b", status="completed", session_id="s", created_at="2026-c"))
    outputs.create("other", "a")
    assert outputs.page("w") == made[::-1]
    assert outputs.page("w", limit=1, offset=1) == [made[1]]
    assert outputs.page("w", output_type="b", folder_id=folder) == [made[1]]
    counts = outputs.counts("w")
    assert (counts.total, counts.by_status) == (3, {"completed": 1, "draft": 2})
    assert counts.by_folder == {"": 1, folder: 2}
    assert counts.by_platform == {"": 1, "a": 1, "b": 1}
    assert refused(outputs.create, "w", "a", id=made[0].id) == "outputs_exists"
    assert outputs.update("other", made[0].id, {"title": "x"}) is None
    assert outputs.delete("w", made[0].id)
    assert not outputs.delete("w", made[0].id)


def test_a_change_keeps_where_an_output_came_from(database: Database) -> None:
    outputs = Outputs(database)
    made = outputs.create("w", "file", metadata={"origin_type": "app", "change_type": "created", "a": 1})
    changed = outputs.update("w", made.id, {"metadata": {"change_type": "modified", "b": 2}})
    assert changed is not None
    assert changed.metadata == {"origin_type": "app", "change_type": "modified", "b": 2}
    with pytest.raises(ValueError, match="no colour"):
        outputs.update("w", made.id, {"colour": "red"})


def test_a_build_remembers_its_times_and_its_restarts(database: Database) -> None:
    builds = AppBuilds(database)
    building = builds.put("w", "a", "building")
    assert building.started_at is not None
    assert building.completed_at is None
    failed = builds.put("w", "a", "failed", error="no")
    assert (failed.started_at, failed.error) == (building.started_at, "no")
    assert failed.completed_at is not None
    assert [builds.count_restart("w", "a") for _ in range(2)] == [1, 2]
    assert builds.put("w", "a", "stopped").restart_attempts == 2
    running = builds.put("w", "a", "running")
    assert (running.restart_attempts, running.error) == (0, None)
    assert builds.of_workspace("w") == [running]
    assert builds.count_restart("w", "none") == 0
    assert builds.delete("w", "a")
    assert builds.get("w", "a") is None


def test_a_port_belongs_to_one_app_and_stays_its_own(database: Database) -> None:
    ports = AppPorts(database)
    assert [ports.allocate("w", app).port for app in ("a", "b", "a")] == [38080, 38081, 38080]
    assert ports.allocate("v", "a", avoid={38082}).port == 38083
    assert ports.free("w", "a")
    assert ports.allocate("v", "c").port == 38080
    assert [port.app_id for port in ports.of_workspace("v")] == ["a", "c"]
    assert refused(ports.allocate, "v", "d", avoid=PORTS) == "ports_exhausted"


def test_a_catalogue_is_replaced_source_by_source(database: Database) -> None:
    catalog = AppCatalog(database)
    app = {"app_id": "a", "name": "A", "target": "linux", "tags_json": ["x"]}
    catalog.replace("marketplace", [app, {**app, "app_id": "b"}])
    catalog.replace("local", [app])
    catalog.replace("marketplace", [{**app, "name": "New"}])
    assert [(item.source, item.app_id, item.name, item.tags_json) for item in catalog.page()] == [
        ("local", "a", "A", ["x"]),
        ("marketplace", "a", "New", ["x"]),
    ]
    assert refused(catalog.replace, "local", [{"app_id": "broken"}]) == "app_catalog_invalid"
    assert len(catalog.page("local")) == 1


def test_an_instruction_follows_the_description_it_was(database: Database) -> None:
    jobs = Cronjobs(database)

    def create(**values: Any) -> str:
        return jobs.create(
            "w", initiated_by="u", cron="* * * * *", description="d", delivery={"mode": "none"}, **values
        ).id

    follows, own = create(), create(instruction="i", enabled=False)
    for job, expected in ((follows, "new"), (own, "i")):
        changed = jobs.update("w", job, {"description": "new"})
        assert changed is not None
        assert (changed.instruction, changed.delivery) == (expected, {"mode": "none"})
    assert [job.id for job in jobs.page("w", enabled_only=True)] == [follows]
    assert jobs.due(from_now(0)) == []
    jobs.update("w", follows, {"next_run_at": from_now(-1)})
    jobs.update("w", own, {"next_run_at": from_now(-1)})
    assert [job.id for job in jobs.due(from_now(0))] == [follows]
    assert jobs.due(from_now(-60)) == []
    assert not jobs.delete("other", own)
    assert jobs.delete("w", own)


def test_notices_come_by_importance_and_then_by_age(database: Database) -> None:
    notices = Notifications(database)
    made = {
        name: notices.create(
            "w",
            source_type="t",
            title=name,
            message="m",
            priority=priority,
            level="loud",
            created_at=f"2026-{name}",
        ).id
        for name, priority in (
            ("a", "low"),
            ("b", "normal"),
            ("c", "critical"),
            ("d", "normal"),
            ("e", "odd"),
        )
    }
    assert [notice.title for notice in notices.page("w")] == ["c", "e", "d", "b", "a"]
    assert {notice.level for notice in notices.page()} == {"info"}
    read = notices.set_state(made["a"], "read")
    dismissed = notices.set_state(made["b"], "dismissed")
    assert read is not None
    assert dismissed is not None
    assert read.read_at is not None
    assert dismissed.dismissed_at is not None
    assert [notice.title for notice in notices.page("w", state="dismissed")] == ["b"]
    assert len(notices.page("w")) == 4
    assert len(notices.page("w", include_dismissed=True, limit=3)) == 3
    unread = notices.set_state(made["a"], "unread")
    assert unread is not None
    assert unread.read_at is None
    assert notices.set_state("none", "read") is None
    assert refused(notices.set_state, made["a"], "lost") == "state_invalid"


def test_an_oauth_client_is_kept_without_its_secret(database: Database) -> None:
    apps = OAuthApps(database)
    fields: dict[str, Any] = {"authorize_url": "https://a", "token_url": "https://t", "scopes": ("x",)}
    apps.put("google", client_id="1", client_secret_ref="keychain:oauth/google", **fields)
    changed = apps.put("google", client_id="2", **fields)
    assert (changed.client_id, changed.client_secret_ref, changed.redirect_port) == ("2", None, 38765)
    assert apps.all() == [changed]
    assert changed.scopes == ["x"]
    assert "client_secret" not in {
        row["name"] for row in database.rows("PRAGMA table_info(oauth_app_configs)")
    }
    assert apps.delete("google")
    assert apps.get("google") is None


def test_a_proposal_is_decided_once(database: Database) -> None:
    tasks, memories = TaskProposals(database), MemoryProposals(database)
    words = {"task_name": "n", "task_prompt": "p", "task_generation_rationale": "r"}
    first, second = tasks.create("w", **words), tasks.create("w", **words)
    accepted = tasks.accept(first.proposal_id, session_id="s", input_id="i")
    assert (accepted.state, accepted.accepted_session_id) == ("accepted", "s")
    assert refused(tasks.dismiss, first.proposal_id) == "proposal_decided"
    assert tasks.dismiss(second.proposal_id).state == "dismissed"
    assert refused(tasks.accept, second.proposal_id, session_id="s", input_id="i") == "proposal_decided"
    assert refused(tasks.dismiss, "none") == "task_proposal_not_found"
    assert tasks.page("w", state="not_reviewed") == []
    made = memories.create(
        "w", session_id="s", input_id="i", proposal_kind="preference", target_key="k", title="t", summary="s"
    )
    kept = memories.accept(made.proposal_id, persisted_memory_id="m", summary="better")
    assert (kept.state, kept.summary, kept.persisted_memory_id) == ("accepted", "better", "m")
    assert refused(memories.dismiss, made.proposal_id) == "proposal_decided"
    assert refused(memories.dismiss, "none") == "memory_proposal_not_found"
    assert memories.page("w", state="pending") == []
    assert memories.page("w", session_id="s") == [kept]


def test_a_skill_candidate_notes_when_it_moved_on(database: Database) -> None:
    candidates = SkillCandidates(database)
    made = candidates.create(
        "w",
        session_id="s",
        input_id="i",
        kind="skill_create",
        title="t",
        summary="s",
        slug="x",
        skill_path="p",
        content_fingerprint="f",
        source_turn_input_ids=["i"],
    )
    proposed = candidates.set_status(made.candidate_id, "proposed", task_proposal_id="p")
    assert proposed is not None
    assert proposed.proposed_at is not None
    assert candidates.of_proposal("p") == candidates.get(made.candidate_id) == proposed
    assert candidates.page("w", status="draft") == []
    assert candidates.set_status("none", "accepted") is None
    assert refused(candidates.create, "w", session_id="s") == "evolve_skill_candidates_invalid"


def remember(entries: MemoryEntries, memory_id: str, fingerprint: str = "f1") -> MemoryEntry:
    return entries.put(
        memory_id=memory_id,
        workspace_id="w",
        scope="workspace",
        memory_type="fact",
        subject_key=memory_id,
        path=f"{memory_id}.md",
        title="t",
        summary="s",
        tags=["a"],
        verification_policy="none",
        fingerprint=fingerprint,
    )


def test_memories_and_what_of_them_was_embedded(database: Database) -> None:
    entries, embeddings = MemoryEntries(database), MemoryEmbeddings(database)
    one, two = remember(entries, "one"), remember(entries, "two")
    embedding = {"scope_bucket": "workspace", "embedding_model": "m", "embedding_dim": 3}
    first = embeddings.put(one, content_fingerprint="f1", **embedding)  # type: ignore[arg-type]
    assert embeddings.missing("m", limit=9) == ["two"]
    assert set(embeddings.missing("other", limit=9)) == {"one", "two"}
    one = remember(entries, "one", "f2")
    assert one.created_at <= one.updated_at
    assert set(embeddings.missing("m", limit=9)) == {"one", "two"}
    again = embeddings.put(one, content_fingerprint="f2", **embedding)  # type: ignore[arg-type]
    assert again.vec_rowid == first.vec_rowid  # the place of its vector does not move
    assert embeddings.by_rows([again.vec_rowid, 99]) == {again.vec_rowid: again}
    entries.supersede("two")
    assert embeddings.missing("m", limit=9) == []
    assert [entry.memory_id for entry in entries.page(workspace_id="w")] == ["one"]
    assert [entry.memory_id for entry in entries.page(status=None, path=two.path)] == ["two"]
    assert entries.delete("one")
    assert embeddings.get("one") is None


def test_a_run_token_is_known_by_its_hash_and_ends(database: Database) -> None:
    tokens = RunTokens(database)

    def issue(run: str, lifetime_s: float = 60) -> str:
        return tokens.issue(
            run, workspace_id="w", session_id="s", input_id="i", scopes=["read"], lifetime_s=lifetime_s
        )

    token = issue("r")
    found = tokens.find(token)
    assert found is not None
    assert (found.run_id, found.scopes) == ("r", ["read"])
    assert token not in str(database.rows("SELECT * FROM sandbox_run_tokens"))
    newer = issue("r")
    assert tokens.find(token) is None
    assert tokens.find(newer) is not None
    assert tokens.revoke("r")
    assert not tokens.revoke("r")
    assert tokens.find(newer) is tokens.find("guess") is tokens.find(issue("over", -1)) is None
    assert tokens.forget_expired() == 1


def test_a_proposal_becomes_one_session(database: Database) -> None:
    import apsw

    database.execute("UPDATE agent_sessions SET source_proposal_id = 'p' WHERE session_id = 's'")
    with pytest.raises(apsw.ConstraintError):
        database.execute("UPDATE agent_sessions SET source_proposal_id = 'p' WHERE session_id = 't'")
