// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registers that end the VM: reset control at 0xcf9, the sleep registers
 * of hardware-reduced ACPI, and the exit port.
 */
#include <lkvm/x86_map.h>
#include <lkvm/x86_platform.h>

#define RESET_CPU 0x04 /* 0 to 1: reset now; bit 1 chooses hard or soft, both alike here */

/* ACPI 6.4, 4.8.3.7: sleep control register; 4.8.3.8: sleep status register */
#define SLEEP_TYPE_SHIFT 2
#define SLEEP_TYPE_MASK 0x1c
#define SLEEP_ENABLE 0x20
#define SLEEP_WAKE_STATUS 0x80

static void reset_read(void *dev, uint64_t off, void *data, unsigned int len)
{
	struct x86_platform *p = dev;

	(void)off;
	(void)len;
	pthread_mutex_lock(&p->lock);
	*(uint8_t *)data = p->reset;
	pthread_mutex_unlock(&p->lock);
}

static void reset_write(void *dev, uint64_t off, const void *data, unsigned int len)
{
	struct x86_platform *p = dev;
	uint8_t val = *(const uint8_t *)data;

	(void)off;
	(void)len;
	pthread_mutex_lock(&p->lock);
	p->reset = val & ~RESET_CPU;
	pthread_mutex_unlock(&p->lock);
	if (val & RESET_CPU)
		run__end(&p->vm->run, RUN_END_RESET, 0, -1);
}

const struct bus_ops x86_reset_ops = {
	.read = reset_read,
	.write = reset_write,
};

static void sleep_read(void *dev, uint64_t off, void *data, unsigned int len)
{
	struct x86_platform *p = dev;
	uint8_t *bytes = data;

	pthread_mutex_lock(&p->lock);
	for (unsigned int i = 0; i < len; i++)
		bytes[i] = off + i ? p->sleep_status : p->sleep_control;
	pthread_mutex_unlock(&p->lock);
}

/* Soft off ends the VM; any other state is over at once, and the status says woken. */
static bool sleep_control(struct x86_platform *p, uint8_t val)
{
	p->sleep_control = val & SLEEP_TYPE_MASK; /* the enable bit reads 0 */
	if (!(val & SLEEP_ENABLE))
		return false;
	if ((val & SLEEP_TYPE_MASK) >> SLEEP_TYPE_SHIFT == X86_S5_TYPE)
		return true;
	p->sleep_status |= SLEEP_WAKE_STATUS;
	return false;
}

static void sleep_write(void *dev, uint64_t off, const void *data, unsigned int len)
{
	struct x86_platform *p = dev;
	const uint8_t *bytes = data;
	bool off_now = false;

	pthread_mutex_lock(&p->lock);
	for (unsigned int i = 0; i < len; i++) {
		if (off + i)
			p->sleep_status &= ~(bytes[i] & SLEEP_WAKE_STATUS); /* write 1 to clear */
		else
			off_now |= sleep_control(p, bytes[i]);
	}
	pthread_mutex_unlock(&p->lock);
	if (off_now)
		run__end(&p->vm->run, RUN_END_POWEROFF, 0, -1);
}

const struct bus_ops x86_sleep_ops = {
	.read = sleep_read,
	.write = sleep_write,
};

static void exit_read(void *dev, uint64_t off, void *data, unsigned int len)
{
	uint8_t *bytes = data;

	(void)dev;
	(void)off;
	for (unsigned int i = 0; i < len; i++)
		bytes[i] = 0xff;
}

static void exit_write(void *dev, uint64_t off, const void *data, unsigned int len)
{
	struct x86_platform *p = dev;

	(void)off;
	(void)len;
	run__end(&p->vm->run, RUN_END_EXIT_PORT, *(const uint8_t *)data, -1);
}

const struct bus_ops x86_exit_ops = {
	.read = exit_read,
	.write = exit_write,
};
