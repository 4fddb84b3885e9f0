/* manifest.json: the description of a dataset, or of a view, written last. A directory without it is neither. */
#ifndef BL_MANIFEST_H
#define BL_MANIFEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/error.h"
#include "store/format.h"
#include "store/plan_info.h"

/* --- sources of a view -------------------------------------------------------------------------------------------- */

/* A source of a view: a finished dataset of whose sequences the view's blocks are made.
 *
 * The manifest of a view lists its sources. A source is known by the checksums that its own manifest has of index,
 * sequences and shards: these decide every byte of its blocks, while plans of further epochs may come and go. */

enum bl_view_source_file {
    BL_VIEW_SOURCE_INDEX,
    BL_VIEW_SOURCE_SEQUENCES,
    BL_VIEW_SOURCE_SHARDS,
    BL_VIEW_SOURCE_FILES
};

struct bl_manifest;

struct bl_view_source {
    char *name;               /* unique among the sources of a view */
    char *path;               /* of its directory: relative to the directory of the view, or absolute */
    int64_t first_row, rows;  /* of the view's rows, these are those of its sequences.tsv */
    int64_t blocks;           /* that it stores */
    int64_t sequences, steps; /* of it in the plan */
    double share;             /* of all steps in the plan */
    double weight;            /* as given; 0: none was */
    uint64_t checksum[BL_VIEW_SOURCE_FILES];
};

/* The name of a file that has a checksum. */
const char *bl_view_source_file_name(enum bl_view_source_file file);

/* Sets blocks and checksums of a source by its manifest. BL_EDATA: the manifest does not list a file. */
int bl_view_source_identify(struct bl_view_source *source, const struct bl_manifest *manifest, struct bl_error *e);

/* Compares the dataset that was found at the source's path with the source. BL_EDATA names what differs. dir: where it
 * was found. */
int bl_view_source_compare(const struct bl_view_source *source, const struct bl_manifest *manifest, const char *dir,
                           struct bl_error *e);

/* The path of a dataset as a source of the view in `view`, a directory that exists: relative if both have a directory
 * in common below the root, else absolute. *path: to be freed. BL_EFAIL: one of them cannot be resolved. */
int bl_view_source_make_path(const char *view, const char *dir, char **path, struct bl_error *e);

/* The source that has a row, found in O(log n). rows are numbered on through the sources, of which there is at least
 * one. */
const struct bl_view_source *bl_view_source_of_row(const struct bl_view_source *source, size_t count, int64_t row);

/* The tables of sequences of the sources of the view in dir, to be freed with bl_path_free_all; NULL: out of memory. */
char **bl_view_source_tables(const struct bl_manifest *view, const char *dir);

/* --- manifest ----------------------------------------------------------------------------------------------------- */

#define BL_MANIFEST_FILE "manifest.json"
#define BL_MANIFEST_SIZE_MAX ((size_t)64 << 20)

/* A file of the dataset other than a shard. */
struct bl_manifest_file {
    char *name; /* relative to the dataset's directory */
    int64_t bytes;
    uint64_t checksum;
};

/* An option and its value, or a library and its version. */
struct bl_manifest_pair {
    char *name, *value;
};

struct bl_manifest_pairs {
    size_t count;
    struct bl_manifest_pair *pair;
};

/* What of texts has no trained step (bl_fields_have_mask): pieces, which are sequences or parts of them, and blocks.
 * The loss of such a block, a mean over no step, is NaN. */
struct bl_untrained {
    int64_t pieces, blocks;
    int64_t counted; /* blocks that were looked at */
};

/* Appends "2 sequences, or parts of them, have no trained token, ..." if there are any. */
void bl_untrained_describe(const struct bl_untrained *untrained, struct bl_buffer *out);

/* The manifest owns its strings, which are unescaped; only the file has bytes that are not UTF-8 escaped as in tables.
 * Set plain members directly, the rest by the functions below; free with bl_manifest_free. */
