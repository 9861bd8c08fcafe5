#!/usr/bin/env python3
"""What was counted around a guest, one line each (see counts.sh):

    counts.py DIR OUTPUT      prints lines "SOURCE NAME DISK NUMBER"

DIR holds the histograms hist-EVENT of the kernel, perf (of perf stat) and
stats.json (of lkvm --stats); what is missing gives no lines.  OUTPUT is what
the guest said.  Disks are numbers, vda is 0; "all" is all of them.
"""
import json
import os
import re
import sys

CALLS = {0: "read", 1: "write", 7: "poll", 24: "sched_yield", 35: "nanosleep", 202: "futex", 208: "io_getevents",
         209: "io_submit",
         230: "clock_nanosleep", 271: "ppoll", 333: "io_pgetevents", 426: "io_uring_enter"}
# What a thread does once, when it starts and when it ends: memory, signals, priority, its filter,
# exit, rseq, opening and registering what an io_uring needs
ONCE = {3, 9, 10, 11, 12, 14, 28, 60, 140, 141, 144, 157, 203, 204, 257, 273, 317, 334, 425, 427}
# Looking at the time is one only where the host's clock is not the TSC
CLOCK = 228
HALTS = {(1, 12), (2, 0x78)}  # Intel, AMD
NOTIFY_PAGE = 0x3000

where, output = sys.argv[1:]
totals = {}


def read(name):
    path = os.path.join(where, name)
    if not os.path.exists(path):
        return ""
    with open(path) as f:
        return f.read()


def add(source, name, disk, number):
    totals[source, name, disk] = totals.get((source, name, disk), 0) + number
    if source != "lkvm" and disk != "all":
        add(source, name, "all", number)


def histogram(event):
    """Pairs of a key (text) and its count."""
    for key, n in re.findall(r"^\{ (.*?) \} hitcount: +(\d+)", read("hist-" + event), re.M):
        yield key, int(n)


def kicks():
    """Disks got their BARs in order; queues are in one page."""
    found = {}
    for key, n in histogram("kvm_mmio"):
        bar = int(key.split(":")[1]) & ~0xFFF
        if bar & NOTIFY_PAGE == NOTIFY_PAGE:
            found[bar] = found.get(bar, 0) + n
    for disk, bar in enumerate(sorted(found)):
        add("trace", "kicks", disk, found[bar])


def traced():
    kicks()
    for _, n in histogram("kvm_msi_set_irq"):
        add("trace", "interrupts", "all", n)
    for key, n in histogram("kvm_exit"):
        isa, reason = (int(x.split(":")[1]) for x in key.split(","))
        if (isa, reason) in HALTS:
            add("trace", "halts", "all", n)
        add("trace", "exits", "all", n)
    for key, n in histogram("sys_enter"):
        m = re.match(r"id: +(\d+), common_pid: blk-(\d+)", key)
        if m and int(m[1]) == CLOCK:
            add("trace", "clock", int(m[2]), n)
        elif m and int(m[1]) in ONCE:
            add("trace", "once", int(m[2]), n)
        elif m:
            add("trace", "calls", int(m[2]), n)
            add("trace", "call-" + CALLS.get(int(m[1]), m[1]), int(m[2]), n)


def perf():
    lines = [line.split(",") for line in read("perf").splitlines() if re.match(r"\d+,", line)]
    for name, line in zip(("kicks", "interrupts", "halts", "calls"), lines):
        add("perf", name, "all", int(line[0]))


def guest():
    with open(output) as f:
        for line in f:
            m = re.match(r"requests: vd([a-z]) reads (\d+) writes (\d+) discards (\d+) flushes (\d+)", line)
            if m:
                add("guest", "requests", ord(m[1]) - ord("a"), sum(int(m[i]) for i in range(2, 6)))
            m = re.match(r"requests: irq virtio(\d+)-req\S* (\d+)", line)
            if m:
                add("guest", "interrupts", int(m[1]), int(m[2]))


def flatten(prefix, value, disk):
    for name, v in value.items():
        if isinstance(v, dict):
            flatten(prefix + name + ".", v, disk)
        elif isinstance(v, (int, float)):
            add("lkvm", prefix + name, disk, v)


def own():
    text = read("stats.json")
    if not text:
        return
    stats = json.loads(text)
    for disk, d in enumerate(stats["disks"]):
        flatten("", d["total"], disk)
    flatten("", stats["total"], "all")
    # What the guest's block layer knows of: not the serial numbers
    for disk in [*range(len(stats["disks"])), "all"]:
        r = (stats["total"] if disk == "all" else stats["disks"][disk]["total"])["requests"]
        add("lkvm", "requests", disk, r["all"] - r["ids"])
    add("lkvm", "balanced", "all", int(stats["balanced"]))


for step in (traced, perf, guest, own):
    step()
for (source, name, disk), number in totals.items():
    print(source, name, disk, number)
