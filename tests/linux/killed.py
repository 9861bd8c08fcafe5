#!/usr/bin/env python3
"""lkvm is killed while fio writes in a guest: what was flushed is in the image.

killed.py IMAGE RUNS COMMAND...

COMMAND starts lkvm with a guest that runs /test/fioflushed on IMAGE.  RUNS times it
gets SIGKILL at a random moment; then the image is compared.  Exit status 0: every
write that was acknowledged by a flush was there, each time.

fio puts its own number, from 0, and a checksum into each block.  A job writes one
block at a time, each one once, and an fsync before those with numbers 8, 16, ...:
if the image has anything of write N, the writes before the last multiple of 8 up
to N were acknowledged.  And each flush that the guest had counted is at least one
fsync: so many times 8 writes were acknowledged in all.
"""
import hashlib
import os
import random
import struct
import subprocess
import sys
import time

JOBS, MIB, FSYNC, BLOCK = 2, 32, 8, 4096  # as /test/fioflushed has them
HEADER = struct.Struct("<HHIQQIIHHI")  # struct verify_header of fio 3
MAGIC = 0xACCA
MD5 = 16
LIMIT = 120  # seconds for one run: only a hang gets there


def flushes(line):
    word = line.split()
    if line.endswith(b"\n") and len(word) == 3 and word[0] == b"fioflushed:" and word[1].isdigit():
        return int(word[1])
    return None


def run_once(argv, rng):
    """The last number of flushes that the guest said; milliseconds until the first."""
    lines, acked, first = rng.randrange(1, 25), 0, 0
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL) as vm:
        start = time.monotonic()
        for line in vm.stdout:
            n = flushes(line)
            if n is not None:
                first = first or time.monotonic() - start
                acked, lines = n, lines - 1
            if lines <= 0 or time.monotonic() - start > LIMIT:
                break
        # not always right behind a line: anywhere in what follows
        time.sleep(rng.random() * 0.05)
        vm.kill()
        for line in vm.stdout:  # what had been said before
            acked = max(acked, flushes(line) or 0)
        error = vm.stderr.read().decode(errors="replace").strip()
    if vm.wait() != -9 or lines > 0:
        raise SystemExit(f"lkvm ended by itself with {vm.returncode}: {error}")
    return acked, first


def job_of(image, job):
    """Numbers of the writes that are there in full, and the newest of all."""
    whole, newest = set(), -1
    for pos in range(job * MIB << 20, (job + 1) * MIB << 20, BLOCK):
        block = os.pread(image, BLOCK, pos)
        head = HEADER.unpack_from(block)
        if head[0] != MAGIC:
            continue
        number, end = head[8], HEADER.size + MD5
        newest = max(newest, number)
        if head[4] == pos and block[HEADER.size:end] == hashlib.md5(block[end:]).digest():
            whole.add(number)
    return whole, newest


def check(path, acked):
    """What is wrong with the image, or None; and how many writes it had to have."""
    image = os.open(path, os.O_RDONLY)
    due = batches = 0
    wrong = None
    for job in range(JOBS):
        whole, newest = job_of(image, job)
        promised = max(newest, 0) // FSYNC * FSYNC
        lost = set(range(promised)) - whole
        if lost:
            wrong = (f"job {job}: write {min(lost)} and {len(lost) - 1} others are lost; "
                     f"{promised} were flushed")
        first_gap = min(set(range(len(whole) + 1)) - whole)
        due += promised
        batches += first_gap // FSYNC
    if batches < acked:
        wrong = wrong or f"{acked} flushes were acknowledged, the image has {batches}"
    os.close(image)
    return wrong, max(due, acked * FSYNC)


def damaged(path, acked):
    """The test itself: that the first block of each job is lost is found out."""
    with open(path, "r+b") as f:
        for pos in range(0, JOBS * MIB << 20, BLOCK):
            f.seek(pos)
            head = HEADER.unpack(f.read(HEADER.size))
            if head[0] == MAGIC and head[8] == 0:
                f.seek(pos)
                f.write(bytes(BLOCK))
    return check(path, acked)[0]


def main():
    path, runs, argv = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    rng = random.Random(int(os.environ.get("SEED", "1")))
    total = flushed = 0
    for run in range(runs):
        with open(path, "wb") as f:
            f.truncate(JOBS * MIB << 20)
        acked, first = run_once(argv, rng)
        wrong, due = check(path, acked)
        print(f"# run {run}: fio's first flush after {first:.1f} s; {acked} flushes, {due} writes")
        if wrong:
            print(f"run {run}: {wrong}")
            return 1
        total, flushed = total + due, flushed + acked
    if not damaged(path, acked):
        print("a lost block is not found out")
        return 1
    print(f"{runs} of {runs}: {flushed} flushes, {total} writes promised, all there")
    return 0


sys.exit(main())
