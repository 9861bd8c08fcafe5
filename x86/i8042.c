// SPDX-License-Identifier: GPL-2.0-only
/*
 * i8042 keyboard controller without keyboard or mouse: it answers a probe at
 * once and resets the machine.  A driver that finds no answer waits half a
 * second for each byte, so each command that has a reply gets one; what goes
 * to the devices behind the controller gets none, as with no plug in.
 */
#include <lkvm/x86_platform.h>

enum { /* commands: IBM PS/2 Technical Reference, keyboard controller */
	CMD_READ_CTR = 0x20,
	CMD_WRITE_CTR = 0x60,
	CMD_AUX_DISABLE = 0xa7,
	CMD_AUX_ENABLE = 0xa8,
	CMD_AUX_TEST = 0xa9,
	CMD_SELF_TEST = 0xaa,
	CMD_KBD_TEST = 0xab,
	CMD_KBD_DISABLE = 0xad,
	CMD_KBD_ENABLE = 0xae,
	CMD_READ_INPUT = 0xc0,
	CMD_READ_OUTPUT = 0xd0,
	CMD_WRITE_OUTPUT = 0xd1,
	CMD_KBD_LOOP = 0xd2,
	CMD_AUX_LOOP = 0xd3,
	CMD_AUX_SEND = 0xd4,
	CMD_PULSE = 0xf0, /* to 0xff: the low four output lines, those with a 0 */
};

enum {
	STATUS_OBF = 0x01, /* output buffer full; input buffer full (0x02) is never seen */
	STATUS_SYSTEM = 0x04, /* self test passed */
	STATUS_COMMAND = 0x08,
	STATUS_UNLOCKED = 0x10,
};

enum {
	CTR_KBD_DISABLE = 0x10,
	CTR_AUX_DISABLE = 0x20,
};

#define OUTPUT_RESET 0x01 /* line 0 of the output port, active low: CPU reset */
#define SELF_TEST_OK 0x55
#define AUX_CLOCK_STUCK 0x01 /* reply to the mouse test: there is no mouse port */

static void reply(struct x86_platform *p, uint8_t val)
{
	p->i8042_out = val;
	p->i8042_obf = true;
}

/* True: the reset line is to be pulled. */
static bool command(struct x86_platform *p, uint8_t cmd)
{
	p->i8042_command = 0;
	switch (cmd) {
	case CMD_READ_CTR:
		reply(p, p->i8042_ctr);
		break;
	case CMD_WRITE_CTR:
	case CMD_WRITE_OUTPUT:
	case CMD_KBD_LOOP:
	case CMD_AUX_LOOP:
	case CMD_AUX_SEND:
		p->i8042_command = cmd;
		break;
	case CMD_AUX_DISABLE:
		p->i8042_ctr |= CTR_AUX_DISABLE;
		break;
	case CMD_AUX_ENABLE:
		p->i8042_ctr &= ~CTR_AUX_DISABLE;
		break;
	case CMD_KBD_DISABLE:
		p->i8042_ctr |= CTR_KBD_DISABLE;
		break;
	case CMD_KBD_ENABLE:
		p->i8042_ctr &= ~CTR_KBD_DISABLE;
		break;
	case CMD_SELF_TEST:
		reply(p, SELF_TEST_OK);
		break;
	case CMD_AUX_TEST:
		reply(p, AUX_CLOCK_STUCK);
		break;
	case CMD_KBD_TEST:
	case CMD_READ_INPUT:
		reply(p, 0);
		break;
	case CMD_READ_OUTPUT:
		reply(p, 0x02 | OUTPUT_RESET); /* A20 on, no reset */
		break;
	default:
		return (cmd & CMD_PULSE) == CMD_PULSE && !(cmd & OUTPUT_RESET);
	}
	return false;
}

/* A byte at the data port: for the command before it, or for a keyboard that is not there. */
static bool argument(struct x86_platform *p, uint8_t val)
{
	uint8_t cmd = p->i8042_command;

	p->i8042_command = 0;
	switch (cmd) {
	case CMD_WRITE_CTR:
		p->i8042_ctr = val;
		break;
	case CMD_WRITE_OUTPUT:
		return !(val & OUTPUT_RESET);
	case CMD_KBD_LOOP:
	case CMD_AUX_LOOP: /* without the mark of a mouse byte in the status: no mouse */
		reply(p, val);
		break;
	default:
		break;
	}
	return false;
}

static void write_port(struct x86_platform *p, uint8_t val, bool is_command)
{
	bool reset;

	pthread_mutex_lock(&p->lock);
	p->i8042_cmd_last = is_command;
	reset = is_command ? command(p, val) : argument(p, val);
	pthread_mutex_unlock(&p->lock);
	if (reset)
		run__end(&p->vm->run, RUN_END_RESET, 0, -1);
}

static void data_write(void *dev, uint64_t off, const void *data, unsigned int len)
{
	(void)off;
	(void)len;
	write_port(dev, *(const uint8_t *)data, false);
}

static void command_write(void *dev, uint64_t off, const void *data, unsigned int len)
{
	(void)off;
	(void)len;
	write_port(dev, *(const uint8_t *)data, true);
}

static void data_read(void *dev, uint64_t off, void *data, unsigned int len)
{
	struct x86_platform *p = dev;

	(void)off;
	(void)len;
	pthread_mutex_lock(&p->lock);
	p->i8042_obf = false;
	*(uint8_t *)data = p->i8042_out;
	pthread_mutex_unlock(&p->lock);
}

static void status_read(void *dev, uint64_t off, void *data, unsigned int len)
{
	struct x86_platform *p = dev;
	uint8_t status = STATUS_SYSTEM | STATUS_UNLOCKED;

	(void)off;
	(void)len;
	pthread_mutex_lock(&p->lock);
	if (p->i8042_obf)
		status |= STATUS_OBF;
	if (p->i8042_cmd_last)
		status |= STATUS_COMMAND;
	pthread_mutex_unlock(&p->lock);
	*(uint8_t *)data = status;
}

const struct bus_ops x86_i8042_data_ops = {
	.read = data_read,
	.write = data_write,
};

const struct bus_ops x86_i8042_command_ops = {
	.read = status_read,
	.write = command_write,
};
