/* The limit of open files. */
#ifndef BL_DESCRIPTORS_H
#define BL_DESCRIPTORS_H

#include <stdint.h>

/* Allows the process as many descriptors as may be, and returns how many: 1,024, the usual limit, are too few for
 * hundreds of workers. */
int64_t bl_descriptors_raise(void);

#endif
