/* A file of its own, because it includes sort_body.h, the radix sort, once for each type of key. */
#include "base/sort.h"

/* Plans depend on INSERTION_SORT: bl_sort_u64 ignores the lowest bits, and small ranges are sorted by all bits. So
 * another value would give keys that are equal above `lowest` another order. */
enum {
    INSERTION_SORT = 48, /* up to this many keys, counting digits does not pay */
    DIGIT_BITS = 8,      /* with 256 counters, which stay in the first cache */
    DIGITS = 1 << DIGIT_BITS,
};

#define KEY uint32_t
#define NAMED(f) f##_u32
#include "base/sort_body.h"
#undef KEY
#undef NAMED

#define KEY uint64_t
#define NAMED(f) f##_u64
#include "base/sort_body.h"

void bl_sort_u32(uint32_t *key, size_t n)
{
    /* The first digit is the highest byte. */
    sort_by_digits_u32(key, n, 32 - DIGIT_BITS, 0);
}

void bl_sort_u64(uint64_t *key, size_t n, int lowest)
{
    sort_by_digits_u64(key, n, 64 - DIGIT_BITS, lowest);
}
