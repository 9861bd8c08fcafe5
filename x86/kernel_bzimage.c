// SPDX-License-Identifier: GPL-2.0-only
/*
 * bzImage: a real-mode setup part, which is skipped, and the protected-mode
 * part, which is entered at its 64-bit entry point 0x200 bytes in.
 * Documentation/arch/x86/boot.rst.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <lkvm/boot.h>

#include "kernel_file.h"

#define HDR_START offsetof(struct boot_params, hdr) /* 0x1f1, in the file too */
#define HDR_MAGIC 0x202
#define HDR_MIN_END 0x264 /* behind init_size: the last field that is needed */
#define SECTOR 512
#define ENTRY64 0x200
#define VERSION_MIN 0x0206 /* cmdline_size */
#define VERSION_64 0x020c /* xloadflags */

bool kernel_bzimage__is(const struct kernel_file *file)
{
	return kernel_file__has(file, HDR_MAGIC, "HdrS", 4);
}

/* The header ends where its jump instruction leads: offset 0x202 plus the byte at 0x201. */
static int read_header(struct setup_header *hdr, const struct kernel_file *file, struct lk_err *err)
{
	size_t end = HDR_MAGIC + file->head[0x201];

	memset(hdr, 0, sizeof(*hdr));
	if (end > HDR_START + sizeof(*hdr))
		end = HDR_START + sizeof(*hdr);
	if (file->head_len < HDR_MIN_END || file->head_len < end)
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   "is a truncated bzImage: it ends inside its header; "
					   "copy or build it again");
	memcpy(hdr, file->head + HDR_START, end - HDR_START);
	if (hdr->boot_flag != 0xaa55)
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   "is a damaged bzImage: its boot flag is 0x%04x, "
					   "not 0xaa55; copy or build it again",
					   hdr->boot_flag);
	return 0;
}

static int check_protocol(const struct setup_header *hdr, const struct kernel_file *file,
			  struct lk_err *err)
{
	unsigned int major = hdr->version >> 8, minor = hdr->version & 0xff;

	if (hdr->version < VERSION_MIN)
		return kernel_file__refuse(
			err, -ENOEXEC, file->path,
			"is a bzImage of boot protocol %u.%02u, too old; "
			"lkvm needs a 64-bit kernel of 2.12 (Linux 3.8) or later",
			major, minor);
	if (!(hdr->loadflags & LOADED_HIGH))
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   "is a zImage, which runs below 1 MiB; "
					   "give a bzImage of a 64-bit kernel");
	if (hdr->version < VERSION_64)
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   "is a bzImage of boot protocol %u.%02u, which does not "
					   "tell of a 64-bit entry point; lkvm needs a 64-bit "
					   "kernel of 2.12 (Linux 3.8) or later",
					   major, minor);
	if (!(hdr->xloadflags & XLF_KERNEL_64))
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   "is a 32-bit kernel (bzImage without the 64-bit entry "
					   "point, XLF_KERNEL_64); give one built for x86-64");
	return 0;
}

/* Setup part and protected-mode part have to be there whole. */
static int find_image(struct kernel *kernel, const struct kernel_file *file, struct lk_err *err)
{
	unsigned int sects = kernel->hdr.setup_sects ? kernel->hdr.setup_sects : 4;
	uint64_t setup = (sects + 1) * (uint64_t)SECTOR;
	uint64_t size = kernel->hdr.syssize * 16ULL;

	if (size <= ENTRY64)
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   "is a damaged bzImage: its header says %" PRIu64
					   " bytes of code; copy or build it again",
					   size);
	if (setup + size > file->size)
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   "is a truncated bzImage: %" PRIu64
					   " bytes, its header says %" PRIu64
					   "; copy or build it again",
					   file->size, setup + size);
	kernel->segment[0].offset = setup;
	kernel->segment[0].file_size = size;
	kernel->segment[0].mem_size = size;
	kernel->nr_segments = 1;
	return 0;
}

/*
 * The 64-bit decompressor moves itself up to pref_address when it is loaded
 * lower, so that loading it there is right for relocatable kernels as well.
 */
static int find_place(struct kernel *kernel, const struct kernel_file *file, struct lk_err *err)
{
	const struct setup_header *hdr = &kernel->hdr;
	uint64_t end;

	kernel->pref_address = hdr->pref_address;
	kernel->init_size = hdr->init_size;
	if (kernel->init_size < kernel->segment[0].mem_size)
		kernel->init_size = kernel->segment[0].mem_size;
	if (kernel->pref_address < X86_HIGH_START ||
	    __builtin_add_overflow(kernel->pref_address, kernel->init_size, &end))
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   "is a damaged bzImage: load address 0x%" PRIx64
					   " with %" PRIu64
					   " bytes is impossible; copy or build it again",
					   kernel->pref_address, kernel->init_size);
	if (hdr->relocatable_kernel &&
	    (hdr->kernel_alignment & (hdr->kernel_alignment - 1) ||
	     (hdr->kernel_alignment && kernel->pref_address % hdr->kernel_alignment)))
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   "is a damaged bzImage: load address 0x%" PRIx64
					   " does not have its own alignment 0x%x; "
					   "copy or build it again",
					   kernel->pref_address, hdr->kernel_alignment);
	kernel->entry = ENTRY64;
	return 0;
}

int kernel_bzimage__parse(struct kernel *kernel, const struct kernel_file *file, struct lk_err *err)
{
	int ret;

	kernel->kind = KERNEL_BZIMAGE;
	ret = read_header(&kernel->hdr, file, err);
	if (ret < 0)
		return ret;
	ret = check_protocol(&kernel->hdr, file, err);
	if (ret < 0)
		return ret;
	ret = find_image(kernel, file, err);
	if (ret < 0)
		return ret;
	return find_place(kernel, file, err);
}
