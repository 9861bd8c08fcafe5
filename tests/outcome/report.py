#!/usr/bin/python3
"""Judges a report: tests/outcome/report.py REPORT JUNIT OUTCOME STATUS [EVENT...]

The report is valid by its schema and its timeline in order, from exec on; OUTCOME
and STATUS are in both files; each EVENT is in the timeline.  Prints what is wrong.
"""
import json
import sys
import xml.etree.ElementTree as tree

import jsonschema

report, junit, outcome, status, *events = sys.argv[1:]
wrong = []

with open("kvm/cmd/report.schema.json", encoding="utf-8") as f:
    schema = json.load(f)
jsonschema.Draft7Validator.check_schema(schema)
with open(report, encoding="utf-8") as f:
    r = json.load(f)
for error in jsonschema.Draft7Validator(schema).iter_errors(r):
    wrong.append(f"schema: {'/'.join(map(str, error.path))}: {error.message}")
if (r["outcome"], r["status"]) != (outcome, int(status)):
    wrong.append(f"outcome {r['outcome']}, status {r['status']}")
times = [e["ms"] for e in r["timeline"]]
names = [e["event"] for e in r["timeline"]]
if times != sorted(times) or names[0] != "exec" or times[0] != 0:
    wrong.append(f"timeline: {list(zip(names, times))}")
matched = [e["pattern"] for e in r["expect"] if e["matched"]]
if matched != [e["pattern"] for e in r["timeline"] if e["event"] == "expect"]:
    wrong.append(f"expects {r['expect']} and the timeline {names}")
for e in ["first-instruction", "end", *events]:
    if e not in names:
        wrong.append(f"no {e} in the timeline: {names}")
if not any(sum(v["exits"].values()) for v in r["vcpus"]):
    wrong.append("no exits")

suite = tree.parse(junit).getroot()
case = suite.find("testcase")
failure = case.find("failure")
if suite.tag != "testsuite" or suite.get("tests") != "1":
    wrong.append("junit: no testsuite with one test")
if suite.get("failures") != ("0" if status == "0" else "1"):
    wrong.append(f"junit: {suite.get('failures')} failures")
if (failure is None) != (status == "0"):
    wrong.append("junit: a failure where the status is 0, or none where it is not")
if failure is not None:
    if failure.get("type") != outcome or f"status {status}" not in failure.get("message"):
        wrong.append(f"junit: {failure.attrib}")
    if r["reason"].isascii() and r["reason"] not in failure.get("message"):
        wrong.append(f"junit: {failure.get('message')}, reason {r['reason']}")
print("; ".join(wrong))
