#!/usr/bin/env python3
"""lkvm is killed while a guest writes: what the disk had promised is in the image.

durable.py LKVM PAYLOAD IMAGE RUNS PARAMS DISK-OPTIONS

Boots test=durable (guest/payload/test_durable.c) RUNS times on IMAGE, ends lkvm
with SIGKILL at a random moment, and compares.  Exit status 0: every write that
was acknowledged was there, each time.  DISK-OPTIONS begin with a comma; where
they begin with "null:" they are the disk, and IMAGE is what is looked at all the
same: a disk that keeps nothing has to be found out.
"""
import array
import os
import random
import subprocess
import sys
import time

BLOCK, STRIDE, BATCH = 4096, 7, 8
BLOCKS = 256  # of the image; some blocks are written many times in a run
LIMIT = 30  # seconds for one run: only a hang gets there


def run_once(argv, rng):
    """The last number that the guest saw acknowledged."""
    acks, acked = rng.randrange(1, 40), 0
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL) as vm:
        start = time.monotonic()
        for line in vm.stdout:
            word = line.split()
            if len(word) == 2 and word[0] == b"acked":
                acked, acks = int(word[1]), acks - 1
            if acks <= 0 or time.monotonic() - start > LIMIT:
                break
        # not always right behind an answer: anywhere in the batches that follow
        time.sleep(rng.random() * 0.003)
        vm.kill()
        for line in vm.stdout:  # what had been said before
            word = line.split()
            if line.endswith(b"\n") and len(word) == 2 and word[0] == b"acked":
                acked = int(word[1])
        error = vm.stderr.read().decode(errors="replace").strip()
    if vm.wait() != -9 or acks > 0:
        raise SystemExit(f"lkvm ended by itself with {vm.returncode}: {error}")
    return acked


def check(image, acked):
    """What is wrong with the image, or None; and the newest number in it."""
    newest = 0
    for first in range(1, BLOCKS + 1):
        pos = first * STRIDE % BLOCKS
        # the writes to this block are first, first + BLOCKS, ...
        want = acked - (acked - first) % BLOCKS if acked >= first else 0
        os.lseek(image, pos * BLOCK, os.SEEK_SET)
        words = array.array("Q", os.read(image, BLOCK))
        newest = max(newest, max(words))
        if min(words) < want:
            return f"block {pos} holds {min(words)}, acknowledged was {want} of {acked}", newest
        # beyond that only what was under way: the next write to this block
        for w in set(words):
            if w != want and (w < want or (w - first) % BLOCKS or w > acked + 64 * BATCH):
                return f"block {pos} holds {w}, which was never written there", newest
    return None, newest


def main():
    lkvm, payload, path, runs, params, options = sys.argv[1:7]
    disk = options if options.startswith("null:") else path + options
    rng = random.Random(int(os.environ.get("SEED", "1")))
    total = ahead = 0
    for run in range(int(runs)):
        with open(path, "wb") as f:
            f.truncate(BLOCKS * BLOCK)
        acked = run_once([lkvm, "run", "-k", payload, "-m", "64", "-p",
                          "test=durable " + params, "-d", disk], rng)
        image = os.open(path, os.O_RDONLY)
        wrong, newest = check(image, acked)
        os.close(image)
        if wrong:
            print(f"run {run}: {wrong}")
            return 1
        total += acked
        ahead += newest > acked
    print(f"{runs} of {runs}: {total} acknowledged writes, all there; "
          f"{ahead} ended with more under way")
    return 0


sys.exit(main())
