"""Why a call is asked or refused, as one short sentence for people."""

from __future__ import annotations

from holaboss_runtime.permissions.matching import FILE_TOOLS, Aspect, Call, Fit, fit
from holaboss_runtime.permissions.model import Permission, PermissionPolicy, PermissionRule, RuleSource
from holaboss_runtime.permissions.programs import only_reads, sends_or_changes_the_system
from holaboss_runtime.permissions.protected import protected_by, secret_by
from holaboss_runtime.permissions.unwrap import program_of
from holaboss_runtime.permissions.words import names

MAX_SHOWN = 80
_WITH_SUBCOMMANDS = names(
    "git npm yarn pnpm bun cargo go docker podman kubectl helm pip pip3 uv poetry conda make just gh glab apt apt-get "
    "brew dnf systemctl service dotnet mvn gradle terraform aws gcloud az fly heroku deno rustup gem bundle"
)
_OWNERS: dict[RuleSource, str] = {
    "profile": "The profile",
    "workspace": "A rule of workspace.yaml",
    "agent": "The definition of this agent",
    "person": "A rule you keep",
}


def reason_for(
    policy: PermissionPolicy, call: Call, aspect: Aspect, effect: Permission, rule: PermissionRule | None
) -> str:
    """`rule` is the one that forbids it; None when none of them does so by name."""
    if effect == "deny":
        who = _OWNERS[rule.source] if rule is not None else f"The profile “{policy.profile}”"
        return f"{who} forbids {_what(call, aspect)}."
    asked_by = _asking_rule(policy, call, aspect)
    if aspect.kind == "command":
        return _of_command(aspect, asked_by)
    if aspect.kind == "path" and (asked_by is not None or call.facts.tool in FILE_TOOLS):
        return _of_path(aspect, asked_by)
    if aspect.kind == "host":
        return f"It connects to {_short(aspect.value)}."
    if aspect.kind == "server":
        return _of_server(call)
    if asked_by is not None and asked_by.source != "profile":
        return f"{_OWNERS[asked_by.source]} asks before {_what(call, aspect)}."
    return f"{_short(call.facts.tool)} is not on the list of tools that run without asking."


def _asking_rule(policy: PermissionPolicy, call: Call, aspect: Aspect) -> PermissionRule | None:
    asking = [
        rule
        for rule in policy.rules
        if rule.effect != "always_allow" and fit(rule, aspect, call) is not Fit.NO and _names_something(rule)
    ]
    return asking[-1] if asking else None


def _names_something(rule: PermissionRule) -> bool:
    named = (rule.command, rule.path, rule.host, rule.server)
    return rule.source != "profile" or any(each is not None for each in named)


def _of_command(aspect: Aspect, asked_by: PermissionRule | None) -> str:
    command = aspect.command
    if command is None or not program_of(command.words):
        return "It cannot be told beforehand what this runs."
    if asked_by is not None and asked_by.source != "profile":
        return f"{_OWNERS[asked_by.source]} asks before {_name(aspect)}."
    if sends_or_changes_the_system(command):
        return f"{_name(aspect)} can send things out of this machine or change the system."
    if not command.certain:
        return f"It cannot be told for sure what {_name(aspect)} does here."
    if only_reads(command):
        return f"{_name(aspect)} runs where another folder may decide what it does."
    if command.redirects:
        return f"{_name(aspect)} writes to a file."
    return f"{_name(aspect)} is not on the list of commands that run without asking."


def _of_path(aspect: Aspect, asked_by: PermissionRule | None) -> str:
    shown = _short(aspect.value)
    if aspect.access == "read":
        return (
            f"It reads {shown}, which may hold secrets." if secret_by(aspect.value) else f"It reads {shown}."
        )
    if asked_by is not None and asked_by.source == "profile" and (why := protected_by(aspect.value)):
        return f"It changes {shown}, {why}."
    if aspect.value.startswith("/"):
        return f"It writes to {shown}, outside the workspace."
    return f"It changes {shown}."


def _of_server(call: Call) -> str:
    facts = call.facts
    if facts.destructive is True:
        return "The server says that this tool can change or remove things."
    if facts.read_only is None:
        return "The server says nothing about whether this tool only reads."
    if facts.read_only is False:
        return "The server says that this tool changes things."
    return "It is a tool of another program, which says itself that it only reads."


def _what(call: Call, aspect: Aspect) -> str:
    if aspect.kind == "command":
        return _name(aspect)
    if aspect.kind == "path":
        return f"{'reading' if aspect.access == 'read' else 'changing'} {_short(aspect.value)}"
    if aspect.kind == "host":
        return f"connections to {_short(aspect.value)}"
    return f"the tool {_short(call.facts.tool)}"


def _name(aspect: Aspect) -> str:
    """A command by its program, and the word after it where that says what it does."""
    words = aspect.command.words if aspect.command is not None else ()
    if not words:
        return "this command"
    name = words[0].text.rpartition("/")[2] or words[0].text
    if name in _WITH_SUBCOMMANDS and words[1:] and words[1].plain and not words[1].text.startswith("-"):
        name = f"{name} {words[1].text}"
    return _short(name)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_SHOWN else f"{line[: MAX_SHOWN - 1]}…"
