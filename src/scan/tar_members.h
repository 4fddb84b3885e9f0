/* The members of the tars that are inputs: their places, keys and extensions (base/member.h). */
#ifndef BL_TAR_MEMBERS_H
#define BL_TAR_MEMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/hash.h"
#include "scan/tar_reader.h"

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
    const char *listings; /* the folder where tasks share what they have listed (scan/tar_listing.h); or NULL */
};

/* Sets the members of a tar; m is empty. *fault: why not all of it can be used, of which the text stays empty
 * otherwise: it is damaged, or cannot be opened. BL_EUSAGE: its members have no common extensions; BL_EFAIL: the system
 * fails. BL_ECANCEL. */
int bl_tar_members_read(struct bl_tar_members *m, const struct bl_tar_source *source, const struct bl_cancel *cancel,
                        struct bl_error *fault, struct bl_error *e);

/* Adds a member. BL_EUSAGE as above. */
int bl_tar_members_add(struct bl_tar_members *m, const struct bl_tar_member *member, const char *shown,
                       struct bl_error *e);

/* The text of an extension. */
const char *bl_tar_members_extension(const struct bl_tar_members *m, size_t number);

/* Appends all of the other's. BL_EUSAGE as above. */
int bl_tar_members_append(struct bl_tar_members *m, const struct bl_tar_members *other, const char *shown,
                          struct bl_error *e);
void bl_tar_members_free(struct bl_tar_members *m);

#endif
