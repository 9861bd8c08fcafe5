#!/usr/bin/env python3
"""ends.py tty|socket COMMAND...: stdin and stdout are a terminal, or a socket.

The exit status is the command's.  After a terminal its mode is compared: "the terminal
is as before" or "the terminal was left changed" is the last line on stdout; all that
the command wrote comes before that.
"""
import os
import pty
import socket
import subprocess
import sys
import termios
import threading


def collect(read, out):
    while True:
        try:
            data = read()
        except OSError:  # a terminal that nobody has open any more
            return
        if not data:
            return
        out.append(data)


out = []
if sys.argv[1] == "tty":
    master, end = pty.openpty()
    before = termios.tcgetattr(end)
    read = lambda: os.read(master, 4096)
else:
    ours, theirs = socket.socketpair()
    end = theirs.detach()
    read = lambda: ours.recv(4096)


def own_terminal():
    os.setsid()
    if sys.argv[1] == "tty":
        import fcntl

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)


thread = threading.Thread(target=collect, args=(read, out))
thread.start()
child = subprocess.Popen(sys.argv[2:], stdin=end, stdout=end, preexec_fn=own_terminal)
status = child.wait()
same = sys.argv[1] != "tty" or termios.tcgetattr(end) == before
os.close(end)
thread.join()
sys.stdout.write(b"".join(out).decode(errors="replace"))
if sys.argv[1] == "tty":
    print("the terminal is as before" if same else "the terminal was left changed")
sys.exit(status)
