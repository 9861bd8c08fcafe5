/* SPDX-License-Identifier: GPL-2.0-only */
/* Exits of a vCPU, served one by one without a KVM. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <lkvm/vcpu.h>

#include "recorder.h"

struct fake {
	struct vm vm;
	struct vcpu vcpu;
	struct recorder rec;
	_Alignas(4096) uint8_t area[8192]; /* struct kvm_run and the page of port data */
};

static struct fake *fake(void)
{
	struct fake *f = aligned_alloc(4096, (sizeof(*f) + 4095) & ~4095UL);
	struct bus_range pio = {PORT, 8, &rec_ops, NULL}, mmio = {MMIO, 0x1000, &rec_ops, NULL};

	assert_non_null(f);
	memset(f, 0, sizeof(*f));
	f->rec.fd = -1;
	f->rec.next = 0x50;
	pio.dev = mmio.dev = &f->rec;
	assert_int_equal(log__init(&f->vm.log, LOG_LEVEL_ERROR), 0);
	log__defer(&f->vm.log, true);
	assert_int_equal(run__init(&f->vm.run), 0);
	assert_int_equal(bus__init(&f->vm.pio), 0);
	assert_int_equal(bus__init(&f->vm.mmio), 0);
	assert_int_equal(bus__add(&f->vm.pio, &pio), 0);
	assert_int_equal(bus__add(&f->vm.mmio, &mmio), 0);
	f->vcpu.vm = &f->vm;
	f->vcpu.id = 3;
	f->vcpu.run = (struct kvm_run *)f->area;
	return f;
}

static void fake_free(struct fake *f)
{
	bus__fini(&f->vm.mmio);
	bus__fini(&f->vm.pio);
	run__fini(&f->vm.run);
	f->vm.log.used = 0; /* expected messages: not for the screen */
	log__fini(&f->vm.log);
	free(f);
}

static void set_io(struct fake *f, uint8_t direction, uint8_t size, uint32_t count)
{
	f->vcpu.run->exit_reason = KVM_EXIT_IO;
	f->vcpu.run->io.direction = direction;
	f->vcpu.run->io.size = size;
	f->vcpu.run->io.count = count;
	f->vcpu.run->io.port = PORT;
	f->vcpu.run->io.data_offset = 4096;
}

static void test_string_io(void **state)
{
	struct fake *f = fake();

	(void)state;
	memcpy(f->area + 4096, "abcdefgh", 8);
	set_io(f, KVM_EXIT_IO_OUT, 1, 4);
	vcpu__serve(&f->vcpu);
	assert_int_equal(f->rec.accesses, 4);
	assert_string_equal(f->rec.text, "abcd");
	set_io(f, KVM_EXIT_IO_OUT, 2, 2);
	vcpu__serve(&f->vcpu);
	assert_int_equal(f->rec.accesses, 6);
	assert_int_equal(f->rec.last_len, 2);
	assert_int_equal(f->rec.last_off, 0); /* the port stays the same */
	assert_string_equal(f->rec.text, "abcdabcd");
	set_io(f, KVM_EXIT_IO_IN, 4, 2);
	vcpu__serve(&f->vcpu);
	assert_memory_equal(f->area + 4096, "\x51\x51\x51\x51\x52\x52\x52\x52", 8);
	assert_int_equal(f->vcpu.stats.io, 3); /* exits, not elements */
	assert_false(run__ended(&f->vm.run));
	fake_free(f);
}

static void test_mmio_exit(void **state)
{
	struct fake *f = fake();
	struct kvm_run *run = f->vcpu.run;

	(void)state;
	run->exit_reason = KVM_EXIT_MMIO;
	run->mmio.phys_addr = MMIO + 0x10;
	run->mmio.len = 4;
	run->mmio.is_write = 1;
	memcpy(run->mmio.data, "wxyz", 4);
	vcpu__serve(&f->vcpu);
	assert_string_equal(f->rec.text, "wxyz");
	assert_int_equal(f->rec.last_off, 0x10);
	run->mmio.is_write = 0;
	run->mmio.len = 8;
	vcpu__serve(&f->vcpu);
	assert_memory_equal(run->mmio.data, "\x51\x51\x51\x51\x51\x51\x51\x51", 8);
	/* half of an access that crosses into the page: no device sees it, nothing ends */
	run->mmio.phys_addr = MMIO;
	run->mmio.len = 3;
	vcpu__serve(&f->vcpu);
	assert_memory_equal(run->mmio.data, "\xff\xff\xff", 3);
	assert_int_equal(f->rec.accesses, 2);
	assert_int_equal(f->vcpu.stats.mmio, 3);
	assert_false(run__ended(&f->vm.run));
	fake_free(f);
}

static void test_ends(void **state)
{
	static const struct {
		uint32_t exit, type;
		enum run_end end;
		int code;
	} c[] = {
		{KVM_EXIT_INTR, 0, RUN_END_NONE, 0},
		{KVM_EXIT_IRQ_WINDOW_OPEN, 0, RUN_END_NONE, 0},
		{KVM_EXIT_SHUTDOWN, 0, RUN_END_TRIPLE_FAULT, 0},
		{KVM_EXIT_SYSTEM_EVENT, KVM_SYSTEM_EVENT_SHUTDOWN, RUN_END_POWEROFF, 0},
		{KVM_EXIT_SYSTEM_EVENT, KVM_SYSTEM_EVENT_RESET, RUN_END_RESET, 0},
		{KVM_EXIT_SYSTEM_EVENT, KVM_SYSTEM_EVENT_CRASH, RUN_END_TRIPLE_FAULT, 0},
		{KVM_EXIT_SYSTEM_EVENT, 0x7fff, RUN_END_HOST, ENOTSUP},
		{KVM_EXIT_HLT, 0, RUN_END_HOST, ENOTSUP},
		{KVM_EXIT_DEBUG, 0, RUN_END_HOST, ENOTSUP},
		{KVM_EXIT_INTERNAL_ERROR, KVM_INTERNAL_ERROR_DELIVERY_EV, RUN_END_KVM_INTERNAL,
		 KVM_INTERNAL_ERROR_DELIVERY_EV},
		/* first member of the union, as type is: VMX "invalid guest state" */
		{KVM_EXIT_FAIL_ENTRY, 0x80000021, RUN_END_KVM_ENTRY, (int)0x80000021},
	};
	struct fake *f;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		f = fake();
		f->vcpu.run->exit_reason = c[i].exit;
		f->vcpu.run->system_event.type = c[i].type;
		vcpu__serve(&f->vcpu);
		assert_int_equal(f->vm.run.end, c[i].end);
		assert_int_equal(f->vm.run.code, c[i].code);
		assert_int_equal(f->vm.run.cpu, c[i].end ? 3 : -1);
		assert_int_equal(f->vcpu.stats.other, 1);
		/* what nobody knows is named in the log */
		assert_int_equal(c[i].end == RUN_END_HOST,
				 f->vm.log.used > 0 && c[i].type != KVM_SYSTEM_EVENT_CRASH);
		fake_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_string_io),
		cmocka_unit_test(test_mmio_exit),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests_name("vcpu exits", tests, NULL, NULL);
}
