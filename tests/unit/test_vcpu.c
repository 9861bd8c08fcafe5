/* SPDX-License-Identifier: GPL-2.0-only */
/* vCPU threads: guests of a few bytes on the real KVM, and the stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "kvm_fixture.h"
#include "recorder.h"

#define CODE 0x1000
#define DATA 0x2000

struct guest {
	struct vm *vm;
	struct recorder rec;
};

/* Real mode at CODE, on every vCPU that is not waiting for INIT: vCPU 0. */
static void guest_start_state(struct vm *vm)
{
	struct kvm_regs regs = {.rip = CODE, .rflags = 2, .rsp = 0x8000};
	struct kvm_sregs sregs;

	assert_true(vm__ioctl(vm, vm->vcpus[0].fd, KVM_GET_SREGS, &sregs) >= 0);
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
	assert_true(vm__ioctl(vm, vm->vcpus[0].fd, KVM_SET_SREGS, &sregs) >= 0);
	assert_true(vm__ioctl(vm, vm->vcpus[0].fd, KVM_SET_REGS, &regs) >= 0);
}

static void guest_create(struct guest *g, const void *code, size_t len, unsigned int nr_cpus)
{
	static const struct guest_region ram = {.gpa = 0, .size = 0x10000};
	struct bus_range pio = {PORT, 8, &rec_ops, &g->rec};
	struct bus_range mmio = {MMIO, 0x1000, &rec_ops, &g->rec};
	struct lk_err err;

	memset(g, 0, sizeof(*g));
	g->vm = fixture__vm();
	g->rec.next = 0x50;
	g->rec.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_int_equal(guest_mem__init(&g->vm->mem, &ram, 1, &err), 0);
	assert_int_equal(vm__map_memory(g->vm, &err), 0);
	assert_int_equal(guest_mem__write(&g->vm->mem, CODE, code, len), 0);
	assert_int_equal(guest_mem__write(&g->vm->mem, DATA, "data", 4), 0);
	assert_int_equal(bus__add(&g->vm->pio, &pio), 0);
	assert_int_equal(bus__add(&g->vm->mmio, &mmio), 0);
	assert_int_equal(vcpu__create_all(g->vm, nr_cpus, &err), 0);
	guest_start_state(g->vm);
}

static void guest_destroy(struct guest *g)
{
	fixture__destroy(g->vm);
	close(g->rec.fd);
}

/* Let the guest run until it has written two bytes, then stop it from here. */
static void guest_run_and_stop(struct guest *g)
{
	unsigned int i;

	assert_int_equal(vcpu__start_all(g->vm), 0);
	assert_true(fixture__wait(g->rec.fd));
	run__end(&g->vm->run, RUN_END_SIGNAL, SIGTERM, -1);
	vcpu__stop_all(g->vm);
	assert_int_equal(g->vm->run.end, RUN_END_SIGNAL);
	for (i = 0; i < g->vm->nr_vcpus; i++) {
		/* Or a signal just before the entry would be lost. */
		assert_int_equal(g->vm->vcpus[i].run->immediate_exit, 1);
		assert_true(atomic_load(&g->vm->vcpus[i].stopped));
	}
}

#define OUT_CODE                                     \
	"\xba\xf8\x03" /* mov dx, 0x3f8 */           \
	"\xb0\x41\xee" /* mov al, 'A'; out dx, al */ \
	"\xb0\x42\xee" /* mov al, 'B'; out dx, al */

static void test_halted(void **state)
{
	/* cli; out; hlt; jmp to the hlt: nothing can wake it but the kick */
	static const char code[] = "\xfa" OUT_CODE "\xf4\xeb\xfd";
	struct guest g;

	(void)state;
	guest_create(&g, code, sizeof(code) - 1, 1);
	guest_run_and_stop(&g);
	assert_string_equal(g.rec.text, "AB");
	assert_int_equal(g.vm->vcpus[0].stats.io, 2);
	assert_true(g.vm->timeline.at[TIMELINE_RUN] > 0);
	guest_destroy(&g);
}

