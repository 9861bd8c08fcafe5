// SPDX-License-Identifier: GPL-2.0-only
/* Reading a kernel file, and saying what is wrong with it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kernel_file.h"

/* One pread() moves less than 2 GiB whatever is asked. */
#define READ_MAX (1UL << 30)

int kernel_file__read(int fd, void *buf, uint64_t len, uint64_t off)
{
	char *p = buf;

	while (len) {
		ssize_t n = pread(fd, p, len < READ_MAX ? len : READ_MAX, off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		p += n;
		off += n;
		len -= n;
	}
	return 0;
}

bool kernel_file__has(const struct kernel_file *file, size_t off, const void *magic, size_t len)
{
	return off + len <= file->head_len && !memcmp(file->head + off, magic, len);
}

int kernel_file__refuse(struct lk_err *err, int code, const char *path, const char *fmt, ...)
{
	char reason[320], name[180];
	size_t len = strlen(path);
	va_list ap;

	if (!err)
		return code;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);

	if (len < sizeof(name))
		snprintf(name, sizeof(name), "%s", path);
	else
		snprintf(name, sizeof(name), "...%s", path + len - (sizeof(name) - 4));
	for (char *p = name; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return lk_err__set(err, code, "%s: %s", name, reason);
}
