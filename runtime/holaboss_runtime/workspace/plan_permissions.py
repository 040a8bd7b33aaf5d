"""`permissions:` of `workspace.yaml`: calls that a workspace wants refused, or asked about every time.

It can only narrow. The file travels with templates and lies where an agent can write, so whatever would allow something
is refused by name: only a person allows, in the settings of the workspace or with an approval.
"""

from __future__ import annotations

from typing import Any, cast

from holaboss_runtime.errors import DomainError
from holaboss_runtime.permissions.model import Permission, PermissionRule

SECTION = "permissions"
MOST_RULES = 200
MAX_TEXT = 500
_EFFECTS: dict[str, Permission] = {"deny": "deny", "ask": "always_ask"}
_FIELDS = ("tool", "command", "path", "host", "server")


def read_rules(section: object) -> tuple[PermissionRule, ...]:
    """The rules, in the order of the file.

    Raises `DomainError` (`unprocessable`): `workspace_permissions_cannot_allow`, `workspace_permissions_invalid`.
    """
    if section is None:
        return ()
    if not isinstance(section, dict):
        raise _bad(SECTION, "This must be a mapping with `deny` and `ask`.")
    mapping = cast("dict[object, object]", section)
    for key in mapping:
        if key == "allow":
            raise _invalid(
                "workspace_permissions_cannot_allow",
                f"{SECTION}.allow",
                "A workspace file cannot allow anything: it may come from elsewhere.",
                "Remove `allow`, and allow it in the permissions of the workspace instead.",
            )
        if key not in _EFFECTS:
            raise _bad(SECTION, f"There is no `{str(key)[:80]}` here; there are `deny` and `ask`.")
    rules = [rule for key in _EFFECTS for rule in _listed(key, mapping.get(key))]
    if len(rules) > MOST_RULES:
        raise _bad(SECTION, f"There are more than {MOST_RULES} rules.")
    return tuple(rules)


def _listed(key: str, value: object) -> list[PermissionRule]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _bad(f"{SECTION}.{key}", "This must be a list of rules.")
    return [_rule(key, number, item) for number, item in enumerate(cast("list[object]", value))]


def _rule(key: str, number: int, item: object) -> PermissionRule:
    """A rule is the name of a tool, or a mapping that says what it is about."""
    place = f"{SECTION}.{key}[{number}]"
    given: dict[str, Any] = {"tool": item} if isinstance(item, str) else {}
    if isinstance(item, dict):
        given = {str(name): value for name, value in cast("dict[object, Any]", item).items()}
    if not given:
        raise _bad(place, "A rule is the name of a tool, or says what it is about.")
    for name, value in given.items():
        if name not in _FIELDS:
            raise _bad(place, f"There is no `{name[:80]}` in a rule; there are {', '.join(_FIELDS)}.")
        if not isinstance(value, str) or not value.strip() or len(value) > MAX_TEXT:
            raise _bad(place, f"`{name}` must be a text of 1 to {MAX_TEXT} characters.")
    return PermissionRule(effect=_EFFECTS[key], source="workspace", **given)


def _bad(path: str, sentence: str) -> DomainError:
    return _invalid("workspace_permissions_invalid", path, sentence, "Correct the entry.")


def _invalid(code: str, path: str, sentence: str, hint: str) -> DomainError:
    return DomainError("unprocessable", code, f"{path}: {sentence} {hint}", path=path, hint=hint)
