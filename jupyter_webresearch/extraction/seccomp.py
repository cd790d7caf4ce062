"""A seccomp filter that leaves a worker computation and its two pipes, and nothing else.

Linux on x86-64 and AArch64. Every call that is not listed fails with EPERM: no file, socket, process or signal to
another process, whatever code runs (seccomp(2); the numbers are those of the kernel's syscall tables, which never
change).
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys

__all__ = ["install"]

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2

_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_ERRNO_EPERM = 0x00050000 | 1

# Classic BPF: load a word of struct seccomp_data, compare, return.
_LOAD = 0x20
_EQUAL = 0x15
_RETURN = 0x06
_OFFSET_NUMBER = 0
_OFFSET_ARCH = 4

# read write close lseek fstat readv writev | memory: mmap mprotect munmap brk mremap madvise | signals and timers:
# rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack getitimer setitimer restart_syscall | time and scheduling:
# sched_yield nanosleep clock_gettime clock_nanosleep gettimeofday sched_getaffinity select pselect6 (Python 3.10 sleeps
# by one of these two; AArch64 has the second alone) | a process of itself: getpid getppid gettid getrusage sysinfo |
# futex getrandom membarrier rseq | exit exit_group
_NUMBERS = {
    "x86_64": (
        0xC000003E,
        (0, 1, 3, 8, 5, 19, 20, 9, 10, 11, 12, 25, 28, 13, 14, 15, 131, 36, 38, 219, 24, 35, 228, 230, 96, 204, 23,
         270, 39, 110, 186, 98, 99, 202, 318, 324, 334, 60, 231),
    ),
    "aarch64": (
        0xC00000B7,
        (63, 64, 57, 62, 80, 65, 66, 222, 226, 215, 214, 216, 233, 134, 135, 139, 132, 102, 103, 128, 124, 101, 113,
         115, 169, 123, 72, 172, 173, 178, 165, 179, 98, 278, 283, 293, 93, 94),
    ),
}  # fmt: skip


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install() -> bool:
    """Install the filter for this process, for good.

    Returns
    -------
    bool
        Whether it is in force; False on another system, another processor, or a kernel without seccomp.
    """
    known = _NUMBERS.get(platform.machine())
    if sys.platform != "linux" or known is None or sys.maxsize < 2**32:
        return False
    code = _assemble(*known)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong)
    if prctl(_PR_SET_NO_NEW_PRIVS, 1, None, 0, 0) != 0:
        return False
    return bool(prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program), 0, 0) == 0)


def _assemble(arch: int, numbers: tuple[int, ...]) -> bytes:
    """Return the BPF program: another architecture's calls kill, listed numbers pass, the rest fails with EPERM."""
    lines = [
        (_LOAD, 0, 0, _OFFSET_ARCH),
        (_EQUAL, 1, 0, arch),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _OFFSET_NUMBER),
    ]
    # Each comparison jumps over what follows it to the last line.
    lines += [(_EQUAL, len(numbers) - index, 0, number) for index, number in enumerate(numbers)]
    lines += [(_RETURN, 0, 0, _ERRNO_EPERM), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)
