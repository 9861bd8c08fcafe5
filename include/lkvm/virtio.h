/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_VIRTIO_H
#define LKVM_VIRTIO_H

#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <lkvm/mem.h>
#include <lkvm/thread.h>
#include <lkvm/virtq.h>

struct virtio_dev;
struct virtio_queue;

/*
 * A virtio device type.  The transport (virtio_pci.h) owns the registers and
 * calls in here; the device never knows which transport carries it.
 */
struct virtio_dev_ops {
	uint16_t id; /* VIRTIO_ID_BLOCK, ... */
	const char *name; /* short, for thread names and messages: "blk" */
	/*
	 * Device configuration space.  @off + @len <= config_size.  Called in
	 * vCPU threads under the transport's lock.  config_write may be NULL.
	 */
	void (*config_read)(struct virtio_dev *dev, unsigned int off, void *buf, unsigned int len);
	void (*config_write)(struct virtio_dev *dev, unsigned int off, const void *buf,
			     unsigned int len);
	/*
	 * dev->features has changed: negotiated, or 0 after a reset.  Under the
	 * transport's lock, no queue is running.  May be NULL.
	 */
	void (*features_set)(struct virtio_dev *dev);
	/*
	 * I/O thread of the queue: serve queue->ring until
	 * virtio_queue__running() says no, then finish every request in flight
	 * and return.  A broken ring: virtio_dev__fail(), then wait likewise.
	 */
	void (*queue_run)(struct virtio_queue *queue);
};

struct virtio_transport_ops {
	/* Used buffer notification.  I/O thread, no lock.  True: an interrupt went out. */
	bool (*signal)(struct virtio_dev *dev, struct virtio_queue *queue);
	/* Any thread: configuration changed: bump the generation, interrupt the driver. */
	void (*config_changed)(struct virtio_dev *dev);
	/*
	 * Any thread: DEVICE_NEEDS_RESET (2.1.2), configuration interrupt; all
	 * queues are told to stop, so that virtio_queue__running() says no.
	 */
	void (*needs_reset)(struct virtio_dev *dev);
};

enum virtio_queue_state {
	VIRTIO_QUEUE_IDLE, /* the thread sleeps; ring not touched */
	VIRTIO_QUEUE_RUNNING, /* set by the transport, after ring is initialised */
	VIRTIO_QUEUE_STOPPING, /* set by the transport; the thread answers with IDLE */
	VIRTIO_QUEUE_QUIT, /* set at the end of the VM; the thread ends */
};

/*
 * What an I/O thread counts; read by others after it has ended.  A number for
 * each system call of its loop is in here or in disk_queue_stats, but for looks at
 * the clock, which are calls only where the host's clock source is not the TSC.
 */
struct virtio_queue_stats {
	uint64_t kicks; /* signals of the guest on the ioeventfd, or its writes to the doorbell */
	uint64_t wakes; /* returns from the place where the thread sleeps */
	uint64_t drains; /* drains that found at least one request */
	uint64_t popped; /* heads taken */
	uint64_t completed; /* heads given back */
	uint64_t interrupts; /* interrupts sent */
	uint64_t suppressed; /* publishes for which the driver wanted none, or has no vector */
	uint64_t errors; /* requests that ended with IOERR or UNSUPP */
	uint64_t spins; /* times that the thread spun before it slept */
	uint64_t spins_won; /* and found work by that */
	uint64_t holds; /* times that completions or submissions were held back */
	uint64_t holds_won; /* and more came meanwhile */
};

struct virtio_queue {
	struct virtio_dev *dev;
	unsigned int index;
	/* registers: the transport's lock */
	uint16_t size_max, size;
	bool enabled;
	uint64_t desc, avail, used;
	atomic_uint vector; /* VIRTIO_MSI_NO_VECTOR: this queue never signals */
	/*
	 * The one place to sleep: the guest's kick (ioeventfd), completions of
	 * the I/O engine and run control all signal this eventfd.
	 */
	int wakefd;
	_Atomic enum virtio_queue_state state;
	pthread_t thread;
	bool has_thread;
	char name[16]; /* of the thread */
	struct virtq ring; /* I/O thread's while RUNNING or STOPPING */
	atomic_ulong pokes; /* signals of lkvm itself on wakefd: virtio_queue__wake() */
	uint64_t signals; /* all that was read from wakefd, by whom whatever; I/O thread */
	struct virtio_queue_stats stats;
	void *priv; /* the device type's, per queue */
};

