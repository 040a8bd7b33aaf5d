"""What a shell text would run: every simple command in it, wherever it stands, and the files it redirects to and from.

The text is parsed, never run. Whatever cannot be told for sure is marked as such: the parser's idea of the text differs
from the shell's in places, so anything unusual counts as unclear, and so does what takes long. The parser is loaded on
first use; it is native code that only the harness host needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from time import thread_time
from typing import TYPE_CHECKING

from holaboss_runtime.permissions.unwrap import unwrap
from holaboss_runtime.permissions.words import UnclearWordError, Word, plain_word, read_word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_TEXT = 64 * 1024
MAX_DEPTH = 6
"""How many texts within texts are read: `bash -c "bash -c …"`."""
MAX_COMMANDS = 500
MAX_TREE_DEPTH = 150
MAX_WORDS = 2000
MAX_SPECIAL = 2500
"""How many characters with a meaning to the shell a text may have: the parser can take quadratic time in them."""
MAX_PARSING_S = 0.25
"""Of processor time; ordinary texts take far less than a hundredth of it."""

_HOLES = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}
)
_WORDS = frozenset(
    {"word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "number", *_HOLES}
)
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_ORDINARY = re.compile(
    r"[^\x00-\x08\x0b-\x1f\x7f\x80-\xa0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u2064\u2066-\u206f\u3000\ufeff\ud800-\udfff]*"
)
_ONE_LINE = frozenset(
    {
        "command",
        "declaration_command",
        "unset_command",
        "redirected_statement",
        "negated_command",
        *_REDIRECTS,
    }
)
"""What the end of a line ends."""
_SIMPLE_EXPANSION = re.compile(
    r"\$\{(?:[#!]?[A-Za-z_]\w*(?:\[[@*]\])?\}|[0-9@*#?]+\}|[A-Za-z_]\w*(?::?[-+?]|##?|%%?|//?|\^\^?|,,?))"
)
_SPECIAL = re.compile(r"[|&;<>(){}\[\]$`\"'!@*+?=#~%^\\]")
_COUNTS = re.compile(r"(?:^|\s)-(?:eq|ne|lt|le|gt|ge|v|R)(?=\s)")
_LIVE = re.compile(r"(?<!\\)(?:\\\\)*(?:`|\$[({\[])")
_JOINED = re.compile(r"[^ \t\n]\\\n")
"""A word or an operator that goes on in the next line, which the parser takes for two."""
_DELIMITER = re.compile(r"[A-Za-z_][\w.-]*")
HARMLESS_VARIABLES = re.compile(
    r"[a-z_][a-z0-9_]*(?<!_proxy)|LANG|LC_[A-Z]+|TZ|CI|NO_COLOR|FORCE_COLOR|CLICOLOR|COLUMNS|LINES|DEBUG|VERBOSE"
    r"|NODE_ENV|RAILS_ENV|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|RUST_BACKTRACE|RUST_LOG"
)
_NO_FILES = re.compile(r"/dev/(?:null|stdin|stdout|stderr|tty|zero|fd/[0-9]+)")
_SHELL = re.compile(r"(?<![\w.-])(?:ba|da|z|k|a)?sh(?![\w./-])")


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """`words` as the program gets them. With `certain` off an allowing rule must not go by them.

    A `carrier` only runs another command of the same text, which is listed on its own.
    """

    words: tuple[Word, ...]
    certain: bool = True
    carrier: bool = False
    redirects: bool = False
    """Whether it writes to a file through the shell."""

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


@dataclass(frozen=True, slots=True)
class ShellReading:
    """`reads` and `writes` are the targets of redirections; `moves` the folders it changes to."""

    commands: tuple[SimpleCommand, ...] = ()
    reads: tuple[Word, ...] = ()
    writes: tuple[Word, ...] = ()
    moves: tuple[Word, ...] = ()
    certain: bool = True
    """Off: no allowing rule may go by the words of any of these commands."""


@dataclass(slots=True)
class _Found:
    commands: list[SimpleCommand] = field(default_factory=list[SimpleCommand])
    reads: list[Word] = field(default_factory=list[Word])
    writes: list[Word] = field(default_factory=list[Word])
    certain: bool = True
    complete: bool = True
    """Off: it may run something that was not seen."""

    def add(self, other: ShellReading, *, redirects: bool = False) -> None:
        self.commands += (replace(each, redirects=each.redirects or redirects) for each in other.commands)
        self.reads += other.reads
        self.writes += other.writes
        self.certain = self.certain and other.certain


@lru_cache(maxsize=64)
def read_shell(text: str) -> ShellReading:
    """Every command in it. Never raises; a text that cannot be read has one command without words, not certain."""
    return _read(text, 0)


def _read(text: str, depth: int) -> ShellReading:
    if depth > MAX_DEPTH or len(text) > MAX_TEXT or len(_SPECIAL.findall(text)) > MAX_SPECIAL:
        return _unclear()
    reading = _Text(text, depth).read()
    if "\\\n" in text and not reading.certain:  # joined lines hide words from the parser
        joined = _Text(text.replace("\\\n", ""), depth).read()
        found = _Found([*reading.commands], [*reading.reads], [*reading.writes])
        found.add(joined)
        found.certain = False
        return _settled(found)
    return reading


def _unclear() -> ShellReading:
    return ShellReading((SimpleCommand((), certain=False),), certain=False)


def _settled(found: _Found) -> ShellReading:
    commands = found.commands[:MAX_COMMANDS]
    complete = found.complete and commands == found.commands
    certain = found.certain and complete
    if found.writes and not any(each.redirects and not each.carrier for each in commands):
        commands.append(
            SimpleCommand((plain_word(":"),), redirects=True)
        )  # a redirection alone writes as well
    if not certain:
        commands = [SimpleCommand(each.words, certain=False, redirects=each.redirects) for each in commands]
    if not complete:
        commands.append(SimpleCommand((), certain=False))
    moves = tuple(
        word
        for each in commands
        if each.words and each.words[0].text in ("cd", "pushd", "chdir")
        for word in each.words[1:2]
    )
    return ShellReading(tuple(commands), tuple(found.reads), tuple(found.writes), moves, certain)


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _parsed(source: bytes) -> Node | None:
    """None for a text the parser makes no sense of in time: it may look for one far longer than the text is worth."""
    ends = thread_time() + MAX_PARSING_S
    parser = _parser()
    try:
        tree = parser.parse(
            lambda at, _: source[at : at + MAX_TEXT], progress_callback=lambda _, __: thread_time() > ends
        )
    except ValueError:  # given up
        parser.reset()
        return None
    return tree.root_node


class _Text:
    """One text on its way to a reading."""

    def __init__(self, text: str, depth: int) -> None:
        self._text = text
        self._source = text.encode("utf-8", "replace")
        self._depth = depth
        self._found = _Found()
        self._parts: dict[str, Callable[[Node], None]] = {
            "declaration_command": self._builtin,
            "unset_command": self._builtin,
            "test_command": self._builtin,
            "variable_assignment": self._assignment,
            "file_redirect": self._redirect,
            "heredoc_redirect": self._here_document,
            "for_statement": self._loop,
            "c_style_for_statement": self._loop,
            "compound_statement": self._compound,
        }

    def read(self) -> ShellReading:
        root = _parsed(self._source)
        if root is None:
            return _unclear()
        if root.has_error or _JOINED.search(self._text):
            self._lose_track()
        if not _ORDINARY.fullmatch(self._text):
            self._doubt()
        self._check_gap(0, root.start_byte)
        self._check_gap(root.end_byte, len(self._source))
        self._visit(root, 0, redirects=False)
        return _settled(self._found)

    def _doubt(self) -> None:
        self._found.certain = False

    def _lose_track(self) -> None:
        self._found.complete = False

    def _source_of(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _visit(self, node: Node, depth: int, *, redirects: bool) -> None:
        """`redirects`: what is in it writes to a file through the shell."""
        if depth > MAX_TREE_DEPTH or len(self._found.commands) > MAX_COMMANDS:
            self._lose_track()
            return
        kind = node.type
        if kind == "comment":
            self._comment(node)
            return
        if kind in _WORDS or kind in ("heredoc_body", "subscript", "array", "regex"):
            self._check_hole(node)
            self._check_word(node)
        else:
            self._check_children(node)
        if kind == "command":
            self._command(node, redirects=redirects)
        elif (part := self._parts.get(kind)) is not None:
            part(node)
        writing = redirects or (kind == "redirected_statement" and self._writes(node))
        for child in node.children:
            if child.is_named or child.is_error:
                self._visit(child, depth + 1, redirects=writing)

    # --- words ---

    def _word(self, node: Node) -> Word:
        said = self._said(node)
        pieces: list[str | None] = [said[0]]
        for text in said[1:]:
            pieces += [None, text]
        try:
            return read_word(pieces)
        except UnclearWordError:
            self._lose_track()
            return Word(self._source_of(node), holes=1, splits=True)

    def _holes(self, node: Node) -> list[tuple[int, int]]:
        if node.type in _HOLES:
            return [(node.start_byte, node.end_byte)]
        if node.type in ("raw_string", "ansi_c_string"):
            return []
        return [hole for child in node.children for hole in self._holes(child)]

    # --- parts of a text ---

    def _command(self, node: Node, *, redirects: bool) -> None:
        words: list[Word] = []
        last_end = -1
        if node.child_count > MAX_WORDS:
            self._lose_track()
        for child in node.children[:MAX_WORDS]:
            if child.type == "variable_assignment" or child.type in _REDIRECTS:
                redirects = redirects or (child.type == "file_redirect" and self._writes_to(child))
                last_end = -1
                continue
            if child.start_byte == last_end:  # the shell takes both for one word
                self._lose_track()
            last_end = child.end_byte
            words.append(self._word(child))
        self._emit(tuple(words), redirects=redirects)

    def _emit(self, words: tuple[Word, ...], *, redirects: bool = False) -> None:
        if not words:
            return
        for step in unwrap(words):
            if step.assigns and not all(HARMLESS_VARIABLES.fullmatch(name) for name in step.assigns):
                self._doubt()
            self._found.commands.append(
                SimpleCommand(step.words, certain=step.certain, carrier=step.carrier, redirects=redirects)
            )
            for script in step.scripts:
                self._found.add(_read(script, self._depth + 1), redirects=redirects)

    def _builtin(self, node: Node) -> None:
        """`export`, `declare`, `unset`, `[[`: their own syntax, but commands all the same."""
        source = self._source_of(node)
        if node.type == "test_command":
            if _COUNTS.search(source):  # its operands are calculated, and may run something
                self._doubt()
            double = source.startswith("[[")
            if not double and re.search(r"[<>]", source):  # to the shell a redirection like any other
                self._lose_track()
            words = [plain_word("[[" if double else "[")]
        else:
            words = [self._word(child) for child in node.children]
        self._found.commands.append(SimpleCommand(tuple(words)))

    def _assignment(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is None or not HARMLESS_VARIABLES.fullmatch(self._source_of(name)):
            self._doubt()

    def _loop(self, node: Node) -> None:
        variable = node.child_by_field_name("variable")
        if node.type == "c_style_for_statement":
            self._doubt()  # calculates with what variables hold
        elif variable is None or not HARMLESS_VARIABLES.fullmatch(self._source_of(variable)):
            self._doubt()

    def _comment(self, node: Node) -> None:
        if b"\n" in (node.text or b""):
            self._lose_track()

    def _compound(self, node: Node) -> None:
        if self._source_of(node).startswith("(("):
            self._arithmetic(node)

    def _arithmetic(self, node: Node) -> None:
        """Calculating with anything but numbers may run what a variable holds."""
        if re.search(r"[^0-9\s+*/%()<>=!&|^~?:$\[\]-]", self._source_of(node)):
            self._doubt()

    def _check_hole(self, node: Node) -> None:
        source = self._source_of(node)
        if node.type == "expansion":
            if not _SIMPLE_EXPANSION.match(source):
                self._doubt()
            within = [hole for child in node.children for hole in self._holes(child)]
            first, *rest = self._said(node, within)
            if any(_LIVE.search(said) for said in (first.removeprefix("${"), *rest)):
                self._lose_track()
        elif node.type in ("arithmetic_expansion", "subscript"):
            self._arithmetic(node)
        elif node.type == "command_substitution" and source.startswith("`") and "\\" in source:
            self._lose_track()

    def _check_word(self, node: Node) -> None:
        """What a parser overlooks in a word that is not one of a command: it is put in all the same."""
        around = node.parent.type if node.parent is not None else ""
        if node.type == "heredoc_body":
            if not self._is_quoted_document(node) and any(_LIVE.search(said) for said in self._said(node)):
                self._lose_track()
                for script in re.findall(r"`([^`]*)`", self._source_of(node)):
                    self._found.add(_read(script, self._depth + 1))
        elif (
            node.type in _WORDS
            and around not in _WORDS
            and around not in ("command", "command_name", "heredoc_body")
        ):
            self._word(node)

    def _is_quoted_document(self, body: Node) -> bool:
        siblings = body.parent.children if body.parent is not None else []
        starts = [self._source_of(node) for node in siblings if node.type == "heredoc_start"]
        return any(mark in start for start in starts for mark in "'\"\\")

    def _said(self, node: Node, holes: Sequence[tuple[int, int]] | None = None) -> list[str]:
        """The text of a node without what the parser knows to be put in."""
        said: list[str] = []
        at = node.start_byte
        for begin, end in [*(self._holes(node) if holes is None else holes), (node.end_byte, node.end_byte)]:
            said.append(self._source[at:begin].decode("utf-8", "replace"))
            at = end
        return said

    # --- redirections ---

    def _writes(self, statement: Node) -> bool:
        return any(self._writes_to(child) for child in statement.children if child.type == "file_redirect")

    def _writes_to(self, redirect: Node) -> bool:
        target = redirect.child_by_field_name("destination")
        reads = any(child.type in ("<", "<&", "<&-", ">&-") for child in redirect.children)
        return not reads and not (target is not None and self._is_no_file(redirect, target))

    def _is_no_file(self, redirect: Node, target: Node) -> bool:
        source = self._source_of(target)
        to_descriptor = any(child.type in (">&", "<&") for child in redirect.children)
        return bool((to_descriptor and re.fullmatch(r"[0-9]+-?|-", source)) or _NO_FILES.fullmatch(source))

    def _redirect(self, node: Node) -> None:
        targets = node.children_by_field_name("destination")
        for target in targets:
            if self._is_no_file(node, target):
                continue
            reads = any(child.type in ("<", "<&") for child in node.children)
            word = self._word(target)
            if reads and not word.plain:  # it may be a file of secrets, or an address
                self._doubt()
            (self._found.reads if reads else self._found.writes).append(word)

    def _here_document(self, node: Node) -> None:
        """Only a document that ends where the shell ends it is certain. What a shell is fed this way is read too."""
        parts = {child.type: self._source_of(child) for child in node.children}
        kinds = [child.type for child in node.children]
        start, body, end = (parts.get(f"heredoc_{part}", "") for part in ("start", "body", "end"))
        quoted = start[:1] in ("'", '"') and start[:1] == start[-1:] and len(start) > 1
        delimiter = start[1:-1] if quoted else start
        tabs = "\t" if "<<-" in kinds else ""
        lines = [line.lstrip(tabs) if tabs else line for line in body.split("\n")]
        if not _DELIMITER.fullmatch(delimiter) or end.strip("\t\n") != delimiter or delimiter in lines:
            self._lose_track()
        if (
            node.parent is not None
            and sum(each.type == "heredoc_redirect" for each in node.parent.children) > 1
        ):
            self._lose_track()
        if node.parent is not None and _SHELL.search(self._source_of(node.parent).split("\n")[0]):
            self._found.add(_read(body, self._depth + 1))
            self._found.certain = self._found.certain and quoted

    # --- what the parser left out ---

    def _check_children(self, node: Node) -> None:
        if node.type == "heredoc_redirect":
            return
        at = node.start_byte
        for child in node.children:
            if child.type == "heredoc_body":
                return
            self._check_gap(at, child.start_byte, one_line=node.type in _ONE_LINE)
            at = max(at, child.end_byte)

    def _check_gap(self, begin: int, end: int, *, one_line: bool = False) -> None:
        gap = self._source[begin:end]
        rest = gap.replace(b"\\\n", b"")
        between = b" \t" if one_line else b" \t\n"
        if rest.strip(between) or (gap and not rest):  # nothing but a joined line: the shell sees one word
            self._lose_track()
