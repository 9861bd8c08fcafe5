# SPDX-License-Identifier: GPL-2.0-only
#
# Fuzz targets: one program for each tests/fuzz/fuzz_*.c, with libFuzzer, the
# address and the undefined behaviour sanitizer.  Included by the top Makefile.
#
#   fuzz-bins       build them
#   fuzz TIME=60    run all of them, that many seconds each
#   fuzz-replay     the corpora alone

FUZZ_SRCS := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BINS := $(FUZZ_SRCS:tests/fuzz/%.c=$(BUILD)/fuzz/bin/%)
TIME ?= 60

SAN_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all

$(BUILD)/fuzz/%: CC := $(CLANG)
# A target names the calls that it has a __wrap_ function for: they cost no system call then.
FUZZ_WRAP = $(addprefix -Wl$(comma)--wrap=,$(shell sed -n 's/^ \* wrapped: //p' $<))
comma := ,

$(eval $(call variant,fuzz,$(SAN_fuzz)))

# The comparisons of the models and checks say nothing about lkvm: not traced, for speed.
$(BUILD)/fuzz/bin/%: tests/fuzz/%.c $(BUILD)/fuzz/liblkvm.a
	@mkdir -p $(@D)
	$(call say,FUZZ   ,$@)$(CC) $(CPPFLAGS) -I. $(CFLAGS) $(SAN_fuzz) -fsanitize=fuzzer \
		-fno-sanitize-coverage=trace-cmp $(FUZZ_WRAP) -MMD -MP -MF $@.d -o $@ $< $(BUILD)/fuzz/liblkvm.a $(LDLIBS) -lcmocka

$(FUZZ_SRCS:tests/fuzz/%.c=$(BUILD)/cov/fuzz/%): $(wildcard tests/fuzz/*.h)

# Without libFuzzer: runs the files that are named.
$(BUILD)/cov/fuzz/%: tests/fuzz/%.c tests/fuzz/replay.c $(BUILD)/cov/liblkvm.a
	@mkdir -p $(@D)
	$(call say,TEST   ,$@)$(CC) $(CPPFLAGS) -I. $(CFLAGS) $(SAN_cov) $(FUZZ_WRAP) \
		-o $@ $(filter %.c %.a,$^) $(LDLIBS) -lcmocka

-include $(wildcard $(BUILD)/fuzz/bin/*.d)

# Nothing where clang has no libFuzzer; tests/fuzz/run says so.
FUZZ_POSSIBLE = $(shell echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
	$(CLANG) -x c -fsanitize=fuzzer,address -o /dev/null - 2>/dev/null && echo yes)

fuzz-bins: $(FUZZ_BINS)

fuzz: deps-build-test
	@$(MAKE) --no-print-directory -j2 $(if $(FUZZ_POSSIBLE),fuzz-bins,all)
	@tests/fuzz/run $(TIME)

fuzz-replay: fuzz-bins
	@tests/fuzz/run -q 0

.PHONY: fuzz fuzz-bins fuzz-replay
.SECONDARY: $(FUZZ_BINS)
