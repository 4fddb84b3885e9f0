/* Allocates memory for tables with random access in huge pages, where the system has them.
 *
 * A table of 16 MiB covers 4096 pages of 4 KiB, more than the processor's TLB has entries for, and 8 huge pages of 2
 * MiB. */
#ifndef BL_HUGE_PAGES_H
#define BL_HUGE_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define BL_HUGE_PAGES_LARGE ((size_t)1 << 21) /* bytes of a huge page: x86-64, and ARM with pages of 4 KiB */

/* Returns uninitialized memory, aligned to at least 64 bytes (a line of the cache), or NULL if out of memory. The
 * caller frees it with free. A size of 256 KiB or more is rounded up to whole huge pages; pages that are never
 * written take no memory until then. */
static inline void *bl_huge_pages_alloc(size_t bytes)
{
    size_t page = bytes < BL_HUGE_PAGES_LARGE / 8 ? 64 : BL_HUGE_PAGES_LARGE;
    if (bytes > SIZE_MAX - page)
        return NULL;
    bytes = (bytes + page - 1) / page * page;
    void *memory = aligned_alloc(page, bytes);
    /* The advice may fail: without huge pages the table is only slower. */
    if (memory && page == BL_HUGE_PAGES_LARGE)
        (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

#endif
