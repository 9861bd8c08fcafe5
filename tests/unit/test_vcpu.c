/* SPDX-License-Identifier: GPL-2.0-only */
/* vCPU threads: exits served one by one, guests of a few bytes, and the stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>

#include "kvm_fixture.h"

#define PORT 0x3f8
#define CODE 0x1000
#define DATA 0x2000
#define MMIO 0xa0000

/* A device that keeps what is written and answers 0x51, 0x52, ... */
struct recorder {
	char text[64];
	unsigned int len, accesses, last_len;
	uint64_t last_off;
	uint8_t next;
	int fd; /* told once 2 bytes and more are written */
	char thread[16];
	sigset_t mask;
};

static void rec_read(void *dev, uint64_t off, void *data, unsigned int len)
{
	struct recorder *r = dev;

	r->last_off = off;
	r->last_len = len;
	r->accesses++;
	memset(data, ++r->next, len);
}

static void rec_write(void *dev, uint64_t off, const void *data, unsigned int len)
{
	struct recorder *r = dev;

	r->last_off = off;
	r->last_len = len;
	r->accesses++;
	if (r->len + len < sizeof(r->text)) {
		memcpy(r->text + r->len, data, len);
		r->len += len;
	}
	pthread_getname_np(pthread_self(), r->thread, sizeof(r->thread));
	pthread_sigmask(SIG_SETMASK, NULL, &r->mask);
	if (r->fd >= 0 && r->len >= 2)
		eventfd_write(r->fd, 1);
}

static const struct bus_ops rec_ops = {.read = rec_read, .write = rec_write};

/* --- exits without a KVM --- */

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

/* --- guests of a few bytes --- */

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
	for (i = 0; i < g->vm->nr_vcpus; i++)
		assert_true(atomic_load(&g->vm->vcpus[i].stopped));
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
		cmocka_unit_test(test_string_io),
		cmocka_unit_test(test_mmio_exit),
		cmocka_unit_test(test_ends),
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
