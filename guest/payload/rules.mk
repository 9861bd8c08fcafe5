# SPDX-License-Identifier: GPL-2.0-only
#
# Freestanding guest payload: one ELF image, the test is chosen on its command
# line.  Included by the top Makefile; uses BUILD, WARN; defines target payload.

PAYLOAD_DIR  := guest/payload
PAYLOAD_OUT  := $(BUILD)/payload
PAYLOAD_CC   ?= $(CC)
PAYLOAD_SRCS := $(sort $(wildcard $(PAYLOAD_DIR)/*.c $(PAYLOAD_DIR)/*.S))
PAYLOAD_OBJS := $(patsubst $(PAYLOAD_DIR)/%,$(PAYLOAD_OUT)/%.o,$(PAYLOAD_SRCS))
PAYLOAD_CFLAGS := -std=gnu11 -O2 -g $(WARN) -I$(PAYLOAD_DIR) -ffreestanding -fno-pic -fno-pie \
	-mcmodel=small -mno-red-zone -fno-stack-protector -fno-strict-aliasing -fcf-protection=none \
	-fno-asynchronous-unwind-tables
PAYLOAD_LDFLAGS := -nostdlib -static -Wl,--build-id=none -Wl,-z,noexecstack \
	-Wl,-T,$(PAYLOAD_DIR)/payload.lds

$(PAYLOAD_OUT)/%.c.o: $(PAYLOAD_DIR)/%.c
	@mkdir -p $(@D)
	$(call say,CC     ,$@)$(PAYLOAD_CC) $(PAYLOAD_CFLAGS) -MMD -MP -c -o $@ $<

$(PAYLOAD_OUT)/%.S.o: $(PAYLOAD_DIR)/%.S
	@mkdir -p $(@D)
	$(call say,CC     ,$@)$(PAYLOAD_CC) $(PAYLOAD_CFLAGS) -MMD -MP -c -o $@ $<

$(PAYLOAD_OUT)/payload.elf: $(PAYLOAD_OBJS) $(PAYLOAD_DIR)/payload.lds
	$(call say,LD     ,$@)$(PAYLOAD_CC) $(PAYLOAD_LDFLAGS) -o $@ $(PAYLOAD_OBJS)

payload: $(PAYLOAD_OUT)/payload.elf

-include $(PAYLOAD_OBJS:.o=.d)

.PHONY: payload
