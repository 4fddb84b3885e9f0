/* manifest.json: what a dataset is, written last. Without it there is no dataset. */
#ifndef BL_MANIFEST_H
#define BL_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/checksum.h"
#include "store/format.h"
#include "store/plan_info.h"

#define BL_MANIFEST_FILE "manifest.json"
#define BL_MANIFEST_SIZE_MAX ((size_t)64 << 20)

/* A file of the dataset that is no shard. */
struct bl_manifest_file {
    char *name; /* below the dataset's directory */
    int64_t bytes;
    uint64_t checksum;
};

/* A name and a text: an option and its value, a library and its version. */
struct bl_manifest_pair {
    char *name, *value;
};

struct bl_manifest_pairs {
    size_t count;
    struct bl_manifest_pair *pair;
};

/* All text in it is its own, as it is: only in the file are bytes that are no UTF-8 written as in tables. Fill plain
 * members directly, the rest by the functions below; free with bl_manifest_free. */
struct bl_manifest {
    char *tool; /* its version */
    char *simd; /* level */
    struct bl_plan_info plan_info;
    int64_t skipped;              /* inputs of no use */
    int64_t failed, failed_steps; /* sequences that failed while packing, and the steps planned for them */
    struct bl_format format;
    char *made[BL_FIELDS_MAX]; /* how each field was made, in words */
    struct bl_manifest_pairs libraries;
    struct bl_manifest_pairs configuration;
    size_t files;
    struct bl_manifest_file *file;
    char digest[BL_DIGEST_SIZE]; /* its own checksum, with these digits as zeros: set by write and read */
};

/* Copies text into *member, one of the texts above. */
int bl_manifest_text(char **member, const char *text, struct bl_error *e);
int bl_manifest_pair(struct bl_manifest_pairs *pairs, const char *name, const char *value, struct bl_error *e);

/* Takes "name: value" lines, as bl_options_identity gives them, into configuration. */
int bl_manifest_configure(struct bl_manifest *manifest, const char *lines, struct bl_error *e);

/* The value of an option in the configuration; "" where it has none. */
const char *bl_manifest_option(const struct bl_manifest *manifest, const char *name);

/* The alignment that the starts of every plan follow; 0 where none was asked for, so that they tell themselves. */
int64_t bl_manifest_align(const struct bl_manifest *manifest);

/* Reads DIR/name through and notes its size and checksum. */
int bl_manifest_add_file(struct bl_manifest *manifest, const char *dir, const char *name, struct bl_error *e);

/* Appends a file of that name, without size and checksum. NULL: out of memory. */
struct bl_manifest_file *bl_manifest_append_file(struct bl_manifest *manifest, const char *name, struct bl_error *e);

/* Appends it as the file's text, and sets its digest. */
int bl_manifest_format(struct bl_manifest *manifest, struct bl_buffer *text, struct bl_error *e);

/* Writes DIR/manifest.json, by way of a temporary name. */
int bl_manifest_write(struct bl_manifest *manifest, const char *dir, struct bl_error *e);

/* Reads it and checks its checksum, every type and range. BL_EUSAGE: the directory holds none, so it is no finished
 * dataset; BL_EDATA: it is damaged, or of a later format. On error *manifest is empty. */
int bl_manifest_read(struct bl_manifest *manifest, const char *dir, struct bl_error *e);

/* The same, but a wrong checksum is no error as long as the rest can be read: *sound tells whether it is right. */
int bl_manifest_inspect(struct bl_manifest *manifest, const char *dir, bool *sound, struct bl_error *e);

/* The same as bl_manifest_inspect, from memory. */
int bl_manifest_parse(struct bl_manifest *manifest, const char *text, size_t size, bool *sound, struct bl_error *e);

void bl_manifest_free(struct bl_manifest *manifest);

#endif
