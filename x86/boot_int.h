/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_X86_BOOT_INT_H
#define LKVM_X86_BOOT_INT_H

#include <lkvm/boot.h>

/* Fill in the e820 map of the zero page.  Internal to x86/. */
void e820__fill(struct boot_params *params, const struct x86_map *map);

#endif
