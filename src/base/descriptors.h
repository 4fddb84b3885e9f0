/* The limit of open files, and closing many. */
#ifndef BL_DESCRIPTORS_H
#define BL_DESCRIPTORS_H

#include <stdint.h>

/* Allows the process as many descriptors as may be, and returns how many: 1,024, the usual limit, are too few for
 * hundreds of workers. */
int64_t bl_descriptors_raise(void);

/* Closes all from first to last. By one call, which kernels have from 5.9 on; the second needs none. */
void bl_descriptors_close(int first, int last);
void bl_descriptors_close_each(int first, int last);

#endif
