// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sizes, vectors and queue_enable as they must not be written, status bits in a
 * wrong order (virtio 1.2, 2.1.1, 3.1.1, 4.1.4.3.2, 4.1.5.1.2).
 */
#include "test_hreg.h"

#define ACK VIRTIO_CONFIG_S_ACKNOWLEDGE
#define DRIVER VIRTIO_CONFIG_S_DRIVER
#define FEATURES_OK VIRTIO_CONFIG_S_FEATURES_OK
#define DRIVER_OK VIRTIO_CONFIG_S_DRIVER_OK
#define FAILED VIRTIO_CONFIG_S_FAILED
#define NEEDS_RESET VIRTIO_CONFIG_S_NEEDS_RESET

/* When a register is written. */
enum moment {
	BEFORE_ENABLE,
	BEFORE_DRIVER_OK,
	RUNNING,
	NR_MOMENTS,
};

static const char *const moment_names[NR_MOMENTS] = {
	[BEFORE_ENABLE] = "before the queue is enabled",
	[BEFORE_DRIVER_OK] = "before DRIVER_OK",
	[RUNNING] = "while it runs",
};

struct write {
	const char *name;
	unsigned int reg, width;
	uint64_t val;
	bool split_only; /* a packed ring may have it */
};

/*
 * None of them has an effect: 4.1.4.3.2 forbids the sizes, 0 in queue_enable
 * and changes of an enabled queue; a vector that is not there reads back as
 * NO_VECTOR and the queue has no interrupts (4.1.5.1.2.1).
 */
static const struct write writes[] = {
	{"queue_size 0", VIRTIO_PCI_COMMON_Q_SIZE, 2, 0, false},
	{"queue_size 1", VIRTIO_PCI_COMMON_Q_SIZE, 2, 1, true},
	{"queue_size 3", VIRTIO_PCI_COMMON_Q_SIZE, 2, 3, true},
	{"queue_size 255", VIRTIO_PCI_COMMON_Q_SIZE, 2, 255, true},
	{"queue_size 257", VIRTIO_PCI_COMMON_Q_SIZE, 2, 257, false},
	{"queue_size 512", VIRTIO_PCI_COMMON_Q_SIZE, 2, 512, false},
	{"queue_size 32768", VIRTIO_PCI_COMMON_Q_SIZE, 2, 32768, false},
	{"queue_size 65535", VIRTIO_PCI_COMMON_Q_SIZE, 2, 65535, false},
	{"queue_enable 0", VIRTIO_PCI_COMMON_Q_ENABLE, 2, 0, false},
	{"queue_enable 2", VIRTIO_PCI_COMMON_Q_ENABLE, 2, 2, false},
	{"queue_enable 65535", VIRTIO_PCI_COMMON_Q_ENABLE, 2, 65535, false},
	{"queue_enable by a byte", VIRTIO_PCI_COMMON_Q_ENABLE, 1, 0, false},
	{"queue_enable by a dword", VIRTIO_PCI_COMMON_Q_ENABLE, 4, 0, false},
	{"queue_msix_vector past the table", VIRTIO_PCI_COMMON_Q_MSIX, 2, 64, false},
	{"queue_msix_vector 65534", VIRTIO_PCI_COMMON_Q_MSIX, 2, 0xfffe, false},
	{"config_msix_vector past the table", VIRTIO_PCI_COMMON_MSIX, 2, 64, false},
	{"config_msix_vector 65534", VIRTIO_PCI_COMMON_MSIX, 2, 0xfffe, false},
	{"num_queues", VIRTIO_PCI_COMMON_NUMQ, 2, 0xffff, false},
	{"config_generation", VIRTIO_PCI_COMMON_CFGGENERATION, 1, 0xff, false},
	{"queue_notify_off", VIRTIO_PCI_COMMON_Q_NOFF, 2, 0xffff, false},
	{"device_feature", VIRTIO_PCI_COMMON_DF, 4, 0, false},
	{"8 bytes over features", VIRTIO_PCI_COMMON_DFSELECT, 8, -1ULL, false},
	{"8 bytes over status", VIRTIO_PCI_COMMON_MSIX, 8, 0, false},
	{"4 bytes over status", VIRTIO_PCI_COMMON_STATUS, 4, 0, false},
	{"2 bytes over status", VIRTIO_PCI_COMMON_STATUS, 2, 0, false},
	{"8 bytes askew over the addresses", VIRTIO_PCI_COMMON_Q_DESCLO + 4, 8, -1ULL, false},
	{"8 bytes over the end", 0x34, 8, -1ULL, false},
	{"behind the structure", 0x38, 4, -1U, false},
	{"the end of its page", 0xffc, 4, -1U, false},
	{"8 bytes into the ISR", 0xffc, 8, -1ULL, false},
	{"queue_select past the last", VIRTIO_PCI_COMMON_Q_SELECT, 2, 64, false},
	{"queue_select 65535", VIRTIO_PCI_COMMON_Q_SELECT, 2, 65535, false},
};

