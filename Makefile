# lkvm: make, make check, make demo, make install; see README.md
#
# Variants are built side by side:  build/obj (release), build/asan, build/tsan.

BUILD  ?= build
PREFIX ?= /usr/local
DESTDIR ?=

CC       ?= cc
CLANG    ?= clang
WARN     := -Wall -Wextra -Werror
OPT      ?= -O2 -g
CPPFLAGS += -Iinclude -D_GNU_SOURCE
CFLAGS   += -std=gnu11 $(OPT) $(WARN) -pthread -fPIE -fno-strict-aliasing -fstack-protector-strong
LDLIBS   := -laio -pthread

# Optional libraries, used where one that is new enough is there; WITH_LIBURING= does without.
WITH_LIBURING ?= $(shell printf '%b\n' '\043include <liburing.h>' 'int main(void) {' \
	'struct io_uring r = {.flags = IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG};' \
	'return io_uring_register(0, 0, 0, 0) + io_uring_register_ring_fd(&r) +' \
	'io_uring_submit_and_get_events(&r); }' | \
	$(CC) -x c - -luring -o /dev/null 2>/dev/null && echo yes)
ifneq ($(WITH_LIBURING),)
CPPFLAGS += -DHAVE_LIBURING
LDLIBS   += -luring
endif

WITH_LIBSECCOMP ?= $(shell pkg-config --atleast-version=2.5.0 libseccomp 2>/dev/null && echo yes)
ifneq ($(WITH_LIBSECCOMP),)
CPPFLAGS += -DHAVE_LIBSECCOMP
LDLIBS   += -lseccomp
endif

# Static where the libraries allow it: one file to copy, and the dynamic linker
# is a third of what a start costs.  STATIC= links dynamically.
STATIC ?= $(shell echo 'int main(void) { return 0; }' | $(CC) -static-pie -fPIE -x c - \
	$(LDLIBS) -o /dev/null 2>/dev/null && echo -static-pie)

VERSION := $(shell git describe --always --dirty 2>/dev/null || echo unknown)

