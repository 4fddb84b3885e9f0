/* Memory for tables that are looked up at random: in large pages where the system has them, so that most look-ups find
 * their page known to the processor. */
#ifndef BL_HUGE_PAGES_H
#define BL_HUGE_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define BL_HUGE_PAGES_LARGE ((size_t)1 << 21) /* bytes */

/* To be freed by free; NULL when there is none. Aligned to 64 bytes. */
static inline void *bl_huge_pages_alloc(size_t bytes)
{
    size_t page = bytes < BL_HUGE_PAGES_LARGE / 8 ? 64 : BL_HUGE_PAGES_LARGE;
    if (bytes > SIZE_MAX - page)
        return NULL;
    bytes = (bytes + page - 1) / page * page;
    void *memory = aligned_alloc(page, bytes);
    /* Only a wish: without it the table is slower. */
    if (memory && page == BL_HUGE_PAGES_LARGE)
        (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

#endif