struct virtio_dev {
	const struct virtio_dev_ops *ops;
	const struct virtio_transport_ops *transport;
	void *transport_data;
	void *priv; /* the device type's */
	const struct guest_mem *mem;
	uint64_t offered; /* feature bits; the transport adds VERSION_1 */
	_Atomic uint64_t features; /* negotiated; constant while queues run */
	unsigned int config_size;
	bool crowded; /* vCPUs may occupy every CPU: the I/O threads give way to them */
	atomic_int *spin_slots; /* CPUs to spare, shared by the VM's I/O threads; NULL: no limit */
	struct thread_hook *threads; /* the caller's, before virtio_dev__start_threads(); or NULL */
	unsigned int nr_queues;
	struct virtio_queue *queues;
};

/*
 * Allocate queues (eventfds, no threads).  @size_max: a power of two up to
 * VIRTQ_MAX_SIZE.  Main thread.  The caller has filled in ops, priv, mem,
 * offered (ring features too), config_size.  0 or -errno.
 */
int virtio_dev__init(struct virtio_dev *dev, unsigned int nr_queues, uint16_t size_max);
/* Frees the queues; threads have ended. */
void virtio_dev__fini(struct virtio_dev *dev);

/*
 * Start the I/O thread of each queue, idle.  @name: NAME-INDEX ("blk-0"); a
 * thread is called NAME-INDEX.Q, cut at 15 characters.  All signals but those of
 * a fault are blocked in the threads.  Main thread, before the vCPUs run.  0 or
 * -errno, with none left.
 */
int virtio_dev__start_threads(struct virtio_dev *dev, const char *name);
/* QUIT, wake, join.  Main thread, after the vCPUs have ended. */
void virtio_dev__stop_threads(struct virtio_dev *dev);

/*
 * Transport: IDLE -> RUNNING with queue->ring initialised; RUNNING -> STOPPING.
 * In any other state neither does anything.  stop: any thread.
 */
void virtio_queue__start(struct virtio_queue *queue);
void virtio_queue__stop(struct virtio_queue *queue);
/* Transport: true once no thread touches the ring of any queue. */
bool virtio_dev__idle(struct virtio_dev *dev);

/* I/O thread: go on serving?  Acquire: the ring and features of this activation are visible. */
static inline bool virtio_queue__running(struct virtio_queue *queue)
{
	return atomic_load_explicit(&queue->state, memory_order_acquire) == VIRTIO_QUEUE_RUNNING;
}

/* I/O thread: sleep until wakefd is signalled, and clear it.  One system call. */
void virtio_queue__sleep(struct virtio_queue *queue);

/* Any thread: the guest's kick, where it came through the MMIO bus. */
void virtio_queue__kick(struct virtio_queue *queue);
/* Any thread: wake the I/O thread for something of lkvm's own. */
void virtio_queue__wake(struct virtio_queue *queue);

static inline bool virtio_dev__has(const struct virtio_dev *dev, unsigned int bit)
{
	return (atomic_load_explicit(&dev->features, memory_order_relaxed) >> bit) & 1;
}

/* I/O thread: at most one interrupt for what became visible since the last call; something did. */
void virtio_queue__signal(struct virtio_queue *queue);
/* I/O thread: publish what was pushed and send at most one interrupt for it. */
void virtio_queue__publish(struct virtio_queue *queue);

/* Transport: what the driver took, or 0 at reset. */
static inline void virtio_dev__set_features(struct virtio_dev *dev, uint64_t features)
{
	atomic_store(&dev->features, features);
	if (dev->ops->features_set)
		dev->ops->features_set(dev);
}

static inline void virtio_dev__fail(struct virtio_dev *dev)
{
	dev->transport->needs_reset(dev);
}

#endif
