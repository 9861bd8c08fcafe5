// SPDX-License-Identifier: GPL-2.0-only
/* The registers of the modern virtio-pci transport: virtio 1.2, 2.2, 4.1.4. */
#include "virtio_pci_rig.h"

static void identity_and_capabilities(void **state)
{
	struct fixture *f = *state;
	unsigned int cap;

	/* 4.1.2: 0x1af4, 0x1040 plus the type (block: 2), revision 1 or higher */
	assert_int_equal(cfg_read(&f->fake, 1, PCI_VENDOR_ID, 4), 0x10421af4);
	assert_int_equal(cfg_read(&f->fake, 1, PCI_CLASS_REVISION, 4), 0x01800001);
	assert_true(cfg_read(&f->fake, 1, PCI_SUBSYSTEM_ID, 2) >= 0x40);
	cap = find_cap(f, &f->a, VIRTIO_PCI_CAP_NOTIFY_CFG);
	assert_int_equal(cfg_read(&f->fake, 1, cap + VIRTIO_PCI_CAP_LEN, 1), 20);
	assert_int_equal(cfg_read(&f->fake, 1, cap + VIRTIO_PCI_NOTIFY_CAP_MULT, 4), 4);
	assert_int_equal(cfg_read(&f->fake, 1, cap + VIRTIO_PCI_CAP_LENGTH, 4), 4 * QUEUES);
	cap = find_cap(f, &f->a, VIRTIO_PCI_CAP_COMMON_CFG);
	assert_int_equal(cfg_read(&f->fake, 1, cap + VIRTIO_PCI_CAP_LENGTH, 4), 56);
	assert_true(find_cap(f, &f->a, VIRTIO_PCI_CAP_ISR_CFG));
	assert_true(find_cap(f, &f->a, VIRTIO_PCI_CAP_DEVICE_CFG));
	assert_true(find_cap(f, &f->a, VIRTIO_PCI_CAP_PCI_CFG));
	assert_int_equal(f->a.vp.msix.nr, QUEUES + 1);
	assert_int_equal(bar(f, &f->b, 2), 0); /* no vectors: no table */
}

static void field_widths(void **state)
{
	struct fixture *f = *state;
	struct unit *a = &f->a;

	set(f, a, VIRTIO_PCI_COMMON_Q_DESCLO, 0x1122334455667788ULL, 8);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_DESCLO, 4), 0x55667788);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_DESCHI, 4), 0x11223344);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_DESCLO, 8), 0x1122334455667788ULL);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_DESCLO + 1, 1), 0x77);
	/* not a whole field: ignored */
	set(f, a, VIRTIO_PCI_COMMON_Q_DESCLO, 0, 2);
	set(f, a, VIRTIO_PCI_COMMON_Q_DESCLO + 2, 0, 4);
	set(f, a, VIRTIO_PCI_COMMON_Q_DESCHI, 0, 8);
	set(f, a, VIRTIO_PCI_COMMON_Q_SIZE, 64, 1);
	set(f, a, VIRTIO_PCI_COMMON_Q_SIZE, 64, 4);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_DESCLO, 8), 0x1122334455667788ULL);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_SIZE, 2), QUEUE_SIZE);
	/* reads over fields and behind the structure */
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_MSIX, 4), QUEUES << 16 | 0xffff);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_USEDHI, 8), 0);
	assert_int_equal(get(f, a, 0xffc, 4), 0);
	set(f, a, 56, UINT64_MAX, 8);
	set(f, a, 0xff8, UINT64_MAX, 8);
}

static void queue_sizes(void **state)
{
	static const uint16_t bad[] = {0, 1, 3, 100, 2 * QUEUE_SIZE, 0x8000, 0xffff};
	struct fixture *f = *state;
	struct unit *a = &f->a;

	set(f, a, VIRTIO_PCI_COMMON_Q_SIZE, 32, 2);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		set(f, a, VIRTIO_PCI_COMMON_Q_SIZE, bad[i], 2);
		assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_SIZE, 2), 32);
	}
	set(f, a, VIRTIO_PCI_COMMON_Q_ENABLE, 0, 2);
	set(f, a, VIRTIO_PCI_COMMON_Q_ENABLE, 2, 2);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_ENABLE, 2), 0);
	set(f, a, VIRTIO_PCI_COMMON_Q_ENABLE, 1, 2);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_ENABLE, 2), 1);
	/* enabled: fixed */
	set(f, a, VIRTIO_PCI_COMMON_Q_SIZE, 64, 2);
	set(f, a, VIRTIO_PCI_COMMON_Q_AVAILLO, 0x1234, 4);
	set(f, a, VIRTIO_PCI_COMMON_Q_ENABLE, 0, 2);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_SIZE, 2), 32);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_AVAILLO, 4), 0);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_ENABLE, 2), 1);
}

