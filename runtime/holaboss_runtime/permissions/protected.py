"""Files of a workspace that are not like others: those that decide what runs in it, and those that hold secrets."""

from __future__ import annotations

from holaboss_runtime.permissions.paths import fits_widely

PROTECTED: dict[str, str] = {
    "workspace.yaml": "which decides what runs here",
    "workspace.yml": "which decides what runs here",
    "AGENTS.md": "which tells every agent here what to do",
    "skills/**": "which tells agents what to do",
    ".agents/**": "which tells agents what to do",
    "apps/**": "which is a program that runs here",
    "**/.git/**": "which belongs to git and may run commands",
    "**/.git": "which tells git where to look for what it runs",
    ".holaboss/**": "which belongs to the runtime",
    "**/.env*": "which may hold secrets",
}
"""Why a change is asked about, by path."""

DECIDES_WHAT_RUNS = tuple(path for path in PROTECTED if path not in ("AGENTS.md", "**/.env*"))

SECRETS = (
    "**/.env*",
    "**/.netrc",
    "**/.pgpass",
    "**/.npmrc",
    "**/.pypirc",
    "**/.git-credentials",
    "**/.ssh/**",
    "**/.aws/**",
    "**/.gnupg/**",
    "**/id_rsa",
    "**/id_ed25519",
    "**/id_ecdsa",
    "**/*.pem",
    "**/*.key",
    "**/*.p12",
    "**/*.pfx",
    "**/*.keystore",
)


def protected_by(path: str) -> str | None:
    """The end of a sentence that says why, for a path that is protected."""
    for pattern, why in PROTECTED.items():
        if fits_widely(pattern, path, anywhere=True, whole=True):
            return why
    return None


def secret_by(path: str) -> bool:
    return any(fits_widely(pattern, path, anywhere=True) for pattern in SECRETS)
