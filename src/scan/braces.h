/* Patterns with braces, as shells expand them: "data-{000..099}.tar", "{train,val}.tar". A shell does so before the
 * tool is called, but not in quotes, or in a file. */
#ifndef BL_BRACES_H
#define BL_BRACES_H

#include <stdbool.h>

#include "base/error.h"

#define BL_BRACES_MAX 1000000 /* names */

/* Whether the text has something to expand. */
bool bl_braces_are_in(const char *text);

/* Calls emit with each name, in order, until it fails. BL_EUSAGE: more than BL_BRACES_MAX names. */
int bl_braces_expand(const char *text, int (*emit)(void *context, const char *name, struct bl_error *e), void *context,
                     struct bl_error *e);

#endif
