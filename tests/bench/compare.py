#!/usr/bin/env python3
"""The table of tests/bench/compare, and the same as JSON.

    compare.py DIR KEY=VALUE... JSON

DIR holds the files columns and configs, one name a line, and results, lines
"COLUMN;CONFIG;ROUND;IOPS;I/Os an interrupt".
"""
import json
import os
import statistics
import sys

where, facts, out = sys.argv[1], dict(a.split("=", 1) for a in sys.argv[2:-1]), sys.argv[-1]


def lines(name):
    with open(os.path.join(where, name)) as f:
        return f.read().splitlines()


columns, configs = lines("columns"), lines("configs")
iops, batch = {}, {}
for line in lines("results"):
    column, config, _, n, per = line.split(";")
    iops.setdefault((config, column), []).append(float(n))
    batch.setdefault((config, column), []).append(float(per))


def median(values, config, column):
    return statistics.median(values.get((config, column), [0.0]))


def ratio(config, column, to):
    base = median(iops, config, to)
    return f"{median(iops, config, column) / base:.2f}" if base else "-"


print("# " + ", ".join(f"{k} {v}" for k, v in facts.items() if v))
head = ["depth x jobs, vCPUs", "", "IOPS", "lowest", "highest", "of bare", "of QEMU", "I/Os an interrupt"]
rows = [head]
for config in configs:
    depth, jobs, cpus = config.split("x")
    for column in columns:
        values = iops.get((config, column), [0.0])
        per = median(batch, config, column)
        rows.append([f"{depth} x {jobs}, {cpus}", column, f"{statistics.median(values):.0f}",
                     f"{min(values):.0f}", f"{max(values):.0f}", ratio(config, column, "bare"),
                     ratio(config, column, "qemu"), f"{per:.1f}" if per else "-"])
widths = [max(len(r[i]) for r in rows) for i in range(len(head))]
for row in rows:
    print("  ".join(c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))))

results = [{"depth": int(c.split("x")[0]), "jobs": int(c.split("x")[1]), "vcpus": int(c.split("x")[2]),
            "column": col, "iops": v, "ios_per_interrupt": batch.get((c, col), [])}
           for (c, col), v in iops.items()]
with open(out, "w") as f:
    json.dump({"facts": facts, "results": results}, f, indent=1)