/* Of an enabled queue alone: before that they are the driver's to write. */
static const struct write enabled_writes[] = {
	{"queue_size 16", VIRTIO_PCI_COMMON_Q_SIZE, 2, 16, false},
	{"queue_enable 1 once more", VIRTIO_PCI_COMMON_Q_ENABLE, 2, 1, false},
	{"queue_desc", VIRTIO_PCI_COMMON_Q_DESCLO, 4, 0xd0000000, false},
	{"queue_desc, high half", VIRTIO_PCI_COMMON_Q_DESCHI, 4, -1U, false},
	{"queue_driver", VIRTIO_PCI_COMMON_Q_AVAILLO, 4, 0x1001, false},
	{"queue_driver, high half", VIRTIO_PCI_COMMON_Q_AVAILHI, 4, 1, false},
	{"queue_device", VIRTIO_PCI_COMMON_Q_USEDLO, 4, 0, false},
	{"queue_device, high half", VIRTIO_PCI_COMMON_Q_USEDHI, 4, 1U << 31, false},
	{"queue_desc by 8 bytes", VIRTIO_PCI_COMMON_Q_DESCLO, 8, -1ULL, false},
	{"features", VIRTIO_PCI_COMMON_GF, 4, -1U, false},
	{"features cleared", VIRTIO_PCI_COMMON_GF, 4, 0, false},
};

/* Size, enable and addresses of queue 0, status: what no write of the tables changes. */
static bool regs__good(struct hreg *h, uint16_t size, uint16_t enable, uint8_t status)
{
	uint64_t c = hreg__dev(h)->common;

	mmio__write16(c + VIRTIO_PCI_COMMON_Q_SELECT, 0);
	return mmio__read16(c + VIRTIO_PCI_COMMON_Q_SIZE) == size &&
	       mmio__read16(c + VIRTIO_PCI_COMMON_Q_ENABLE) == enable &&
	       mmio__read16(c + VIRTIO_PCI_COMMON_Q_MSIX) == VIRTIO_MSI_NO_VECTOR &&
	       mmio__read16(c + VIRTIO_PCI_COMMON_MSIX) == VIRTIO_MSI_NO_VECTOR &&
	       mmio__read8(c + VIRTIO_PCI_COMMON_STATUS) == status;
}

static void write__case(struct hreg *h, const struct write *w, enum moment when)
{
	struct virtio *dev = hreg__dev(h);
	uint8_t status = ACK | DRIVER | FEATURES_OK;
	uint16_t size;
	bool good;

	hreg__begin(h, "hostile-queue");
	hreg__negotiate(h);
	size = mmio__read16(dev->common + VIRTIO_PCI_COMMON_Q_SIZE);
	if (when != BEFORE_ENABLE)
		hreg__queue(h);
	if (when == RUNNING) {
		virtio__driver_ok(dev);
		status |= DRIVER_OK;
	}
	reg__write(dev->common + w->reg, w->width, w->val);
	good = regs__good(h, size, when != BEFORE_ENABLE, status);
	if (when == BEFORE_ENABLE)
		hreg__queue(h);
	if (when != RUNNING)
		virtio__driver_ok(dev);
	hreg__end(h, VERDICT_IGNORED, good && hreg__read_ok(h) ? VERDICT_IGNORED : VERDICT_FAILED,
		  "%s, %s", w->name, moment_names[when]);
}