struct bl_manifest {
    char *tool; /* its version */
    char *simd; /* vector instructions that were used */
    struct bl_plan_info plan_info;
    int64_t skipped;                 /* inputs that were unusable */
    int64_t failed, failed_steps;    /* sequences that failed while packing, and the steps planned for them */
    struct bl_manifest_pairs counts; /* what the kind counted of its sequences; none: it counts nothing */
    struct bl_untrained untrained;   /* of a dataset; known if all blocks were looked at */
    struct bl_format format;
    char *made[BL_FIELDS_MAX]; /* how each field was made, as text */
    struct bl_manifest_pairs libraries;
    struct bl_manifest_pairs configuration;
    int64_t align; /* of all plans, as it was recorded; 0 if none was asked for: it follows from the starts then */
    size_t notes;  /* about the run, of no effect on the bytes of shards and tables */
    char **note;
    size_t sources; /* of a view; 0: a dataset, with shards of its own */
    struct bl_view_source *source;
    int64_t rows; /* of all sources */
    size_t files;
    struct bl_manifest_file *file;
    char digest[BL_DIGEST_SIZE]; /* its checksum, computed with these digits as zeros: set by write and read */
};

/* Copies text into *member, one of the strings above. */
int bl_manifest_text(char **member, const char *text, struct bl_error *e);
int bl_manifest_pair(struct bl_manifest_pairs *pairs, const char *name, const char *value, struct bl_error *e);

/* Adds lines of "name: value", as bl_options_identity writes them, to configuration. */
int bl_manifest_configure(struct bl_manifest *manifest, const char *lines, struct bl_error *e);

/* Adds a note. */
int bl_manifest_note(struct bl_manifest *manifest, const char *text, struct bl_error *e);

/* The value of an option in configuration; "" if missing. */
const char *bl_manifest_option(const struct bl_manifest *manifest, const char *name);

/* Sets the members that are values of options: align, and the format's pad_repeat. Done whenever configuration is. */
void bl_manifest_set_recorded(struct bl_manifest *manifest);

/* The rate in Hz of a field whose steps are samples of sound; 0: they are something else. */
int64_t bl_manifest_sample_rate(const struct bl_manifest *manifest, int field);

/* The samples of sound that each step of the field has, first of its shape; 1: its steps are no such pieces of sound.
 */
int64_t bl_manifest_step_samples(const struct bl_manifest *manifest, int field);

/* Whether it describes a view. */
bool bl_manifest_is_view(const struct bl_manifest *manifest);

/* Whether it describes a view whose sources have weights. */
bool bl_manifest_is_blend(const struct bl_manifest *manifest);

/* The fields that have checksums in the index: those of a dataset. */
int bl_manifest_index_fields(const struct bl_manifest *manifest);

/* Appends the paths of the sources: "../a, ../b". */
void bl_manifest_append_paths(const struct bl_manifest *manifest, struct bl_buffer *out);

/* Adds a source, all zero. NULL: out of memory. */
struct bl_view_source *bl_manifest_append_source(struct bl_manifest *manifest, struct bl_error *e);

/* Adds DIR/name with its size and checksum. */
int bl_manifest_add_file(struct bl_manifest *manifest, const char *dir, const char *name, struct bl_error *e);

/* Adds a file of that name, without size and checksum. NULL: out of memory. */
struct bl_manifest_file *bl_manifest_append_file(struct bl_manifest *manifest, const char *name, struct bl_error *e);

/* The listed file of that name, or NULL. */
struct bl_manifest_file *bl_manifest_find_file(const struct bl_manifest *manifest, const char *name);

/* A manifest as JSON, with zeros for the digits of its checksum. NULL: out of memory. */
json_t *bl_manifest_to_json(const struct bl_manifest *manifest);

/* Appends the text of the file, and sets digest. */
int bl_manifest_format(struct bl_manifest *manifest, struct bl_buffer *text, struct bl_error *e);

/* Writes DIR/manifest.json atomically. */
int bl_manifest_write(struct bl_manifest *manifest, const char *dir, struct bl_error *e);

/* Reads DIR/manifest.json and checks its checksum, every type and range. BL_EUSAGE: there is none, so that DIR is not a
 * finished dataset. BL_EDATA: damaged, or of a later format. On error *manifest is empty. */
int bl_manifest_read(struct bl_manifest *manifest, const char *dir, struct bl_error *e);

/* The same, but a wrong checksum is not an error if everything else can be read: *sound says whether it is right. */
int bl_manifest_inspect(struct bl_manifest *manifest, const char *dir, bool *sound, struct bl_error *e);

/* The same as bl_manifest_inspect, from memory. */
int bl_manifest_parse(struct bl_manifest *manifest, const char *text, size_t size, bool *sound, struct bl_error *e);

void bl_manifest_free(struct bl_manifest *manifest);

#endif