/* 4.1.4.3.2: powers of two are for drivers without VIRTIO_F_RING_PACKED. */
static void packed_queue_sizes(void **state)
{
	static const uint16_t good[] = {1, 3, 100, QUEUE_SIZE, 2};
	static const uint16_t bad[] = {0, QUEUE_SIZE + 1, 0x8000, 0xffff};
	struct fixture *f = *state;
	struct unit *a = &f->a;

	atomic_fetch_or(&a->dev.features, 1ULL << VIRTIO_F_RING_PACKED);
	for (unsigned int i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		set(f, a, VIRTIO_PCI_COMMON_Q_SIZE, good[i], 2);
		assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_SIZE, 2), good[i]);
	}
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		set(f, a, VIRTIO_PCI_COMMON_Q_SIZE, bad[i], 2);
		assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_SIZE, 2), 2);
	}
}

static void absent_queue(struct fixture *f, struct unit *a, unsigned int select)
{
	set(f, a, VIRTIO_PCI_COMMON_Q_SELECT, select, 2);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_SELECT, 2), select);
	for (unsigned int off = VIRTIO_PCI_COMMON_Q_SIZE; off < 56; off++) {
		for (unsigned int len = 1; len <= 8; len *= 2) {
			set(f, a, off, 0x0101010101010101ULL, len);
			get(f, a, off, len);
		}
	}
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_SIZE, 2), 0);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_MSIX, 2), VIRTIO_MSI_NO_VECTOR);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_ENABLE, 2), 0);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_DESCLO, 8), 0);
}

static void absent_queues_and_vectors(void **state)
{
	static const unsigned int select[] = {QUEUES, QUEUES + 1, 0x7fff, 0xffff};
	static const unsigned int vector[] = {QUEUES + 1, QUEUES + 2, 0xfffe, 0xffff};
	struct fixture *f = *state;
	struct unit *a = &f->a;

	for (unsigned int turn = 0; turn < 2; turn++) {
		for (unsigned int i = 0; i < 4; i++)
			absent_queue(f, a, select[i]);
		set(f, a, VIRTIO_PCI_COMMON_Q_SELECT, 1, 2);
		for (unsigned int i = 0; i < 4; i++) {
			set(f, a, VIRTIO_PCI_COMMON_Q_MSIX, 0, 2);
			assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_MSIX, 2), 0);
			set(f, a, VIRTIO_PCI_COMMON_Q_MSIX, vector[i], 2);
			assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_MSIX, 2), 0xffff);
			set(f, a, VIRTIO_PCI_COMMON_MSIX, vector[i], 2);
			assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_MSIX, 2), 0xffff);
		}
		if (!turn)
			start(f, a);
	}
	msix_on(f, a);
	assert_false(send(a, 1)); /* no vector: no interrupt */
	a->dev.transport->config_changed(&a->dev);
	for (unsigned int i = 0; i <= QUEUES; i++)
		assert_int_equal(fired(a, i), 0);
	/* no table: no vector at all */
	set(f, &f->b, VIRTIO_PCI_COMMON_MSIX, 0, 2);
	assert_int_equal(get(f, &f->b, VIRTIO_PCI_COMMON_MSIX, 2), 0xffff);
}

static void features_are_negotiated(void **state)
{
	static const uint64_t refused[] = {
		FEATURE, /* no VERSION_1 */
		0,
		1ULL << VIRTIO_F_VERSION_1 | 1ULL << 10, /* not offered */
		1ULL << VIRTIO_F_VERSION_1 | 1ULL << VIRTIO_F_RING_PACKED,
		UINT64_MAX,
	};
	struct fixture *f = *state;
	struct unit *a = &f->a;

	for (unsigned int i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		set_status(f, a, VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER);
		set_features(f, a, refused[i]);
		set_status(f, a, STARTED & ~VIRTIO_CONFIG_S_DRIVER_OK);
		assert_int_equal(status(f, a),
				 VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER);
		set_status(f, a, STARTED); /* DRIVER_OK without FEATURES_OK */
		assert_int_equal(status(f, a),
				 VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER);
		assert_int_equal(a->dev.features, 0);
	}
	negotiate(f, a);
	assert_int_equal(a->dev.features, FEATURE | 1ULL << VIRTIO_F_VERSION_1);
	set_features(f, a, 1ULL << VIRTIO_F_VERSION_1); /* too late */
	set(f, a, VIRTIO_PCI_COMMON_GFSELECT, 0, 4);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_GF, 4), FEATURE);
	/* 2.1.1: nothing but 0 clears a bit, and NEEDS_RESET is not the driver's */
	set_status(f, a, VIRTIO_CONFIG_S_NEEDS_RESET | VIRTIO_CONFIG_S_FAILED);
	assert_int_equal(status(f, a),
			 (STARTED & ~VIRTIO_CONFIG_S_DRIVER_OK) | VIRTIO_CONFIG_S_FAILED);
	set_status(f, a, 0);
	wait_reset(f, a);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_GF, 4), 0);
}

