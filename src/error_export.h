/* Gives errors of the internal functions to programs that use the library. */
#ifndef BL_ERROR_EXPORT_H
#define BL_ERROR_EXPORT_H

#include "base/error.h"

struct bload_error; /* of bload.h */

/* Copies an internal error to the caller's, which may be NULL, and returns the code. */
int bl_error_export(int code, const struct bl_error *e, struct bload_error *error);

#endif
