"""What well-known programs do with their options: which calls of them only read, which send things out of this machine
or change the system, and which files they name.

A program that is not listed is not known, and nothing is claimed of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from holaboss_runtime.permissions.shell import SimpleCommand
from holaboss_runtime.permissions.unwrap import program_of
from holaboss_runtime.permissions.words import Word, names

Check = Callable[[Sequence[Word]], bool]
"""Whether a call with these words after the program only reads."""

_ALWAYS = names(
    "pwd ls echo cat head tail cut tr nl tac rev fold paste comm join cmp od hexdump strings stat whoami id uname "
    "which type basename dirname realpath readlink df free uptime nproc true false : sleep seq expr arch groups "
    "md5sum sha1sum sha256sum sha512sum b2sum cksum printenv ps pgrep column expand unexpand jq tsort exit break "
    "continue return cd [[ locale getconf lsblk tty logname users"
)
"""No option of these writes or runs anything."""
_CONTENT = names(
    "cat head tail cut tr nl tac rev fold paste comm join cmp od hexdump strings column expand unexpand jq grep egrep "
    "fgrep rg sort uniq sed diff tsort"
)
"""These show what is in files, so the files have to be known."""
_VERSIONED = names(
    "python python3 pip pip3 node npm npx git go java javac ruby gem uv poetry docker make cmake gcc clang bash tar "
    "curl wget rg jq ruff"
)
"""What these say of themselves is their own. Others ask what lies in the folder first, and may run it: a toolchain, a
release of themselves, a plug-in."""
_VERSION_COMMAND = names("git go docker")
"""To most programs `version` is the name of a file, a target or an address."""
_SED_PRINTS = re.compile(r"(?:[0-9]+|\$)(?:,(?:[0-9]+|\$|\+[0-9]+))?p(?:;(?:[0-9]+|\$)(?:,(?:[0-9]+|\$))?p)*")


def only_reads(command: SimpleCommand) -> bool:
    """Whether it is certain that this changes nothing, sends nothing and runs nothing else."""
    words = command.words
    if not command.certain or command.redirects or not words or not words[0].plain:
        return False
    program, rest = words[0].text, words[1:]
    if program in _CONTENT and not all(_names_known_files(word) for word in rest):
        return False
    said = [word.text for word in rest]
    if (program in _VERSIONED and said in (["--version"], ["-V"])) or (
        program in _VERSION_COMMAND and said == ["version"]
    ):
        return True
    if program in _ALWAYS:
        return True
    check = _CHECKED.get(program)
    return check is not None and check(rest)


def _names_known_files(word: Word) -> bool:
    """Not a word that might become the name of a hidden file."""
    last = word.text.rpartition("/")[2]
    return not (word.brace or word.holes or (word.glob and last.startswith(".")))


# --- programs with options that matter ---


def _without(*bad: str) -> Check:
    """Long options (`--output`) also when shortened, short ones (`-o`) also within a cluster; every word has to be
    known not to be one of them."""
    longs = tuple(name for name in bad if name.startswith("--"))
    shorts = "".join(name[1] for name in bad if len(name) == 2)

    def check(words: Sequence[Word]) -> bool:
        return all(word.cannot_be_an_option or (word.plain and _fits(word.text)) for word in words)

    def _fits(text: str) -> bool:
        if not text.startswith("-"):
            return True
        if text.startswith("--"):
            name = text.partition("=")[0]
            return name == "--" or not any(long.startswith(name) for long in longs)
        return not any(letter in shorts for letter in text[1:])

    return check


def _find(words: Sequence[Word]) -> bool:
    runs = ("-exec", "-ok", "-delete", "-fprint", "-fls")
    return all(word.cannot_be_an_option or (word.plain and not word.text.startswith(runs)) for word in words)


def _uniq(words: Sequence[Word]) -> bool:
    """A second file would be written."""
    files = [word for word in words if not word.text.startswith("-") or word.text in ("-", "--")]
    return len(files) <= 1 and all(word.plain for word in words)


def _date(words: Sequence[Word]) -> bool:
    takes = False
    for word in words:
        text = word.text
        if not word.plain:
            return False
        if takes or text.startswith("+"):
            takes = False
        elif text in ("-d", "--date", "-r", "--reference"):
            takes = True
        elif not re.fullmatch(
            r"-[uIR]+|-d.+|--(?:date|reference|iso-8601|rfc-3339)=.*|--(?:utc|universal|iso-8601)", text
        ):
            return False
    return True


def _sed(words: Sequence[Word]) -> bool:
    """Only `sed -n 10,20p file`."""
    texts = [word.text for word in words]
    printing = texts[:1] == ["-n"] and len(texts) > 1 and _SED_PRINTS.fullmatch(texts[1]) is not None
    return printing and all(word.cannot_be_an_option for word in words[2:])


_grep = _without("--recursive", "--dereference-recursive", "--directories", "-r", "-R", "-d")
"""Not whole trees: there are hidden files in them that hold secrets."""
_rg = _without(
    *names("--pre --hidden --unrestricted --no-ignore --search-zip --hostname-bin --glob --iglob -z -u -. -g")
)


def _no_words(words: Sequence[Word]) -> bool:
    return not words


def _command(words: Sequence[Word]) -> bool:
    return bool(words) and words[0].text in ("-v", "-V")


def _set(words: Sequence[Word]) -> bool:
    texts = [word.text for word in words]
    return bool(texts) and all(re.fullmatch(r"[-+][euxo]+|pipefail", text) for text in texts)


def _printf(words: Sequence[Word]) -> bool:
    return not words or (words[0].cannot_be_an_option or words[0].text == "--")


def _test(words: Sequence[Word]) -> bool:
    """Asking whether a variable is set calculates its index, which may run something."""
    return not any(word.text in ("-v", "-R") or not word.plain for word in words)


# --- git ---

GIT_FREE = names("--no-pager -P --no-optional-locks --literal-pathspecs")
_GIT_READS = names(
    "status log diff show rev-parse ls-files ls-tree blame annotate shortlog describe rev-list name-rev merge-base "
    "diff-tree diff-index diff-files count-objects show-ref for-each-ref show-branch whatchanged cherry check-ignore "
    "check-attr range-diff version"
)
_git_options = _without(
    "--output", "--ext-diff", "--textconv", "--open-files-in-pager", "--no-index", "--contents"
)
_GIT_LISTS: dict[str, Check] = {
    "branch": lambda rest: _listing(
        rest, r"-[avr]+|-vv|--(?:all|list|remotes|show-current|verbose|no-color)"
    ),
    "tag": lambda rest: _listing(rest, r"-l|-n[0-9]*|--list|--sort=.*"),
    "remote": lambda rest: _listing(rest, r"-v|--verbose"),
    "stash": lambda rest: [word.text for word in rest] == ["list"],
    "worktree": lambda rest: [word.text for word in rest[:1]] == ["list"] and _git_options(rest),
    "reflog": lambda rest: not rest or (rest[0].text == "show" and _git_options(rest)),
    "config": lambda rest: (
        bool(rest) and rest[0].text in ("--get", "--list", "-l", "--get-all", "get", "list")
    ),
    "cat-file": lambda rest: bool(rest) and rest[0].text in ("-p", "-t", "-s", "-e"),
}


def _listing(words: Sequence[Word], options: str) -> bool:
    return all(word.plain and re.fullmatch(options, word.text) for word in words)


def _git(words: Sequence[Word]) -> bool:
    at = 0
    while at < len(words) and words[at].text in GIT_FREE:
        at += 1
    if at == len(words) or not words[at].plain:
        return False
    name, rest = words[at].text, words[at + 1 :]
    if name in _GIT_LISTS:
        return _GIT_LISTS[name](rest)
    return (
        name in _GIT_READS
        and _git_options(rest)
        and all(word.plain or word.cannot_be_an_option for word in rest)
    )


_CHECKED: dict[str, Check] = {
    "grep": _grep,
    "egrep": _grep,
    "fgrep": _grep,
    "wc": _without("--files0-from"),
    "du": _without("--files0-from", "--exclude-from", "-X"),
    "rg": _rg,
    "find": _find,
    "fd": _without("--exec", "--exec-batch", "-x", "-X"),
    "fdfind": _without("--exec", "--exec-batch", "-x", "-X"),
    "sort": _without("--output", "--compress-program", "--temporary-directory", "--files0-from", "-o", "-T"),
    "uniq": _uniq,
    "sed": _sed,
    "date": _date,
    "file": _without(
        *names("--compile --uncompress --uncompress-noreport --files-from --magic-file -C -z -Z -f -m")
    ),
    "tree": _without(*names("--output --fromfile --fromtabfile --infofile --gitfile -o -R")),
    "diff": _without("--paginate", "--recursive", "--from-file", "--to-file", "-l", "-r"),
    "hostname": _no_words,
    "env": _no_words,
    "command": _command,
    "set": _set,
    "printf": _printf,
    "test": _test,
    "[": _test,
    "git": _git,
}

# --- what leaves this machine, or changes the system ---

_SENDS = names(
    "sudo doas pkexec su runuser chroot unshare nsenter ssh scp sftp ftp lftp tftp telnet nc ncat netcat socat "
    "sendmail mail mailx mutt msmtp docker podman nerdctl kubectl helm terraform ansible ansible-playbook vagrant "
    "systemctl service launchctl crontab at batch mount umount shutdown reboot halt poweroff useradd userdel usermod "
    "passwd visudo iptables nft ufw modprobe insmod apt apt-get dpkg yum dnf rpm pacman zypper apk brew snap flatpak "
    "twine gh glab hub aws gcloud az doctl heroku vercel netlify flyctl fly wrangler firebase osascript "
    "security open xdg-open mkfs fdisk parted"
)
_SENDING = {
    "git": (("push",), ("send-email",), ("send-pack",), ("request-pull",), ("svn", "dcommit")),
    "npm": (
        ("publish",),
        ("unpublish",),
        ("login",),
        ("adduser",),
        ("token",),
        ("access",),
        ("owner",),
        ("dist-tag",),
    ),
    "yarn": (("publish",), ("npm", "publish")),
    "pnpm": (("publish",),),
    "bun": (("publish",),),
    "cargo": (("publish",), ("yank",), ("login",), ("owner",)),
    "gem": (("push",), ("yank",), ("owner",)),
    "poetry": (("publish",),),
    "uv": (("publish",),),
    "hatch": (("publish",),),
    "flit": (("publish",),),
    "mvn": (("deploy",),),
    "dotnet": (("nuget", "push"),),
    "python": (("-m", "twine"), ("-m", "smtplib")),
    "python3": (("-m", "twine"), ("-m", "smtplib")),
}
_CURL = re.compile(
    r"-[A-Za-z#:0]*[dFTX].*|--(?:data.*|form.*|upload-file|request|json|url-query|mail-.*|quote|config)(?:=.*)?|-[A-Za-z]*[KQ].*"
)
_WGET = re.compile(r"--(?:post-.*|body-.*|method|config|use-askpass|execute)(?:=.*)?|-e.*")


def sends_or_changes_the_system(command: SimpleCommand) -> bool:
    """Whether it is known to send things out of this machine, or to change it beyond the workspace."""
    program = program_of(command.words)
    rest = [word.text for word in command.words[1:]]
    if program in _SENDS:
        return rest not in (["--version"], ["--help"])
    if program in ("curl", "curlie"):
        return any(_CURL.fullmatch(text) for text in rest)
    if program in ("wget", "wget2"):
        return any(_WGET.fullmatch(text) for text in rest)
    if program == "rsync":
        return any(":" in text for text in rest)
    if program in ("http", "https", "xh"):
        return True
    return any(names_subcommand(command.words[1:], words) for words in _SENDING.get(program, ()))


def names_subcommand(words: Sequence[Word], wanted: Sequence[str]) -> bool:
    """Whether these words come in this order, with nothing between but options and the values of options.

    A word that is only known when it runs may be any of them.
    """
    return _follows(tuple(words), tuple(wanted))


def _follows(words: tuple[Word, ...], wanted: tuple[str, ...]) -> bool:
    places = {0}
    for want in wanted:
        found: set[int] = set()
        for place in places:
            found |= _places_after(words, place, want)
        if not found:
            return False
        places = found
    return True


def _places_after(words: tuple[Word, ...], place: int, want: str) -> set[int]:
    """Where one may go on after `want` was met; options and one value after each may be passed over."""
    found: set[int] = set()
    frontier, seen = [place], set[int]()
    while frontier:
        at = frontier.pop()
        if at >= len(words) or at in seen:
            continue
        seen.add(at)
        word = words[at]
        if word.text == want or not word.plain:
            found.add(at + 1)
        if word.text.startswith("-") or not word.plain:
            frontier += [at + 1, at + 2]
    return found


# --- files that are named ---

_WRITERS = names(
    "tee rm rmdir unlink shred touch truncate chmod chown chgrp mkdir mv ln patch install sponge ed ex"
)


def named_files(command: SimpleCommand) -> tuple[list[Word], list[Word]]:
    """The files a well-known program is told to read and to write, as far as its words say."""
    program = program_of(command.words)
    files = [word for word in command.words[1:] if not word.text.startswith("-")]
    if program in _WRITERS:
        return [], files
    if program in ("cp", "rsync", "scp"):
        return files[:-1], files[-1:]
    if program == "dd":
        named = {word.text.partition("=")[0]: _value(word) for word in files if "=" in word.text}
        return [named[key] for key in ("if",) if key in named], [
            named[key] for key in ("of",) if key in named
        ]
    if program in ("sed", "perl") and any(
        re.match(r"-[a-zA-Z]*i|--in-place", w.text) for w in command.words[1:]
    ):
        return [], files
    if program == "git":
        shown = [Word(word.text.rpartition(":")[2]) for word in files if ":" in word.text]
        changes = any(word.text in ("checkout", "restore", "rm", "mv", "apply") for word in files[:1])
        return ([], files[1:]) if changes else (files[1:] + shown, [])
    return (files, []) if program in _CONTENT or program in ("source", ".", "less", "more") else ([], [])


def _value(word: Word) -> Word:
    return Word(word.text.partition("=")[2], word.holes, word.splits, word.glob, word.brace)
