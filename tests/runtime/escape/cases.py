"""Commands that try to get out, by the way they try it. `%(name)s` stands for a place of the canary.

`online` cases run with the network on, all others with it off. A case that `bites` does get out when nothing holds it,
which another test shows: it cannot be passing because it is broken.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

READ = "import os,socket,sys,ctypes;"


@dataclass(frozen=True, slots=True)
class Case:
    group: str
    command: str
    bites: bool = True
    online: bool = False


def _cases(group: str, *commands: str, bites: bool = True, online: bool = False) -> list[Case]:
    return [Case(group, command, bites, online) for command in commands]


PATHS = [
    *_cases(
        "path",
        "cat %(secret)s",
        "cat ../outside/secret",
        "cd .. && cat outside/secret",
        "cat ~/.ssh/id_test",
        "cat %(home)s/.aws/config",
        "cat $HOME/.ssh/*",
        "echo x > %(target)s",
        "echo x > ../outside/new",
        "rm -rf %(outside)s/secret",
        "mv %(target)s moved",
        "truncate -s 0 %(target)s",
        "mkdir %(new)s",
        "chmod 000 %(target)s",
        "cp /bin/true %(target)s",
        "exec 3<%(secret)s; cat <&3",
        "cat < %(secret)s",
        "cat $(dirname $PWD)/outs*/sec*",
    ),
    *_cases(
        "symlink",
        "ln -s %(secret)s l; cat l",
        "ln -s %(outside)s d; cat d/secret",
        "ln -s %(target)s l; echo x > l",
        "ln -s %(outside)s d; echo x > d/new",
        "ln -s / r; cat r%(secret)s",
        "mkdir a; ln -s ../../outside a/up; rm -f a/up/target",
        "ln -s %(outside)s x; tar cf p.tar x; rm x; tar xf p.tar; echo y > x/new",
        "ln -s %(outside)s x; cp -rL x copied; cat copied/secret",
        "ln -s %(new)s dangling; echo x > dangling",
    ),
    *_cases(
        "hard link",
        "ln %(secret)s hard; cat hard",
        "ln %(target)s hard; echo x > hard",
        "cp -l %(target)s hard; echo x >> hard",
    ),
]

OPTIONS = _cases(
    "option",
    "grep -r . %(outside)s",
    "grep -f %(secret)s %(outside)s/config",
    "find %(outside)s -name secret -exec cat {} +",
    "find . -maxdepth 0 -fprintf %(new)s x",
    "find %(outside)s -type f -delete",
    "tar cf - %(outside)s 2>/dev/null",
    "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='cat %(secret)s' a.txt",
    "tar cf %(new)s a.txt",
    "tar xf /dev/null --to-command='cat %(secret)s'; tar cf p.tar a.txt; tar xf p.tar -C %(outside)s",
    "git -c alias.x='!cat %(secret)s' x",
    "git diff --no-index /dev/null %(secret)s",
    "git diff --no-index --output=%(target)s /dev/null a.txt",
    "git init -q --separate-git-dir=%(new)s sub",
    "git init -q sub && git --git-dir=sub/.git --work-tree=%(outside)s add secret && git -C sub cat-file -p :secret",
    "GIT_TRACE=%(target)s git version",
    "sort -o %(target)s /dev/null",
    "sed -n 'w %(target)s' a.txt",
    "awk 'BEGIN{while((getline l < \"%(secret)s\")>0) print l}'",
    "awk 'BEGIN{print 1 > \"%(target)s\"}'",
    "dd status=none if=%(secret)s",
    "dd status=none if=a.txt of=%(target)s",
    "tee %(target)s < a.txt",
    "xargs -a %(secret)s echo",
    "env -C %(outside)s cat secret",
    "install -m 777 a.txt %(target)s",
    "curl -s file://%(secret)s",
    "curl -s -o %(target)s file://$PWD/a.txt",
    "split a.txt %(new)s",
    "wc --files0-from=%(secret)s 2>&1",
    "diff a.txt %(secret)s",
)

SHELLS = _cases(
    "shell",
    "bash -c \"sh -c 'cat %(secret)s'\"",
    "eval \"$(printf 'cat %%s' %(secret)s)\"",
    "bash <<< 'cat %(secret)s'",
    "echo 'cat %(secret)s' | sh",
    "setsid -w sh -c 'echo x > %(target)s'",
    "nohup sh -c 'cat %(secret)s' 2>/dev/null",
    "python3 -c \"print(open('%(secret)s').read())\"",
    "python3 -c \"import os; os.execlp('cat', 'cat', '%(secret)s')\"",
    "python3 -c \"open('%(target)s', 'w').write('x')\"",
    "perl -e 'open(F, \"%(secret)s\"); print <F>'",
    ". %(secret)s",
    "while read -r line; do echo $line; done < %(secret)s",
    "x=$(<%(secret)s); echo $x",
)

ENVIRONMENT = [
    *_cases(
        "environment",
        "cat /proc/%(pid)s/environ",
        "grep -azh canary- /proc/[0-9]*/environ 2>/dev/null",
        "xargs -0 -n1 -a /proc/%(pid)s/environ",
    ),
    *_cases(
        "environment",
        "env",
        "export -p; set",
        "cat /proc/self/environ",
        "cat /proc/1/environ",
        "cat /proc/%(parent)s/environ",
        "cat /proc/$PPID/environ",
        "cat /proc/[0-9]*/cmdline",
        bites=False,
    ),
]

PROC = [
    *_cases(
        "proc",
        "cat /proc/self/root%(secret)s",
        "cat /proc/%(pid)s/cwd/secret",
        "for p in /proc/[0-9]*; do cat $p/cwd/secret $p/root%(secret)s; done 2>/dev/null",
        "cat /proc/self/cwd/../outside/secret",
        "cat /proc/thread-self/root%(secret)s",
    ),
    *_cases(
        "proc",
        "for n in $(seq 3 30); do ls /proc/self/fd/$n/ && cat /proc/self/fd/$n/../outside/secret; done 2>/dev/null",
        "for n in $(seq 0 30); do cat /proc/1/fd/$n/secret /proc/1/fd/$n/../outside/secret; done 2>/dev/null",
        "cat /proc/1/root%(secret)s",
        "cat /proc/1/mem >/dev/null && %(out)s",
        "cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern && %(out)s",
        "for f in /proc/sys/kernel/* /proc/sysrq-trigger /proc/mtrr; do"
        " ( : 9>>$f ) && %(out)s; done 2>/dev/null",
        "cat /proc/kcore | head -c 1 | grep -q . && %(out)s",
        bites=False,
    ),
]

NAMESPACES = [
    *_cases("namespace", "nsenter -t %(pid)s -m cat %(secret)s", bites=os.geteuid() == 0),
    *_cases(
        "namespace",
        "unshare -Ur cat %(secret)s; unshare -Ur true && %(out)s",
        "unshare -m cat %(secret)s; unshare -m true && %(out)s",
        "nsenter -t 1 -a cat %(secret)s",
        "mount -t tmpfs none /usr && %(out)s",
        "mkdir m; mount --bind / m && %(out)s; cat m%(secret)s",
        "mount -o remount,rw,bind /usr && %(out)s",
        "umount .holaboss; cat .holaboss/workspace_id | grep -q private && %(out)s",
        "umount -l /tmp && %(out)s",
        "chroot / cat %(secret)s",
        "pivot_root . . && %(out)s",
        "bwrap --dev-bind / / cat %(secret)s",
        "ip link add dummy0 type dummy && %(out)s",
        "hostname other && %(out)s",
        "touch /usr/%(shm)s && %(out)s",
        "touch /etc/%(shm)s.x && cat /etc/shadow && %(out)s",
        'python3 -c "' + READ + "c=ctypes.CDLL(None,use_errno=True);"
        'sys.exit(c.unshare(0x10000000))" && %(out)s',
        'python3 -c "' + READ + "os.setuid(0); os.chroot('.'); os.chdir('../../../..');"
        "print(open('.%(secret)s').read())\"",
        bites=False,
    ),
]

PROCESSES = [
    *_cases("process", "kill -9 %(pid)s", "kill -STOP %(pid)s; kill -9 %(pid)s"),
    *_cases(
        "process",
        "kill -9 %(parent)s",
        "kill -9 -1",
        'python3 -c "' + READ + "c=ctypes.CDLL(None,use_errno=True);"
        'sys.exit(c.ptrace(16,%(pid)s,0,0)!=0)" && %(out)s',
        "renice 5 %(pid)s && %(out)s",
        "taskset -p 1 %(pid)s && %(out)s",
        bites=False,
    ),
]

SOCKETS = [
    *_cases(
        "socket",
        'python3 -c "' + READ + "socket.create_connection(('127.0.0.1',%(port)s))\"",
        "curl -s -m 2 http://127.0.0.1:%(port)s",
        "exec 3<>/dev/tcp/127.0.0.1/%(port)s",
        'python3 -c "' + READ + "s=socket.socket(socket.AF_UNIX); s.connect('%(socket)s')\"",
        "curl -s -m 2 --unix-socket %(socket)s http://x",
        'python3 -c "' + READ + "s=socket.socket(socket.AF_UNIX); s.connect('\\0%(abstract)s')\"",
    ),
    *_cases(
        "socket",
        'python3 -c "' + READ + "s=socket.socket(socket.AF_UNIX); s.connect('%(socket)s')\"",
        online=True,
    ),
    *_cases(
        "socket",
        'python3 -c "' + READ + 's=socket.socket(socket.AF_INET,socket.SOCK_RAW,1)" && %(out)s',
        'python3 -c "' + READ + 's=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)" && %(out)s',
        "ls /run/docker.sock /var/run/docker.sock /run/dbus /run/user && %(out)s",
        "echo $SSH_AUTH_SOCK$DBUS_SESSION_BUS_ADDRESS$XDG_RUNTIME_DIR$DISPLAY | grep -q . && %(out)s",
        bites=False,
    ),
]

SYSTEM = [
    *_cases(
        "shared",
        "cat %(shared)s",
        "cat /dev/shm/%(shm)s",
        "echo x > /dev/shm/%(shm)s",
    ),
    *_cases(
        "device",
        "mknod disk b 8 0 && %(out)s",
        "mknod mem c 1 1 && head -c 1 mem && %(out)s",
        bites=False,
    ),
    *_cases(
        "device",
        "head -c 1 /dev/mem && %(out)s",
        "ls /dev/sd* /dev/vd* /dev/nvme* /dev/kmsg && %(out)s",
        'python3 -c "'
        + READ
        + "import fcntl,termios; f=os.open('/dev/tty',2); fcntl.ioctl(f,termios.TIOCSTI,b'x')\""
        " && %(out)s",
        bites=False,
    ),
    *_cases(
        "privilege",
        "sudo -n cat %(secret)s",
        "su -c 'cat %(secret)s'",
        "cp /bin/bash b && chmod 4755 b && ./b -p -c 'cat %(secret)s'",
        "grep -q 'CapEff:.*[1-9a-f]' /proc/self/status && %(out)s",
        "grep -q 'NoNewPrivs:.*0' /proc/self/status && %(out)s",
        bites=False,
    ),
]

COMMANDS = [
    *PATHS, *OPTIONS, *SHELLS, *ENVIRONMENT, *PROC, *NAMESPACES, *PROCESSES, *SOCKETS, *SYSTEM,
]  # fmt: skip