/* What the driver writes into device_status one after another, and what must come of it. */
static const struct order {
	const char *name;
	uint8_t write[6]; /* up to the first 0 */
	bool features, queue; /* features are written and the queue enabled before */
	uint8_t status; /* read then */
	enum verdict request;
} orders[] = {
	{"DRIVER_OK alone", {DRIVER_OK}, true, true, 0, VERDICT_IGNORED},
	{"DRIVER_OK at once with all before",
	 {ACK | DRIVER | FEATURES_OK | DRIVER_OK},
	 true,
	 true,
	 ACK | DRIVER | FEATURES_OK | DRIVER_OK,
	 VERDICT_COMPLETED},
	{"DRIVER_OK without features",
	 {ACK, ACK | DRIVER, ACK | DRIVER | DRIVER_OK},
	 true,
	 true,
	 ACK | DRIVER,
	 VERDICT_IGNORED},
	{"FEATURES_OK without VERSION_1",
	 {ACK, ACK | DRIVER, ACK | DRIVER | FEATURES_OK, ACK | DRIVER | FEATURES_OK | DRIVER_OK},
	 false,
	 true,
	 ACK | DRIVER,
	 VERDICT_IGNORED},
	{"DRIVER_OK, then the bits before it taken away",
	 {ACK | DRIVER | FEATURES_OK | DRIVER_OK, ACK},
	 true,
	 true,
	 ACK | DRIVER | FEATURES_OK | DRIVER_OK,
	 VERDICT_COMPLETED},
	{"DRIVER_OK without a queue",
	 {ACK, ACK | DRIVER, ACK | DRIVER | FEATURES_OK, ACK | DRIVER | FEATURES_OK | DRIVER_OK},
	 true,
	 false,
	 ACK | DRIVER | FEATURES_OK | DRIVER_OK,
	 VERDICT_IGNORED},
	{"DRIVER_OK twice",
	 {ACK | DRIVER | FEATURES_OK | DRIVER_OK, ACK | DRIVER | FEATURES_OK | DRIVER_OK},
	 true,
	 true,
	 ACK | DRIVER | FEATURES_OK | DRIVER_OK,
	 VERDICT_COMPLETED},
	{"NEEDS_RESET written by the driver",
	 {ACK | DRIVER | FEATURES_OK | DRIVER_OK, 0xff & ~FAILED},
	 true,
	 true,
	 ACK | DRIVER | FEATURES_OK | DRIVER_OK,
	 VERDICT_COMPLETED},
	{"the reserved bits alone", {0x30}, true, true, 0, VERDICT_IGNORED},
	{"NEEDS_RESET alone", {NEEDS_RESET}, true, true, 0, VERDICT_IGNORED},
	{"FEATURES_OK before DRIVER",
	 {FEATURES_OK | ACK, ACK | FEATURES_OK | DRIVER, ACK | FEATURES_OK | DRIVER | DRIVER_OK},
	 true,
	 true,
	 ACK | DRIVER | FEATURES_OK | DRIVER_OK,
	 VERDICT_COMPLETED},
};

/* What the spec leaves open is that a device goes on with bits out of order: no more than ignored. */
static void order__case(struct hreg *h, const struct order *o)
{
	struct virtio *dev = hreg__dev(h);
	enum verdict got;
	uint64_t features;
	unsigned int i;
	uint8_t status;

	hreg__begin(h, "hostile-status");
	hreg__negotiate(h);
	features = o->features ? dev->features : 0;
	virtio__reset(dev);
	for (i = 0; i < 2; i++) {
		mmio__write32(dev->common + VIRTIO_PCI_COMMON_GFSELECT, i);
		mmio__write32(dev->common + VIRTIO_PCI_COMMON_GF, features >> 32 * i);
	}
	if (o->queue) {
		hreg__queue(h);
	} else { /* memory for it alone */
		hreg__queue(h);
		virtio__reset(dev);
		for (i = 0; i < 2; i++) {
			mmio__write32(dev->common + VIRTIO_PCI_COMMON_GFSELECT, i);
			mmio__write32(dev->common + VIRTIO_PCI_COMMON_GF, features >> 32 * i);
		}
	}
	for (i = 0; i < ARRAY_SIZE(o->write) && o->write[i]; i++)
		mmio__write8(dev->common + VIRTIO_PCI_COMMON_STATUS, o->write[i]);
	status = virtio__status(dev);
	got = hreg__read(h, o->request == VERDICT_COMPLETED ? HANG_MS : HREG_DEAD_MS);
	if (status != o->status)
		got = VERDICT_FAILED;
	hreg__end(h, o->request, got, "%s", o->name);
}

void hreg__queues(struct hreg *h)
{
	bool packed = virtio__ring_words() & VIRTIO_BIT(VIRTIO_F_RING_PACKED);
	unsigned int i, when;

	for (i = 0; i < ARRAY_SIZE(writes); i++)
		for (when = 0; when < NR_MOMENTS; when++)
			if (!packed || !writes[i].split_only)
				write__case(h, &writes[i], when);
	for (i = 0; i < ARRAY_SIZE(enabled_writes); i++)
		for (when = BEFORE_DRIVER_OK; when < NR_MOMENTS; when++)
			write__case(h, &enabled_writes[i], when);
	for (i = 0; i < ARRAY_SIZE(orders); i++)
		order__case(h, &orders[i]);
}
