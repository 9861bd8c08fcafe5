// SPDX-License-Identifier: GPL-2.0-only
/* Name a file that is not a kernel for this machine, and what would do instead. */
#include <errno.h>

#include "kernel_file.h"

struct magic {
	size_t off;
	const char *bytes;
	size_t len;
	const char *what;
	const char *remedy;
};

#define MAGIC(off_, bytes_, what_, remedy_)                                                   \
	{                                                                                     \
		.off = (off_), .bytes = (bytes_), .len = sizeof(bytes_) - 1, .what = (what_), \
		.remedy = (remedy_)                                                           \
	}

#define UNPACK(tool) "unpack a vmlinux first (" tool ") or give the bzImage; an initrd goes with -i"

/*
 * The first that matches counts: EFI images of other machines start with "MZ"
 * too, as do bzImages.  Image headers: Documentation/arch/arm64/booting.rst,
 * arch/riscv/boot-image-header.rst; zboot: drivers/firmware/efi/libstub.
 */
static const struct magic magics[] = {
	MAGIC(0, "\x1f\x8b", "gzip-compressed data (a compressed vmlinux, or an initrd?)",
	      UNPACK("gunzip")),
	MAGIC(0, "\xfd\x37zXZ\0", "xz-compressed data (a compressed vmlinux, or an initrd?)",
	      UNPACK("unxz")),
	MAGIC(0, "\x28\xb5\x2f\xfd", "zstd-compressed data (a compressed vmlinux, or an initrd?)",
	      UNPACK("unzstd")),
	MAGIC(0, "BZh", "bzip2-compressed data (a compressed vmlinux, or an initrd?)",
	      UNPACK("bunzip2")),
	MAGIC(0, "\x04\x22\x4d\x18", "lz4-compressed data (a compressed vmlinux, or an initrd?)",
	      UNPACK("unlz4")),
	MAGIC(0, "\x02\x21\x4c\x18", "lz4-compressed data (a compressed vmlinux, or an initrd?)",
	      UNPACK("unlz4")),
	MAGIC(0, "\x89LZO\0\r\n\x1a\n",
	      "lzop-compressed data (a compressed vmlinux, or an initrd?)", UNPACK("lzop -d")),
	MAGIC(0, "\x5d\0\0", "lzma-compressed data (a compressed vmlinux, or an initrd?)",
	      UNPACK("unlzma")),
	MAGIC(4, "zimg", "an EFI zboot image, which only EFI firmware can start",
	      "give a bzImage or an ELF vmlinux for x86-64"),
	MAGIC(0x38, "ARM\x64", "an arm64 Linux Image",
	      "give a kernel for x86-64 (bzImage or ELF vmlinux)"),
	MAGIC(0x38, "RSC\x05", "a RISC-V Linux Image",
	      "give a kernel for x86-64 (bzImage or ELF vmlinux)"),
	MAGIC(0, "\x27\x05\x19\x56", "a U-Boot image",
	      "give a kernel for x86-64 (bzImage or ELF vmlinux)"),
	MAGIC(0, "070701", "a cpio archive, perhaps an initrd",
	      "give it with -i, and the kernel with -k"),
	MAGIC(0, "QFI\xfb", "a qcow2 disk image", "give it with -d, and the kernel with -k"),
	MAGIC(0x438, "\x53\xef", "an ext2, ext3 or ext4 file system image",
	      "give it with -d, and the kernel with -k"),
	MAGIC(0, "MZ", "a program for EFI or DOS, without a Linux setup header",
	      "give a bzImage or an ELF vmlinux for x86-64"),
	MAGIC(0x1fe, "\x55\xaa",
	      "a boot sector (a disk image, or a kernel older than boot protocol 2.00)",
	      "give a bzImage of Linux 3.8 or later, and disks with -d"),
};

/* Printable ASCII, white space and bytes of UTF-8: good enough to call it text. */
static bool is_text(const struct kernel_file *file)
{
	for (size_t i = 0; i < file->head_len; i++) {
		unsigned char c = file->head[i];

		if ((c < ' ' && !(c >= '\b' && c <= '\r') && c != 0x1b) || c == 0x7f)
			return false;
	}
	return true;
}

int kernel_ident__refuse(const struct kernel_file *file, struct lk_err *err)
{
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
		const struct magic *m = &magics[i];

		if (kernel_file__has(file, m->off, m->bytes, m->len))
			return kernel_file__refuse(err, -ENOEXEC, file->path,
						   "is %s, not a kernel that lkvm can boot; %s",
						   m->what, m->remedy);
	}
	return kernel_file__refuse(
		err, -ENOEXEC, file->path,
		"is %s, not a kernel; give a bzImage or an ELF vmlinux for x86-64",
		is_text(file) ? "a text file" : "of no kind that lkvm knows");
}
