#!/usr/bin/env python3
"""without.py NR[,NR...] COMMAND...: run it on a kernel that lacks these system calls (ENOSYS)."""
import ctypes
import os
import struct
import sys

BPF_LD_W_ABS, BPF_JEQ, BPF_RET = 0x20, 0x15, 0x06
ALLOW, ENOSYS = 0x7FFF0000, 0x00050000 | 38
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


def insn(code, jt, jf, k):
    return struct.pack("HBBI", code, jt, jf, k)


calls = [int(n) for n in sys.argv[1].split(",")]
program = insn(BPF_LD_W_ABS, 0, 0, 0)  # seccomp_data.nr
for nr in calls:
    program += insn(BPF_JEQ, 0, 1, nr) + insn(BPF_RET, 0, 0, ENOSYS)
program += insn(BPF_RET, 0, 0, ALLOW)
code = ctypes.create_string_buffer(program, len(program))
prog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)), 16)
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
    sys.exit("without.py: no_new_privs: " + os.strerror(ctypes.get_errno()))
if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, prog, 0, 0):
    sys.exit("without.py: seccomp: " + os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[2], sys.argv[2:])
