/* Memory that is fetched before it is needed. */
#ifndef BL_PREFETCH_H
#define BL_PREFETCH_H

/* Marks a function that only prefetches. To gcc it has no effect, and its calls are dropped where it is not inlined
 * first. */
#define BL_PREFETCHES __attribute__((always_inline)) static inline

#endif
