"""Checks the shape the code holds itself to: no long files, no long functions, no module without a docstring.

Prints one line per finding and the measured shape. Style and types are other tools' work.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (
    "app/holaboss_app",
    "runtime/holaboss_client",
    "runtime/holaboss_runtime",
    "scripts/support",
    "packaging",
)
TESTS = ("tests",)

LONGEST_FILE = 500
LONGEST_FUNCTION = 60
TYPICAL_FILE = 250  # nine files of ten
TYPICAL_FUNCTION = 25  # nine functions of ten


def main() -> int:
    """Report every finding; 1 if there is one."""
    findings: list[str] = []
    files: list[int] = []
    functions: list[int] = []
    for path in python_files(ROOT, SOURCES):
        text = path.read_text(encoding="utf-8")
        name = str(path.relative_to(ROOT))
        findings += findings_of(name, text)
        files.append(text.count("\n"))
        functions += [length for _, _, length in functions_of(ast.parse(text))]
    for path in python_files(ROOT, TESTS):
        findings += too_long(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    findings += beyond_typical("files", files, TYPICAL_FILE) + beyond_typical(
        "functions", functions, TYPICAL_FUNCTION
    )
    for finding in findings:
        print(finding)
    print(
        f"Shape: {len(files)} files, nine of ten up to {ninth_decile(files)} lines; "
        f"{len(functions)} functions, nine of ten up to {ninth_decile(functions)} lines."
    )
    return 1 if findings else 0


def findings_of(name: str, text: str) -> list[str]:
    """What is wrong with one source file; `name` is only used in the sentences."""
    tree = ast.parse(text)
    findings = too_long(name, text)
    findings += [
        f"{name}:{line}: {function} has {length} lines, more than {LONGEST_FUNCTION}"
        for function, line, length in functions_of(tree)
        if length > LONGEST_FUNCTION
    ]
    if text.strip() and ast.get_docstring(tree) is None:
        findings.append(f"{name}:1: no module docstring")
    return findings


def too_long(name: str, text: str) -> list[str]:
    """The finding for a file over the limit, tests included."""
    lines = text.count("\n")
    return [f"{name}:1: {lines} lines, more than {LONGEST_FILE}"] if lines > LONGEST_FILE else []


def beyond_typical(what: str, lengths: list[int], limit: int) -> list[str]:
    """The finding for a repository in which long ones are no longer the exception."""
    measured = ninth_decile(lengths)
    return (
        [f"{what}: nine of ten have up to {measured} lines, the limit is {limit}"] if measured > limit else []
    )


def ninth_decile(lengths: list[int]) -> int:
    """The length that nine of ten do not exceed; 0 for none."""
    return sorted(lengths)[max(0, -(-len(lengths) * 9 // 10) - 1)] if lengths else 0


def functions_of(tree: ast.AST) -> Iterator[tuple[str, int, int]]:
    """(name, line, length from `def` to the last line) of every function, nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1


def python_files(root: Path, folders: tuple[str, ...]) -> Iterator[Path]:
    """Every Python file below the folders, in a stable order."""
    for folder in folders:
        yield from sorted((root / folder).rglob("*.py"))


if __name__ == "__main__":
    sys.exit(main())
