/* Reads the headers of tars (old, ustar, pax and GNU), collects the members of many tars, and stores listings of
 * members that tasks share. The contents of members are skipped. Sources: POSIX.1, pax, "ustar Interchange Format" and
 * "pax Extended Header"; the manual of GNU tar, "Basic Tar Format".
 *
 * libarchive is not used, since it does not report the position of a member in the file. */
#ifndef BL_TAR_READER_H
#define BL_TAR_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/input_file.h"

#define BL_TAR_BLOCK 512
#define BL_TAR_WINDOW (16 * BL_TAR_BLOCK)

struct bl_tar_member {
    const char *name;     /* without a leading "./"; valid until the next member is read */
    int64_t begin, bytes; /* of its content in the file */
    const char *unusable; /* why it cannot be read in place: "a symbolic link"; or NULL: a file */
};

/* Set the first three members and the others to 0. Free with bl_tar_reader_free. */
struct bl_tar_reader {
    const struct bl_input_file *file;
    int64_t bytes;    /* of the file */
    const char *path; /* for messages */
    int64_t at;       /* of the next header */
    int64_t from, to; /* bytes of the file in window */
    bool named;       /* an extended header has given the name of the next member: */
    struct bl_buffer name;
    int64_t size; /* and its size, or -1 */
    bool sparse;
    uint8_t window[BL_TAR_WINDOW];
};

/* Reads up to the next member that is no folder. *found: false at the end. BL_EDATA: damaged, or cut short: what e says
 * begins with where, and what came before is sound; BL_EFAIL: the system fails. */
int bl_tar_reader_next(struct bl_tar_reader *r, struct bl_tar_member *member, bool *found, struct bl_error *e);
void bl_tar_reader_free(struct bl_tar_reader *r);

/* --- members of tars ---------------------------------------------------------------------------------------------- */

/* The members of the tars that are inputs: their places, keys and extensions (base/archive.h). */

/* What follows the key: "mp4", "seg.npy". */
struct bl_extension {
    size_t text; /* offset in the texts of all members */
    int64_t members;
};

struct bl_tar_entry {
    size_t name; /* offset in the texts */
    int64_t begin, bytes;
    uint32_t key;       /* bytes of the name; 0: it has none */
    uint32_t extension; /* its number */
    size_t unusable;    /* offset in the texts: why it cannot be read; or 0 */
};

/* Begin with {0}. */
struct bl_tar_members {
    struct bl_buffer text; /* of names and extensions, each with a NUL */
    struct bl_tar_entry *entry;
    size_t entries, entry_capacity;
    struct bl_extension *extension;
    size_t extensions, extension_capacity;
    struct bl_hash by_text;
};

/* A tar whose members are wanted. */
struct bl_tar_source {
    const char *path;     /* to open */
    const char *shown;    /* its name, also for messages */
    const char *listings; /* the folder where tasks share what they have listed; or NULL */
};

/* The text of an extension. */
const char *bl_tar_members_extension(const struct bl_tar_members *m, size_t number);

/* Sets the members of a tar; m is empty. *fault: why not all of it can be used, of which the text stays empty
 * otherwise: it is damaged, or cannot be opened. BL_EUSAGE: its members have no common extensions; BL_EFAIL: the system
 * fails. BL_ECANCEL. */
int bl_tar_members_read(struct bl_tar_members *m, const struct bl_tar_source *source, const struct bl_cancel *cancel,
                        struct bl_error *fault, struct bl_error *e);

/* Appends all of the other's. BL_EUSAGE: together they have too many extensions. */
int bl_tar_members_append(struct bl_tar_members *m, const struct bl_tar_members *other, const char *shown,
                          struct bl_error *e);
void bl_tar_members_free(struct bl_tar_members *m);

/* --- listings of tars --------------------------------------------------------------------------------------------- */

/* The listing of a tar: what a walk over its headers found. The first of many tasks leaves it to the others, in
 * DIR/.bload/tar-0123456789abcdef, which is named by the checksum of the tar's path.
 *
 *   bload tar 1: BYTES SECONDS.NANOSECONDS PATH     size and modification time of the tar: another tar is listed again
 *   fault TEXT                                      why not all of it can be used; or an empty text
 *   BEGIN BYTES NAME                                a member
 *   BEGIN BYTES NAME WHY                            one that cannot be used; a tab comes before WHY
 *   ...
 *   end CHECKSUM                                    base/checksum.h
 */

/* Sets the members, and the fault if there is one, from the tar's listing. status: of the tar. False: there is no
 * listing of this very file, or it is damaged; then m is empty. */
bool bl_tar_listing_find(struct bl_tar_members *m, const struct bl_tar_source *source, const struct stat *status,
                         struct bl_error *fault);

/* Writes the listing and replaces an older one. status: of the tar before its headers were read. */
int bl_tar_listing_write(const struct bl_tar_members *m, const struct bl_tar_source *source, const struct stat *status,
                         const struct bl_error *fault, struct bl_error *e);

#endif
