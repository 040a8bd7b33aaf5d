"""Every command of `agent …` as a table: its name, its flags, an example, and which function does the work."""

from __future__ import annotations

from argparse import ArgumentTypeError
from dataclasses import dataclass
from typing import Any

SESSION = "01993f5a-7c1e-7b2a-9a70-6d2f0c4b8e11"
MAX_KEY = 200


@dataclass(frozen=True, slots=True)
class Flag:
    """`names` as typed, the first one is the destination unless `dest` says otherwise."""

    names: tuple[str, ...]
    options: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Command:
    """`work` is `module:function` below `cli.agent`, so that only what is used is imported.

    `words` are the flags that may also be given in this order without their names, `required` those that must be
    given. `empty` is the answer where nothing was ever stored; `makes` says that the command may begin a place. What
    `needs_no_database` gets the place instead of a desk; what `imports` takes in new files itself.
    """

    path: tuple[str, ...]
    work: str
    about: str
    example: str
    flags: tuple[Flag, ...] = ()
    words: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    empty: str | None = None
    makes: bool = False
    needs_no_database: bool = False
    imports: bool = False
    aliases: tuple[str, ...] = ()


def _flag(*names: str, **options: Any) -> Flag:  # noqa: ANN401
    return Flag(names, options)


_AGENT = _flag("--agent", "--name", dest="agent", metavar="ID", help="the agent")
_SESSION = _flag("--session", "--id", dest="session", metavar="ID", help="the session")
_REQUEST = _flag("--request", metavar="ID", help="which request; not needed when only one waits")
_NOTE = _flag("--note", metavar="TEXT", help="why, for whoever reads the log")


def _limit(default: int) -> Flag:
    return _flag(
        "--limit", type=_count, default=default, metavar="N", help=f"at most N, the newest ({default})"
    )


def _count(text: str) -> int:
    return _number(text, 1)


def _whole(text: str) -> int:
    return _number(text, 0)