static void test_spinning(void **state)
{
	static const char code[] = OUT_CODE "\xeb\xfe"; /* jmp to itself */
	struct guest g;

	(void)state;
	guest_create(&g, code, sizeof(code) - 1, 1);
	guest_run_and_stop(&g);
	guest_destroy(&g);
}

/* The second vCPU waits for INIT inside KVM_RUN and must come out, too. */
static void test_waiting_for_init(void **state)
{
	static const char code[] = OUT_CODE "\xf4\xeb\xfd";
	struct guest g;

	(void)state;
	guest_create(&g, code, sizeof(code) - 1, 3);
	guest_run_and_stop(&g);
	guest_destroy(&g);
}

static void test_thread(void **state)
{
	static const char code[] = OUT_CODE "\xf4\xeb\xfd";
	struct guest g;
	sigset_t now;

	(void)state;
	guest_create(&g, code, sizeof(code) - 1, 1);
	guest_run_and_stop(&g);
	assert_string_equal(g.rec.thread, "vcpu-0");
	/* A signal to the process must find the main thread, a fault its own. */
	assert_true(sigismember(&g.rec.mask, SIGTERM));
	assert_true(sigismember(&g.rec.mask, SIGINT));
	assert_true(sigismember(&g.rec.mask, SIGABRT));
	assert_true(sigismember(&g.rec.mask, SIGALRM));
	assert_false(sigismember(&g.rec.mask, SIGRTMIN));
	assert_false(sigismember(&g.rec.mask, SIGSEGV));
	/* and the caller's mask is what it was */
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	assert_false(sigismember(&now, SIGTERM));
	guest_destroy(&g);
}

/* Kicks at every point between check and entry: each stop comes through. */
static void test_stop_race(void **state)
{
	static const char code[] = "\xeb\xfe";
	struct guest g;
	unsigned int round;

	(void)state;
	guest_create(&g, code, sizeof(code) - 1, 2);
	for (round = 0; round < 200; round++) {
		assert_int_equal(vcpu__start_all(g.vm), 0);
		vcpu__stop_all(g.vm);
		assert_int_equal(g.vm->run.end, RUN_END_HOST);
		assert_int_equal(g.vm->run.code, ECANCELED);
		run__fini(&g.vm->run);
		assert_int_equal(run__init(&g.vm->run), 0);
		__atomic_store_n(&g.vm->vcpus[0].run->immediate_exit, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&g.vm->vcpus[1].run->immediate_exit, 0, __ATOMIC_SEQ_CST);
	}
	guest_destroy(&g);
}

static void test_string_instructions(void **state)
{
	static const char code[] = "\xfc" /* cld */
				   "\xbe\x00\x20" /* mov si, DATA */
				   "\xb9\x04\x00" /* mov cx, 4 */
				   "\xba\xf8\x03" /* mov dx, PORT */
				   "\xf3\x6e" /* rep outsb */
				   "\xbf\x00\x30" /* mov di, 0x3000 */
				   "\xb9\x03\x00" /* mov cx, 3 */
				   "\xf3\x6c" /* rep insb */
				   "\xba\xff\x03" /* mov dx, PORT + 7 */
				   "\x6f" /* outsw: straddles the range, no answer */
				   "\x4a\xee" /* dec dx; out dx, al: it is over */
				   "\xf4\xeb\xfd";
	struct guest g;
	char got[4] = "";

	(void)state;
	guest_create(&g, code, sizeof(code) - 1, 1);
	assert_int_equal(vcpu__start_all(g.vm), 0);
	do { /* writes wake one by one; the insb come before the last one */
		eventfd_t count;

		assert_true(fixture__wait(g.rec.fd));
		eventfd_read(g.rec.fd, &count);
		got[0] = 0;
		guest_mem__read(&g.vm->mem, 0x3002, got, 1);
	} while (!got[0]);
	run__end(&g.vm->run, RUN_END_SIGNAL, SIGTERM, -1);
	vcpu__stop_all(g.vm);
	assert_int_equal(strncmp(g.rec.text, "data", 4), 0);
	assert_int_equal(guest_mem__read(&g.vm->mem, 0x3000, got, 3), 0);
	assert_memory_equal(got, "\x51\x52\x53", 3);
	guest_destroy(&g);
}

