"""Reading the environment, and what the log says of it."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from holaboss_runtime.launch import StartError, local_url, prepare_root, read_launch
from holaboss_runtime.logs import JsonLines


def test_the_defaults_of_a_deployment() -> None:
    launch = read_launch({})
    assert (str(launch.root), launch.host, launch.port, launch.embedded) == (
        "/holaboss",
        "127.0.0.1",
        8080,
        False,
    )
    assert launch.database_path == Path("/holaboss/state/runtime.db")
    assert launch.config_path == Path("/holaboss/state/runtime-config.json")
    assert (launch.hosts, launch.concurrency, launch.token) == (1, 5, None)


def test_blanks_say_nothing_and_a_home_is_found() -> None:
    blank = read_launch({"HB_SANDBOX_ROOT": "  ", "HOLABOSS_RUNTIME_DB_PATH": " "})
    assert (str(blank.root), blank.database_path) == ("/holaboss", Path("/holaboss/state/runtime.db"))
    launch = read_launch({"HB_SANDBOX_ROOT": "~/h", "HOLABOSS_RUNTIME_CONFIG_PATH": "~/c.json"})
    assert (launch.root, launch.config_path) == (Path.home() / "h", Path.home() / "c.json")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:9"),
        ("0.0.0.0", "http://127.0.0.1:9"),
        ("::", "http://[::1]:9"),
        ("::1", "http://[::1]:9"),
        ("runtime.example", "http://runtime.example:9"),
    ],
)
def test_an_address_that_programs_on_this_machine_can_call(host: str, url: str) -> None:
    assert local_url(host, 9) == url


def test_what_the_environment_can_say(tmp_path: Path) -> None:
    environment = {
        "HOLABOSS_EMBEDDED_RUNTIME": "1",
        "HB_SANDBOX_ROOT": str(tmp_path),
        "HOLABOSS_RUNTIME_CONFIG_PATH": str(tmp_path / "c.json"),
        "HB_HARNESS_HOSTS": "3",
        "HB_QUEUE_WORKER_CONCURRENCY": "9",
        "HOLABOSS_RUNTIME_TOKEN": "secret-token",
        "OPENAI_API_KEY": "secret-key",
        "HOLABOSS_SANDBOX_AUTH_TOKEN": "secret-proxy-token",
    }
    launch = read_launch(environment)
    assert (launch.port, launch.embedded, launch.config_path) == (0, True, tmp_path / "c.json")
    assert (launch.hosts, launch.concurrency) == (3, 9)
    assert not [value for value in environment.values() if "secret" in value]
    assert "secret" not in repr(launch)


def test_a_root_that_cannot_be_made_names_the_way_out() -> None:
    with pytest.raises(StartError, match="HB_SANDBOX_ROOT"):
        prepare_root(read_launch({"HB_SANDBOX_ROOT": "/dev/null/root"}))


def test_a_log_line_is_json_without_secrets() -> None:
    formatter = JsonLines()
    formatter.secrets = lambda: frozenset({"sk-secret", 'quo"tation'})
    try:
        raise ValueError("with sk-secret in it")
    except ValueError as error:
        record = logging.LogRecord(
            "n",
            logging.ERROR,
            "f",
            1,
            "%s and\n%s",
            ("sk-secret", 'quo"tation'),
            (ValueError, error, error.__traceback__),
        )
    line = formatter.format(record)
    assert "\n" not in line
    said = json.loads(line)
    assert said["message"] == "[redacted] and\n[redacted]"
    assert "with [redacted] in it" in said["error"]
    assert (said["level"], said["logger"]) == ("error", "n")


def test_a_placeholder_is_no_secret_to_hide() -> None:
    formatter = JsonLines()
    formatter.secrets = lambda: frozenset({"ollama"})
    record = logging.LogRecord("n", logging.INFO, "f", 1, "asking ollama_direct", (), None)
    assert json.loads(formatter.format(record))["message"] == "asking ollama_direct"
