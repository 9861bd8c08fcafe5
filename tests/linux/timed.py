#!/usr/bin/env python3
"""Run a command, pass its output on, and say how long after its last byte it ended:

    timed.py LIMIT COMMAND...    ends with the line "END STATUS MILLISECONDS"
"""
import os
import signal
import subprocess
import sys
import time

limit, command = float(sys.argv[1]), sys.argv[2:]
child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
signal.signal(signal.SIGALRM, lambda *_: child.kill())
signal.setitimer(signal.ITIMER_REAL, limit)
last = time.monotonic()
while True:
    data = os.read(child.stdout.fileno(), 65536)
    if not data:
        break
    last = time.monotonic()
    sys.stdout.buffer.write(data.replace(b"\r", b""))
    sys.stdout.buffer.flush()
status = child.wait()
took = int((time.monotonic() - last) * 1000)
print("END", 128 - status if status < 0 else status, took)
