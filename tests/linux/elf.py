#!/usr/bin/env python3
"""The ELF inside a bzImage, and variants of it:  elf.py unpack|nosections|nonotes IN OUT"""
import struct
import subprocess
import sys


def unpack(image):
    """The payload begins at payload_offset (0x248) behind the setup sectors and
    has payload_length (0x24c) bytes, the last four the unpacked size."""
    sects = image[0x1F1] or 4
    off, length = struct.unpack_from("<II", image, 0x248)
    data = image[(sects + 1) * 512 + off :][:length]
    tools = {
        b"\xfd7zX": ["xz", "-dc", "--single-stream"],
        b"\x28\xb5\x2f\xfd": ["zstd", "-dc"],
        b"\x02\x21\x4c\x18": ["lz4", "-dc"],
    }
    if data[:4] not in tools:
        sys.exit("elf.py: unknown compression " + data[:4].hex())
    return subprocess.run(tools[data[:4]], input=data[:-4], stdout=subprocess.PIPE).stdout


def nosections(elf):
    elf = bytearray(elf)
    struct.pack_into("<Q", elf, 40, 0)  # e_shoff
    struct.pack_into("<HHH", elf, 58, 0, 0, 0)  # e_shentsize, e_shnum, e_shstrndx
    return elf


def nonotes(elf):
    elf = bytearray(elf)
    (phoff,) = struct.unpack_from("<Q", elf, 32)
    size, num = struct.unpack_from("<HH", elf, 54)
    for at in range(phoff, phoff + num * size, size):
        if struct.unpack_from("<I", elf, at)[0] == 4:  # PT_NOTE
            struct.pack_into("<I", elf, at, 0)  # PT_NULL
    return elf


def main():
    what, source, dest = sys.argv[1:]
    with open(source, "rb") as f:
        data = f.read()
    result = {"unpack": unpack, "nosections": nosections, "nonotes": nonotes}[what](data)
    if result[:4] != b"\x7fELF":
        sys.exit("elf.py: no ELF in " + source)
    with open(dest, "wb") as f:
        f.write(result)


main()
