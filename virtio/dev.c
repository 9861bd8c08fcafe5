// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues of a virtio device and their I/O threads: one thread a queue, which
 * owns the ring from RUNNING until it has answered STOPPING with IDLE.
 *
 *	IDLE --start--> RUNNING --stop--> STOPPING --thread--> IDLE
 *
 * and from any of them to QUIT at the end of the VM.  Every change is one
 * compare-and-swap from the state that it needs, so that vCPU threads, the
 * thread itself and a broken ring can act at once.  A store of RUNNING or IDLE
 * hands the ring over (release), the load that sees it takes it (acquire).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <lkvm/virtio.h>

static bool change(struct virtio_queue *queue, enum virtio_queue_state from,
		   enum virtio_queue_state to)
{
	return atomic_compare_exchange_strong(&queue->state, &from, to);
}

void virtio_queue__kick(struct virtio_queue *queue)
{
	uint64_t one = 1;
	ssize_t ret;

	do {
		ret = write(queue->wakefd, &one, sizeof(one));
	} while (ret < 0 && errno == EINTR);
}

void virtio_queue__wake(struct virtio_queue *queue)
{
	atomic_fetch_add_explicit(&queue->pokes, 1, memory_order_relaxed);
	virtio_queue__kick(queue);
}

void virtio_queue__sleep(struct virtio_queue *queue)
{
	uint64_t count;
	ssize_t ret;

	do {
		ret = read(queue->wakefd, &count, sizeof(count));
	} while (ret < 0 && errno == EINTR);
	if (ret == sizeof(count))
		queue->signals += count;
	queue->stats.wakes++;
}

void virtio_queue__start(struct virtio_queue *queue)
{
	if (change(queue, VIRTIO_QUEUE_IDLE, VIRTIO_QUEUE_RUNNING))
		virtio_queue__wake(queue);
}

void virtio_queue__stop(struct virtio_queue *queue)
{
	if (!change(queue, VIRTIO_QUEUE_RUNNING, VIRTIO_QUEUE_STOPPING))
		return;
	if (queue->has_thread)
		virtio_queue__wake(queue);
	else
		change(queue, VIRTIO_QUEUE_STOPPING, VIRTIO_QUEUE_IDLE);
}

bool virtio_dev__idle(struct virtio_dev *dev)
{
	for (unsigned int i = 0; i < dev->nr_queues; i++) {
		if (atomic_load_explicit(&dev->queues[i].state, memory_order_acquire) !=
		    VIRTIO_QUEUE_IDLE)
			return false;
	}
	return true;
}

void virtio_queue__signal(struct virtio_queue *queue)
{
	if (virtq__interrupt_due(&queue->ring) && queue->dev->transport->signal(queue->dev, queue))
		queue->stats.interrupts++;
	else
		queue->stats.suppressed++;
}

void virtio_queue__publish(struct virtio_queue *queue)
{
	if (!virtq__unpublished(&queue->ring))
		return;
	virtq__show(&queue->ring);
	virtio_queue__signal(queue);
}

static void *queue_thread(void *arg)
{
	struct virtio_queue *queue = arg;

	/* for people alone: no harm where it fails */
	pthread_setname_np(pthread_self(), queue->name);
	thread__started(queue->dev->threads, THREAD_IO);
	for (;;) {
		switch (atomic_load_explicit(&queue->state, memory_order_acquire)) {
		case VIRTIO_QUEUE_RUNNING:
			queue->dev->ops->queue_run(queue);
			/* a device type that came back early must not make this spin */
			while (virtio_queue__running(queue))
				virtio_queue__sleep(queue);
			break;
		case VIRTIO_QUEUE_STOPPING:
			change(queue, VIRTIO_QUEUE_STOPPING, VIRTIO_QUEUE_IDLE);
			break;
		case VIRTIO_QUEUE_IDLE:
			virtio_queue__sleep(queue);
			break;
		case VIRTIO_QUEUE_QUIT:
			return NULL;
		}
	}
}

static int start_thread(struct virtio_queue *queue, const char *name)
{
	char full[64];
	int ret;

	snprintf(full, sizeof(full), "%s.%u", name, queue->index);
	full[sizeof(queue->name) - 1] = '\0';
	strcpy(queue->name, full);
	ret = thread__create(&queue->thread, queue_thread, queue, 0);
	queue->has_thread = !ret;
	return ret;
}

int virtio_dev__start_threads(struct virtio_dev *dev, const char *name)
{
	int ret = 0;

	for (unsigned int i = 0; i < dev->nr_queues && !ret; i++)
		ret = start_thread(&dev->queues[i], name);
	if (ret)
		virtio_dev__stop_threads(dev);
	return ret;
}

void virtio_dev__stop_threads(struct virtio_dev *dev)
{
	for (unsigned int i = 0; i < dev->nr_queues; i++) {
		atomic_store(&dev->queues[i].state, VIRTIO_QUEUE_QUIT);
		virtio_queue__wake(&dev->queues[i]);
	}
	for (unsigned int i = 0; i < dev->nr_queues; i++) {
		struct virtio_queue *queue = &dev->queues[i];

		if (queue->has_thread)
			pthread_join(queue->thread, NULL);
		queue->has_thread = false;
	}
}

int virtio_dev__init(struct virtio_dev *dev, unsigned int nr_queues, uint16_t size_max)
{
	if (!nr_queues || size_max < 2 || size_max > VIRTQ_MAX_SIZE || (size_max & (size_max - 1)))
		return -EINVAL;
	dev->queues = calloc(nr_queues, sizeof(*dev->queues));
	if (!dev->queues)
		return -ENOMEM;
	for (dev->nr_queues = 0; dev->nr_queues < nr_queues; dev->nr_queues++) {
		struct virtio_queue *queue = &dev->queues[dev->nr_queues];

		queue->dev = dev;
		queue->index = dev->nr_queues;
		queue->size_max = queue->size = size_max;
		atomic_init(&queue->vector, 0xffff); /* VIRTIO_MSI_NO_VECTOR */
		atomic_init(&queue->state, VIRTIO_QUEUE_IDLE);
		queue->wakefd = eventfd(0, EFD_CLOEXEC);
		if (queue->wakefd < 0) {
			int ret = -errno;

			virtio_dev__fini(dev);
			return ret;
		}
	}
	return 0;
}

void virtio_dev__fini(struct virtio_dev *dev)
{
	for (unsigned int i = 0; i < dev->nr_queues; i++)
		close(dev->queues[i].wakefd);
	free(dev->queues);
	dev->queues = NULL;
	dev->nr_queues = 0;
}
