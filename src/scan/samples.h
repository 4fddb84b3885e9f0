/* Samples: lists the members of tars, keeps the listings for other tasks, and replaces the tars among the inputs by
 * their samples. */
#ifndef BL_SAMPLES_H
#define BL_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/option.h"
#include "scan/files.h"
#include "scan/tar_reader.h"

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

/* Appends all of the other's. BL_EUSAGE: together they have too many extensions. */
int bl_tar_members_append(struct bl_tar_members *m, const struct bl_tar_members *other, const char *shown,
                          struct bl_error *e);
void bl_tar_members_free(struct bl_tar_members *m);

/* --- listings of tars --------------------------------------------------------------------------------------------- */

/* The listing of a tar: what a walk over its headers found. The first of many tasks leaves it to the others, in
 * DIR/.bload/tar-0123456789abcdef, which is named by the checksum of the tar's path.
 *
 *   bload tar 1: BYTES SECONDS.NANOSECONDS PATH     size and modification time of the tar: another one is listed anew
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

/* Writes it, in the place of any that is there. status: of the tar before its headers were read. */
int bl_tar_listing_write(const struct bl_tar_members *m, const struct bl_tar_source *source, const struct stat *status,
                         const struct bl_error *fault, struct bl_error *e);

/* --- samples ------------------------------------------------------------------------------------------------------ */

/* Samples: the members of a tar that share a key, as in the WebDataset format. One member of each is the sequence, an
 * input of its own, which is read in place. */

/* What tasks share while they list tars: one lists a tar, and the others read its listing. */
struct bl_sharing {
    const char *(*open)(void *context); /* called once, where there are tars: the folder; NULL: it cannot be shared */
    void *context;
    int64_t task, tasks; /* one of them */
};

struct bl_samples_options {
    const char *member;         /* extensions of the sequences, with commas between; NULL: by kind */
    const struct bl_kind *kind; /* of the sequences; NULL: by extension */
    const struct bl_texts
        *kept;        /* extensions of members that others will ask for, in lists, too: they go into files->members */
    const char *base; /* directory that relative paths count from, or NULL */
    int workers;      /* threads that read headers */
    const struct bl_sharing *sharing; /* of tasks; or NULL */
    struct bl_cancel *cancel;
};

/* Replaces each tar among the files by its samples, whose ids are those of the tar, without its extension, and the key.
 * What cannot be used becomes a file with a fault, for the scan to skip: a sample without a sequence, a link, a second
 * member of the same name, what is left of a tar that is damaged.
 *
 * BL_EUSAGE: which member is the sequence is not known (samples have several that can be, or none has any). BL_EFAIL:
 * the system fails. BL_ECANCEL. */
int bl_samples_expand(struct bl_files *files, const struct bl_samples_options *options, struct bl_error *e);

#endif