def _number(text: str, least: int) -> int:
    """At most what a database can count to."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 15 and int(text) >= least):
        raise ArgumentTypeError(f"{text[:40]!r} is not a whole number from {least}")
    return int(text)


def _key(text: str) -> str:
    if not 1 <= len(text) <= MAX_KEY:
        raise ArgumentTypeError(f"give 1 to {MAX_KEY} characters")
    return text


_ONE_SESSION: dict[str, Any] = {"words": ("session",), "required": ("session",)}

COMMANDS: tuple[Command, ...] = (
    Command(
        ("create",),
        "definitions:create_agent",
        "Make an agent, or say that it is there.",
        "agent create --name alpha",
        (
            _AGENT,
            _flag("--provider", metavar="ID", help="its model provider; the configured one without it"),
            _flag("--model", metavar="ID", help="its model; the configured one without it"),
        ),
        ("agent",),
        ("agent",),
        makes=True,
        aliases=("spawn",),
    ),
    Command(("list",), "definitions:list_agents", "Every agent.", "agent list", empty="agent list: (empty)"),
    Command(
        ("session", "create"),
        "sessions:create",
        "Start a session; its agent and the default environment are made when they are not there.",
        "agent session create --name alpha",
        (
            _AGENT,
            _flag("--environment", metavar="ID", help="where it executes (local-default)"),
            _flag("--session", "--id", dest="session", metavar="UUID", help="a UUIDv7 of your own"),
            _flag("--title", metavar="TEXT", help="what a person calls it"),
            _flag("--parent", metavar="ID", help="the session that starts it"),
        ),
        ("agent",),
        ("agent",),
        makes=True,
    ),
    Command(
        ("session", "list"),
        "sessions:list_sessions",
        "Sessions of one agent, or of all.",
        "agent session list --agent alpha",
        (_AGENT, _limit(200)),
        ("agent",),
        empty="session list: (empty)",
    ),
    Command(
        ("session", "send"),
        "sessions:send",
        "Append a message. Without a server nothing runs until a wake.",
        f'agent session send --session {SESSION} --message "Review the current state."',
        (
            _SESSION,
            _flag("--message", metavar="TEXT", help="use --message=TEXT when it begins with a dash"),
            _flag(
                "--idempotency-key",
                type=_key,
                metavar="KEY",
                help="sending again with the same key changes nothing",
            ),
        ),
        ("session", "message"),
        ("session",),
    ),
    Command(
        ("session", "status"),
        "sessions:status",
        "How a session is doing.",
        f"agent session status --session {SESSION}",
        (_SESSION,),
        **_ONE_SESSION,
    ),
    Command(
        ("session", "events"),
        "sessions:events",
        "The newest events of a session, oldest first.",
        f"agent session events --session {SESSION} --limit 10",
        (_SESSION, _limit(100)),
        **_ONE_SESSION,
    ),
    Command(
        ("session", "interrupt"),
        "sessions:interrupt",
        "Stop what runs and drop what waits for a person; a note is taken up as the next thing to do.",
        f'agent session interrupt --session {SESSION} --note "Look at the tests first."',
        (_SESSION, _NOTE),
        **_ONE_SESSION,
    ),
    Command(
        ("session", "confirm-tool"),
        "sessions:confirm_tool",
        "Allow or deny a tool call that waits.",
        f"agent session confirm-tool --session {SESSION} --allowed true",
        (
            _SESSION,
            _REQUEST,
            _flag("--allowed", choices=("true", "false"), help="the decision"),
            _NOTE,
            _flag(
                "--input", metavar="JSON", help="run it with these arguments instead of those it asked with"
            ),
            _flag(
                "--remember",
                type=_count,
                metavar="N",
                help="keep its N-th suggestion as a rule: such calls run without asking from now on",
            ),
        ),
        ("session",),
        ("session", "allowed"),
    ),
    Command(
        ("session", "answer"),
        "sessions:answer",
        "Answer a question of the agent: with words, with options it named, or with both.",
        f'agent session answer --session {SESSION} --option "Blue"',
        (
            _SESSION,
            _REQUEST,
            _flag("--text", metavar="TEXT", help="the answer in your own words"),
            _flag("--option", action="append", metavar="LABEL", help="an option it named; may be repeated"),
        ),
        ("session", "text"),
        ("session",),
    ),
    Command(
        ("session", "custom-tool-result"),
        "sessions:custom_tool_result",
        "Hand in the result of a tool that is carried out elsewhere.",
        f'agent session custom-tool-result --session {SESSION} --output "42"',
        (_SESSION, _REQUEST, _flag("--output", metavar="TEXT", help="the result")),
        ("session", "output"),
        ("session", "output"),
    ),
    Command(
        ("session", "pause"),
        "sessions:pause",
        "Stop the run, or take back what would run next; nothing starts until a resume or a message.",
        f"agent session pause --session {SESSION}",
        (_SESSION,),
        **_ONE_SESSION,
    ),
    Command(
        ("session", "resume"),
        "sessions:resume",
        "Let a paused session go on.",
        f"agent session resume --session {SESSION}",
        (_SESSION,),
        **_ONE_SESSION,
    ),
    Command(
        ("session", "terminate"),
        "sessions:terminate",
        "End a session for good.",
        f"agent session terminate --session {SESSION}",
        (_SESSION,),
        **_ONE_SESSION,
    ),
    Command(
        ("session", "attach"),
        "sessions:attach",
        "Let a session reach a file or folder of this machine, from its next run on.",
        f"agent session attach --session {SESSION} --path notes.md",
        (
            _SESSION,
            _flag("--path", metavar="PATH", help="a file or folder"),
            _flag("--mount", metavar="PATH", help="where the agent sees it"),
            _flag("--access", choices=("read_only", "read_write"), default="read_only", help="(read_only)"),
            _flag("--prompt", metavar="TEXT", help="what the agent is told about it"),
        ),
        ("session", "path"),
        ("session", "path"),
    ),
    Command(
        ("wake",),
        "runs:wake",
        "Run a session once: everything that waits in it.",
        f"agent wake --session {SESSION}",
        (_SESSION,),
        **_ONE_SESSION,
    ),
    Command(
        ("orchestrator",),
        "looping:orchestrator",
        "Run everything an agent has to do, cycle by cycle. Without a server it looks once a second for new work"
        " while it watches.",
        "agent orchestrator --agent alpha --stop-when-idle --max-cycles 12",
        (
            _AGENT,
            _flag(
                "--stop-when-idle", action="store_true", help="stop when nothing is ready (unless --watch)"
            ),
            _flag("--max-cycles", type=_count, metavar="N", help="(10; without a limit when it watches)"),
            _flag("--watch", action="store_true", help="wait for what comes later, and tell of each run"),
            _flag("--log", action="store_true", help="with --watch, also events and what was skipped"),
            _flag(
                "--idle-timeout-ms",
                type=_whole,
                default=0,
                metavar="N",
                help="with --watch, stop after N ms without a run (0: never)",
            ),
            _flag("--poll-interval-ms", type=_count, default=1000, metavar="N", help="with --watch (1000)"),
        ),
        ("agent",),
        ("agent",),
    ),
    Command(
        ("activation-events",),
        "sessions:activation_events",
        "The claim journal of an agent: which wake was tried, and how it went.",
        "agent activation-events --agent alpha --kind leased,acked --limit 20",
        (
            _AGENT,
            _SESSION,
            _flag("--claim", metavar="ID", help="one claim"),
            _flag("--kind", metavar="A,B", help="leased, blocked, acked, requeued, abandoned"),
            _limit(100),
        ),
        ("agent",),
        ("agent",),
    ),
    Command(
        ("environment", "create"),
        "definitions:create_environment",
        "Describe where sessions execute, for reuse.",
        "agent environment create --name careful --workspace-access ro --network disabled",
        (
            _flag(
                "--environment", "--name", "--id", dest="environment", metavar="ID", help="the environment"
            ),
            _flag("--title", metavar="TEXT", help="what a person calls it"),
            _flag("--mode", choices=("workspace", "off"), default="workspace", help="(workspace)"),
            _flag("--workspace-access", choices=("none", "ro", "rw"), default="rw", help="(rw)"),
            _flag("--network", choices=("enabled", "disabled"), default="enabled", help="(enabled)"),
            _flag("--packages", choices=("workspace", "none"), default="workspace", help="(workspace)"),
        ),
        ("environment",),
        ("environment",),
        makes=True,
    ),
    Command(
        ("environment", "list"),
        "definitions:list_environments",
        "Every environment.",
        "agent environment list",
        empty="environment list: (empty)",
    ),
    Command(
        ("store", "rebuild-projections"),
        "store:rebuild_projections",
        "Write the files of an agent, or of all, anew from the database.",
        "agent store rebuild-projections --agent alpha",
        (_AGENT,),
        ("agent",),
    ),
    Command(
        ("store", "rebuild-db"),
        "store:rebuild_db",
        "Make a new database from the files; it never replaces one that is there.",
        "agent store rebuild-db --to rebuilt.db",
        (
            _flag("--to", metavar="FILE", help="the new database; without it, where the missing one belongs"),
            _flag("--from-files", action="store_true", help="the only source there is"),
        ),
        makes=True,
        needs_no_database=True,
    ),
    Command(
        ("store", "import"),
        "store:import_tree",
        "Take sessions that only exist as files into the database.",
        "agent store import",
        makes=True,
        imports=True,
    ),
)

GROUPS = {
    ("session",): "sessions of agents",
    ("environment",): "where sessions execute",
    ("store",): "the database and its files",
}
