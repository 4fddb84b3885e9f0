/* Compiler extensions for fast loops: prefetching and the shuffling of vectors, for gcc and clang. */
#ifndef BL_VECTOR_H
#define BL_VECTOR_H

/* --- prefetch ----------------------------------------------------------------------------------------------------- */

/* Marks a function that only prefetches, that is, loads memory into the cache before it is needed. For gcc such a
 * function has no effect, and gcc drops calls that it has not inlined before. */
#define BL_PREFETCHES __attribute__((always_inline)) static inline

/* --- shuffle ------------------------------------------------------------------------------------------------------ */

/* Elements of two vectors of 16 bytes in another order, by their numbers: those of b follow those of a. gcc has a
 * function for it from 12 on; before, it took the order as a vector. */

#if defined(__clang__) || __GNUC__ >= 12
#define BL_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#include <stdint.h>

typedef uint8_t bl_order_bytes __attribute__((vector_size(16)));
typedef uint16_t bl_order_words __attribute__((vector_size(16)));
typedef uint32_t bl_order_longs __attribute__((vector_size(16)));

#define BL_ORDER_TYPE(a)                                                                                               \
    __typeof__(__builtin_choose_expr(                                                                                  \
        sizeof((a)[0]) == 1, (bl_order_bytes){0},                                                                      \
        __builtin_choose_expr(sizeof((a)[0]) == 2, (bl_order_words){0}, (bl_order_longs){0})))
#define BL_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (BL_ORDER_TYPE(a)){__VA_ARGS__})
#endif

#endif
