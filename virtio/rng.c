// SPDX-License-Identifier: GPL-2.0-only
/* virtio-rng (virtio 1.2, 5.4): random bytes from the host's getrandom(2). */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <lkvm/virtio_rng.h>

/*
 * Bytes for one chain at most: 5.4.6.2 asks for one or more, and a guest that
 * wants gigabytes of them should not keep the thread from being stopped.
 */
#define RNG_MAX_BYTES 4096U

static size_t fill(void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = getrandom((char *)buf + done, len - done, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += n;
	}
	return done;
}

/*
 * Readable segments are not the driver's to give (5.4.6.1) and are ignored; a
 * segment outside of guest memory ends the answer.
 */
static uint32_t fill_chain(const struct virtq_chain *chain)
{
	const struct iovec *iov = chain->iov + chain->nr_out;
	uint32_t done = 0;
	unsigned int i;

	for (i = 0; i < chain->nr_in && iov[i].iov_base && done < RNG_MAX_BYTES; i++) {
		size_t want = RNG_MAX_BYTES - done;
		size_t got;

		if (iov[i].iov_len < want)
			want = iov[i].iov_len;
		got = fill(iov[i].iov_base, want);
		done += got;
		if (got < want)
			break;
	}
	return done;
}

/* At most one ring's worth.  0, or -EINVAL where the ring is broken. */
static int drain(struct virtio_queue *queue)
{
	struct iovec iov[VIRTQ_CHAIN_IOV(VIRTIO_RNG_QUEUE_SIZE)];
	struct virtq_chain chain = {.iov = iov, .iov_max = sizeof(iov) / sizeof(iov[0])};
	unsigned int nr;
	int ret = 0;

	for (nr = 0; nr < queue->ring.layout.size; nr++) {
		uint32_t len;

		ret = virtq__pop(&queue->ring, &chain);
		if (ret <= 0)
			break;
		queue->stats.popped++;
		len = fill_chain(&chain);
		if (!len)
			queue->stats.errors++;
		virtq__push(&queue->ring, chain.head, len);
		queue->stats.completed++;
	}
	if (nr)
		queue->stats.drains++;
	return ret < 0 ? ret : 0;
}

static void queue_run(struct virtio_queue *queue)
{
	while (virtio_queue__running(queue)) {
		int ret;

		virtq__kicks_off(&queue->ring);
		ret = drain(queue);
		virtio_queue__publish(queue);
		if (ret) {
			virtio_dev__fail(queue->dev);
			break;
		}
		if (!virtq__kicks_on(&queue->ring, 1))
			virtio_queue__sleep(queue);
	}
	/* a broken ring: nothing is in flight, wait for the reset */
	while (virtio_queue__running(queue))
		virtio_queue__sleep(queue);
}

static const struct virtio_dev_ops rng_ops = {
	.id = VIRTIO_ID_RNG,
	.name = "rng",
	.queue_run = queue_run,
};

int virtio_rng__init(struct virtio_rng *rng, const struct guest_mem *mem)
{
	memset(rng, 0, sizeof(*rng));
	rng->dev.ops = &rng_ops;
	rng->dev.priv = rng;
	rng->dev.mem = mem;
	rng->dev.offered =
		(1ULL << VIRTIO_RING_F_INDIRECT_DESC) | (1ULL << VIRTIO_RING_F_EVENT_IDX);
	return virtio_dev__init(&rng->dev, 1, VIRTIO_RNG_QUEUE_SIZE);
}

void virtio_rng__fini(struct virtio_rng *rng)
{
	virtio_dev__fini(&rng->dev);
}