static void test_mmio_instructions(void **state)
{
	static const char code[] = "\xb8\x00\xa0\x8e\xd8" /* mov ax, 0xa000; mov ds, ax */
				   "\xa1\x20\x00" /* mov ax, [0x20]: 0x5151 */
				   "\xa3\x10\x00" /* mov [0x10], ax */
				   "\xf4\xeb\xfd";
	struct guest g;

	(void)state;
	guest_create(&g, code, sizeof(code) - 1, 1);
	guest_run_and_stop(&g);
	assert_int_equal(g.rec.last_off, 0x10);
	assert_int_equal(g.rec.last_len, 2);
	assert_string_equal(g.rec.text, "QQ");
	assert_int_equal(g.vm->vcpus[0].stats.mmio, 2);
	guest_destroy(&g);
}

/* An exception with an empty IDT in protected mode: #UD, #GP, #DF, shutdown. */
static void test_triple_fault(void **state)
{
	static const char code[] = "\x0f\x0b"; /* ud2 */
	const struct kvm_segment flat = {
		.base = 0, .limit = 0xffffffff, .present = 1, .s = 1, .g = 1, .db = 1};
	struct kvm_sregs sregs;
	struct guest g;

	(void)state;
	guest_create(&g, code, sizeof(code) - 1, 1);
	assert_true(vm__ioctl(g.vm, g.vm->vcpus[0].fd, KVM_GET_SREGS, &sregs) >= 0);
	sregs.cr0 |= 1; /* PE */
	sregs.cs = sregs.ds = sregs.es = sregs.ss = flat;
	sregs.cs.type = 11;
	sregs.cs.selector = 8;
	sregs.ds.type = sregs.es.type = sregs.ss.type = 3;
	sregs.ds.selector = sregs.es.selector = sregs.ss.selector = 16;
	sregs.idt.limit = 0;
	assert_true(vm__ioctl(g.vm, g.vm->vcpus[0].fd, KVM_SET_SREGS, &sregs) >= 0);
	assert_int_equal(vcpu__start_all(g.vm), 0);
	assert_true(fixture__wait(g.vm->run.endfd));
	vcpu__stop_all(g.vm);
	assert_int_equal(g.vm->run.end, RUN_END_TRIPLE_FAULT);
	assert_int_equal(g.vm->run.cpu, 0);
	guest_destroy(&g);
}

/* Code in a place without memory: KVM cannot emulate it (suberror 1). */
static void test_internal_error(void **state)
{
	static const char code[] = "\xea\x00\x00\x00\xb0"; /* jmp 0xb000:0 */
	struct guest g;

	(void)state;
	guest_create(&g, code, sizeof(code) - 1, 1);
	assert_int_equal(vcpu__start_all(g.vm), 0);
	assert_true(fixture__wait(g.vm->run.endfd));
	vcpu__stop_all(g.vm);
	assert_int_equal(g.vm->run.end, RUN_END_KVM_INTERNAL);
	assert_int_equal(g.vm->run.code, KVM_INTERNAL_ERROR_EMULATION);
	guest_destroy(&g);
}

/* More than 255: ids that need 32 bits, up to the stop of threads that never ran. */
static void test_wide_ids(void **state)
{
	static const char code[] = OUT_CODE "\xf4\xeb\xfd";
	struct vm *vm = fixture__vm();
	int max = vm__cap(vm, KVM_CAP_MAX_VCPUS);
	struct guest g;

	(void)state;
	fixture__destroy(vm);
	if (max < 257)
		skip();
	guest_create(&g, code, sizeof(code) - 1, 257);
	assert_int_equal(g.vm->vcpus[256].id, 256);
	guest_run_and_stop(&g);
	guest_destroy(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_halted),
		cmocka_unit_test(test_spinning),
		cmocka_unit_test(test_waiting_for_init),
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_stop_race),
		cmocka_unit_test(test_string_instructions),
		cmocka_unit_test(test_mmio_instructions),
		cmocka_unit_test(test_triple_fault),
		cmocka_unit_test(test_internal_error),
		cmocka_unit_test(test_wide_ids),
	};

	return cmocka_run_group_tests_name("vcpu", tests, NULL, NULL);
}
