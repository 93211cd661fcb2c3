"""A small seccomp filter: the system calls that a sandboxed program is refused.

It closes what resource limits leave open. The kernel does not count the processes of root against
RLIMIT_NPROC, and memory in a memfd or a System V segment against RLIMIT_AS; so new processes and those
two kinds of memory are refused here. The rest are doors into the kernel that no solution of a task needs.
"""

import errno
import platform
import struct

from motet.errors import SandboxUnavailable

# (AUDIT_ARCH, numbers of the calls by name), from the kernel's tables.
ARCHITECTURES: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (
        0xC000003E,
        {"clone": 56, "clone3": 435, "fork": 57, "vfork": 58, "memfd_create": 319, "memfd_secret": 447}
        | {"shmget": 29, "msgget": 68, "mq_open": 240, "unshare": 272, "setns": 308, "mount": 165}
        | {"ptrace": 101, "bpf": 321, "keyctl": 250, "add_key": 248, "request_key": 249}
        | {"io_uring_setup": 425, "userfaultfd": 323, "perf_event_open": 298},
    ),
    "aarch64": (
        0xC00000B7,
        {"clone": 220, "clone3": 435, "memfd_create": 279, "memfd_secret": 447}
        | {"shmget": 194, "msgget": 186, "mq_open": 180, "unshare": 97, "setns": 268, "mount": 40}
        | {"ptrace": 117, "bpf": 280, "keyctl": 219, "add_key": 217, "request_key": 218}
        | {"io_uring_setup": 425, "userfaultfd": 282, "perf_event_open": 241},
    ),
}
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data, little-endian
ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
CLONE_THREAD, CLONE_NEWUSER = 0x00010000, 0x10000000
X32 = 0x40000000  # a second set of numbers on x86_64


def seccomp_filter(processes: int) -> bytes:
    """The filter as a BPF program, in the form that `bwrap --seccomp` reads.

    Args:
        processes: 1 to refuse new processes (threads stay allowed), more to leave them to RLIMIT_NPROC.

    Raises:
        SandboxUnavailable: the numbers of this processor's system calls are not known here.
    """
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        raise SandboxUnavailable(f"no seccomp filter for {machine!r}; known: {', '.join(ARCHITECTURES)}")
    architecture, numbers = ARCHITECTURES[machine]
    no = REFUSE | errno.EPERM
    special = {"clone", "clone3"} | ({"fork", "vfork"} if processes > 1 else set())
    program = [(LOAD, 0, 0, ARCHITECTURE), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, KILL)]
    program += [(LOAD, 0, 0, NUMBER), (AT_LEAST, 0, 1, X32), (RETURN, 0, 0, no)]
    for name, number in numbers.items():
        if name not in special:
            program += [(EQUAL, 0, 1, number), (RETURN, 0, 0, no)]
    # The flags of clone3 lie behind a pointer that a filter cannot follow; without it libc uses clone.
    program += [(EQUAL, 0, 1, numbers["clone3"]), (RETURN, 0, 0, REFUSE | errno.ENOSYS)]
    program += [(EQUAL, 1, 0, numbers["clone"]), (RETURN, 0, 0, ALLOW), (LOAD, 0, 0, FIRST_ARGUMENT)]
    if processes > 1:
        program += [(ANY_BIT, 0, 1, CLONE_NEWUSER), (RETURN, 0, 0, no), (RETURN, 0, 0, ALLOW)]
    else:
        program += [(ANY_BIT, 1, 0, CLONE_THREAD), (RETURN, 0, 0, no), (RETURN, 0, 0, ALLOW)]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