LIB_SRCS  := $(sort $(wildcard kvm/*.c kvm/cmd/*.c virtio/*.c disk/*.c pci/*.c x86/*.c))
UNIT_SRCS := $(sort $(wildcard tests/unit/test_*.c))

SAN_asan := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SAN_tsan := -fsanitize=thread
SAN_cov  := --coverage -fprofile-update=atomic -O0 -Wl,-u,__gcov_dump

# V=1 shows the commands
ifneq ($(V),1)
say = @echo "  $(1)" $(2);
endif

all: $(BUILD)/lkvm $(BUILD)/lkvm-exit

# For guests, whatever C library they have
$(BUILD)/lkvm-exit: guest/lkvm-exit.c
	@mkdir -p $(@D)
	$(call say,LD     ,$@)$(CC) $(CFLAGS) -static -o $@ $<

# $(call variant,NAME,EXTRA FLAGS,LINK FLAGS): objects, library and binary of one variant
define variant
$(BUILD)/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(call say,CC     ,$$@)$$(CC) $$(CPPFLAGS) $$(CFLAGS) $(2) -MMD -MP -c -o $$@ $$<

$(BUILD)/$(1)/kvm/cmd/version.o: CPPFLAGS += -DLKVM_VERSION='"$(VERSION)"'
$(BUILD)/$(1)/kvm/cmd/version.o: $(BUILD)/version

$(BUILD)/$(1)/liblkvm.a: $(LIB_SRCS:%.c=$(BUILD)/$(1)/%.o)
	@rm -f $$@
	$$(call say,AR     ,$$@)ar rcs $$@ $$^

$(BUILD)/$(1)/lkvm: $(BUILD)/$(1)/main.o $(BUILD)/$(1)/liblkvm.a
	$$(call say,LD     ,$$@)$$(CC) $$(CFLAGS) $(2) $(3) $$(LDFLAGS) -o $$@ $$^ $$(LDLIBS)

$(BUILD)/$(1)/unit/%: tests/unit/%.c $(BUILD)/$(1)/liblkvm.a
	@mkdir -p $$(@D)
	$$(call say,TEST   ,$$@)$$(CC) $$(CPPFLAGS) -I. $$(CFLAGS) $(2) -MMD -MP -MF $$@.d -o $$@ $$< $(BUILD)/$(1)/liblkvm.a $$(LDLIBS) -lcmocka

-include $(LIB_SRCS:%.c=$(BUILD)/$(1)/%.d) $(BUILD)/$(1)/main.d $(wildcard $(BUILD)/$(1)/unit/*.d)
endef

# Touched only when the version is another one.
$(BUILD)/version: FORCE
	@mkdir -p $(@D)
	@[ "$$(cat $@ 2>/dev/null)" = "$(VERSION)" ] || echo "$(VERSION)" >$@

-include guest/payload/rules.mk

$(eval $(call variant,obj,,$(STATIC)))
$(eval $(call variant,asan,$(SAN_asan)))
$(eval $(call variant,tsan,$(SAN_tsan)))

$(eval $(call variant,cov,$(SAN_cov)))

-include tests/fuzz/rules.mk

$(BUILD)/lkvm: $(BUILD)/obj/lkvm
	@ln -sf obj/lkvm $@

asan: $(BUILD)/asan/lkvm
tsan: $(BUILD)/tsan/lkvm

unit-bins: $(UNIT_SRCS:tests/unit/%.c=$(BUILD)/asan/unit/%)

unit: unit-bins
	@set -e; for t in $(UNIT_SRCS:tests/unit/%.c=$(BUILD)/asan/unit/%); do $$t; done

# Those in which threads meet.  Without ASLR: the sanitizer wants its own places in memory.
TSAN_TESTS := test_blk_fault test_disk_choose test_disk_refused test_disk_uring \
	test_disk_uring_wait test_virtq_notify

unit-tsan: $(TSAN_TESTS:%=$(BUILD)/tsan/unit/%)
	@set -e; for t in $^; do setarch -R $$t; done

# lkvm whose threads try what the sandbox forbids: for tests/sandbox/run alone
TRY_WRAP := vcpu__loop virtio_blk_queue__run disk_sync__run loop__run
$(BUILD)/%/try: tests/sandbox/try.c $(BUILD)/%/main.o $(BUILD)/%/liblkvm.a
	$(call say,LD     ,$@)$(CC) $(CPPFLAGS) -I. $(CFLAGS) $(SAN_$*) $(if $(SAN_$*),,$(STATIC)) \
		$(TRY_WRAP:%=-Wl,--wrap=%) -o $@ $^ $(LDLIBS)

# --- what users call -------------------------------------------------------

# Installs what is missing, says so first, and needs no network once all is there.
deps-%:
	@tests/deps $(subst -, ,$*)

$(BUILD)/box/native: tests/box/native.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $<

demo: deps-build-box
	@$(MAKE) --no-print-directory all $(BUILD)/box/native
	@guest/demo

check: deps-build-test-box
	@$(MAKE) --no-print-directory -j2 all unit-bins payload $(BUILD)/box/native $(BUILD)/obj/try \
		$(BUILD)/asan/lkvm \
		$(if $(FUZZ_POSSIBLE),fuzz-bins)
	@tests/run

lint:
	@tests/lint

# Line coverage of the parts that a guest reaches, by all tests that run natively.
coverage: deps-build-test
	@$(MAKE) --no-print-directory -j2 payload $(BUILD)/cov/lkvm \
		$(UNIT_SRCS:tests/unit/%.c=$(BUILD)/cov/unit/%) $(FUZZ_SRCS:tests/fuzz/%.c=$(BUILD)/cov/fuzz/%)
	@tests/coverage

install: all
	install -D -m 755 $(BUILD)/obj/lkvm $(DESTDIR)$(PREFIX)/bin/lkvm
	install -D -m 755 $(BUILD)/lkvm-exit $(DESTDIR)$(PREFIX)/lib/lkvm/lkvm-exit
	install -D -m 644 lkvm.1 $(DESTDIR)$(PREFIX)/share/man/man1/lkvm.1
	install -D -m 644 kvm/cmd/report.schema.json $(DESTDIR)$(PREFIX)/share/lkvm/report.schema.json
	install -D -m 644 completion/lkvm $(DESTDIR)$(PREFIX)/share/bash-completion/completions/lkvm

clean:
	rm -rf $(BUILD)

FORCE:

.PHONY: FORCE all asan tsan unit unit-tsan unit-bins payload demo check lint coverage install clean
.DELETE_ON_ERROR:
