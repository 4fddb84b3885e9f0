/* The listing of a tar: what a walk over its headers found. The first of many tasks leaves it to the others, in
 * DIR/.bload/tar-0123456789abcdef, which is named by the checksum of the tar's path.
 *
 *   bload tar 1: BYTES SECONDS.NANOSECONDS PATH     size and modification time of the tar: another one is listed anew
 *   fault TEXT                                      why not all of it can be used; or an empty text
 *   BEGIN BYTES NAME                                a member
 *   BEGIN BYTES NAME WHY                            one that cannot be used; a tab comes before WHY
 *   ...
 *   end CHECKSUM                                    base/sealed.h
 */
#ifndef BL_TAR_LISTING_H
#define BL_TAR_LISTING_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "scan/tar_members.h"

/* Sets the members, and the fault if there is one, from the tar's listing. status: of the tar. False: there is no
 * listing of this very file, or it is damaged; then m is empty. */
bool bl_tar_listing_find(struct bl_tar_members *m, const struct bl_tar_source *source, const struct stat *status,
                         struct bl_error *fault);

/* Writes it, in the place of any that is there. status: of the tar before its headers were read. */
int bl_tar_listing_write(const struct bl_tar_members *m, const struct bl_tar_source *source, const struct stat *status,
                         const struct bl_error *fault, struct bl_error *e);

#endif
