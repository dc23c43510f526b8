/* fence.h -- memory fences, for other processes that read our memory
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Used where one side writes plainly and another thread, or process, reads at any moment and judges what it got.
 */
#ifndef FORMAT_FENCE_H
#define FORMAT_FENCE_H

/* Fence -- what stands before is seen before what stands behind, by readers and of readers.  The thread sanitizer knows
 * no such thing, and gcc says so. */
static inline void Fence(void)
{
#if !defined(__SANITIZE_THREAD__)
  __atomic_thread_fence(__ATOMIC_ACQ_REL);
#endif
}

#endif /* FORMAT_FENCE_H */