static void config_generation(void **state)
{
	struct fixture *f = *state;
	struct unit *b = &f->b;
	uint8_t gen = get(f, b, VIRTIO_PCI_COMMON_CFGGENERATION, 1);

	b->dev.transport->config_changed(&b->dev); /* before DRIVER_OK: no interrupt */
	assert_false(f->fake.pin[b->vp.pci.gsi]);
	assert_int_equal(get(f, b, VIRTIO_PCI_COMMON_CFGGENERATION, 1), (uint8_t)(gen + 1));
	start(f, b);
	b->dev.transport->config_changed(&b->dev);
	assert_true(f->fake.pin[b->vp.pci.gsi]);
	set_status(f, b, 0);
	wait_reset(f, b);
	assert_int_equal(get(f, b, VIRTIO_PCI_COMMON_CFGGENERATION, 1), (uint8_t)(gen + 2));
}

static void device_config(void **state)
{
	struct fixture *f = *state;
	uint64_t cfg = at(f, &f->a, VIRTIO_PCI_CAP_DEVICE_CFG);

	assert_int_equal(mmio_read(&f->fake, cfg, 8), 0x8877665544332211ULL);
	assert_int_equal(mmio_read(&f->fake, cfg + 3, 2), 0x5544);
	assert_int_equal(mmio_read(&f->fake, cfg + 6, 4), 0x8877); /* zero behind the end */
	assert_int_equal(mmio_read(&f->fake, cfg + 8, 8), 0);
	mmio_write(&f->fake, cfg + 7, 0xeeff, 2);
	assert_int_equal(mmio_read(&f->fake, cfg + 4, 4), 0xff776655);
	mmio_write(&f->fake, cfg + 8, UINT64_MAX, 8);
	mmio_write(&f->fake, cfg + 0xff8, UINT64_MAX, 8);
}

static void window(struct fixture *f, unsigned int nr, uint32_t offset, uint32_t length)
{
	unsigned int cap = find_cap(f, &f->a, VIRTIO_PCI_CAP_PCI_CFG);

	cfg_write(&f->fake, 1, cap + VIRTIO_PCI_CAP_BAR, nr, 1);
	cfg_write(&f->fake, 1, cap + VIRTIO_PCI_CAP_OFFSET, offset, 4);
	cfg_write(&f->fake, 1, cap + VIRTIO_PCI_CAP_LENGTH, length, 4);
}

/* 4.1.4.9: firmware reaches the BARs through config space, decoding on or off. */
static void config_access_window(void **state)
{
	struct fixture *f = *state;
	unsigned int data = find_cap(f, &f->a, VIRTIO_PCI_CAP_PCI_CFG) + 16;
	unsigned int device = at(f, &f->a, VIRTIO_PCI_CAP_DEVICE_CFG) - bar(f, &f->a, 0);

	cfg_write(&f->fake, 1, PCI_COMMAND, 0, 2);
	window(f, 0, VIRTIO_PCI_COMMON_NUMQ, 2);
	assert_int_equal(cfg_read(&f->fake, 1, data, 2), QUEUES);
	window(f, 0, VIRTIO_PCI_COMMON_STATUS, 1);
	cfg_write(&f->fake, 1, data, VIRTIO_CONFIG_S_ACKNOWLEDGE, 1);
	assert_int_equal(cfg_read(&f->fake, 1, data, 1), VIRTIO_CONFIG_S_ACKNOWLEDGE);
	window(f, 0, device + 4, 4);
	assert_int_equal(cfg_read(&f->fake, 1, data, 4), 0x88776655);
	window(f, 2, PCI_MSIX_ENTRY_VECTOR_CTRL, 4);
	assert_int_equal(cfg_read(&f->fake, 1, data, 4), 1);
	cfg_write(&f->fake, 1, data, 0, 4);
	assert_int_equal(f->a.vp.msix.vector[0].ctrl, 0);
}

static void config_access_window_abused(void **state)
{
	static const struct {
		unsigned int bar;
		uint32_t offset, length;
	} bad[] = {
		{1, 0, 4}, {5, 0, 4}, {6, 0, 4}, {255, 0, 4}, {0, 0x4000, 4}, {0, 0xfffffffc, 4},
		{0, 0, 0}, {0, 0, 3}, {0, 0, 8}, {0, 1, 2},   {0, 2, 4},      {0, 0, 0xffffffff},
	};
	struct fixture *f = *state;
	unsigned int data = find_cap(f, &f->a, VIRTIO_PCI_CAP_PCI_CFG) + 16;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		window(f, bad[i].bar, bad[i].offset, bad[i].length);
		cfg_write(&f->fake, 1, data, 0x01020304 + i, 4);
		assert_int_equal(cfg_read(&f->fake, 1, data, 4), 0x01020304 + i); /* plain */
	}
	registers_after_reset(state);
}

static void parameters_are_checked(void **state)
{
	struct fixture *f = *state;
	struct virtio_pci vp;

	assert_int_equal(virtio_pci__init(&vp, &f->a.dev, &f->bus, QUEUES + 2, 0), -EINVAL);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(identity_and_capabilities),
		T(registers_after_reset),
		T(field_widths),
		T(queue_sizes),
		T(packed_queue_sizes),
		T(absent_queues_and_vectors),
		T(features_are_negotiated),
		T(config_generation),
		T(device_config),
		T(config_access_window),
		T(config_access_window_abused),
		T(parameters_are_checked),
	};

	return cmocka_run_group_tests_name("virtio-pci", tests, NULL, NULL);
}
