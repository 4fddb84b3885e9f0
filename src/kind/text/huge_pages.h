/* Memory for tables with random access: in huge pages where the system has them, so that there are few TLB misses. */
#ifndef BL_HUGE_PAGES_H
#define BL_HUGE_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define BL_HUGE_PAGES_LARGE ((size_t)1 << 21) /* bytes */

/* Aligned to 64 bytes; to be freed with free. NULL: out of memory. */
static inline void *bl_huge_pages_alloc(size_t bytes)
{
    size_t page = bytes < BL_HUGE_PAGES_LARGE / 8 ? 64 : BL_HUGE_PAGES_LARGE;
    if (bytes > SIZE_MAX - page)
        return NULL;
    bytes = (bytes + page - 1) / page * page;
    void *memory = aligned_alloc(page, bytes);
    /* Only advice: without huge pages the table is slower. */
    if (memory && page == BL_HUGE_PAGES_LARGE)
        (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

#endif
