/* Makes rows of token ids that files store as numbers: NPY arrays, and the pairs of files that Megatron writes.
 *
 * The ids are copied as they are, so no tokenizer is needed. The files have up to billions of ids: rows are read one
 * after the other, and only a part of an index is in memory. */
#ifndef BL_NPY_IDS_H
#define BL_NPY_IDS_H

#include "base/input_file.h"
#include "kind/text/item.h"

/* --- stored ids --------------------------------------------------------------------------------------------------- */

/* Token ids are integers of 1 to 8 bytes in files (struct bl_id_number). */

/* Returns the number stored at `at`, which has type->size readable bytes and any alignment. A number above INT64_MAX
 * cannot be an id and becomes INT64_MAX. */
int64_t bl_id_number_read(const struct bl_id_number *type, const uint8_t *at);

#define BL_ID_TABLE_WINDOW ((int64_t)4096) /* numbers of a table that are read at once: at most 32 KiB */

/* A table of numbers in a file, such as an index of documents. A window of it is in memory, since tables are mostly
 * read in order. The user sets type, at and count; the other members start as 0. */
struct bl_id_table {
    struct bl_id_number type;
    int64_t at, count;   /* the byte of the file at which the table begins; how many numbers it has */
    int64_t first, held; /* the window: the index of its first number, and how many it has */
    uint8_t window[8 * BL_ID_TABLE_WINDOW];
};

/* Sets *number to number i of the table, from 0. path: of the file, for messages. BL_EFAIL: the file cannot be read. */
int bl_id_table_read(struct bl_id_table *table, const struct bl_input_file *file, const char *path, int64_t i,
                     int64_t *number, struct bl_error *e);

/* --- NPY arrays --------------------------------------------------------------------------------------------------- */

/* The ids of an array file, such as np.save("ids.npy", np.arange(10, dtype=np.uint16)). */

/* Emits one row for a 1-D array, and one for each row of a 2-D array; context is passed to take. The array may have
 * integers of any size, and the file may be compressed. Codes as bl_instream_read; BL_EDATA: the file is no such
 * array. */
int bl_npy_ids_count(struct bl_item *item, const char *path, const struct bl_cancel *cancel, bl_item_emit *take,
                     void *context, struct bl_error *e);

/* --- Megatron's .idx and .bin files ------------------------------------------------------------------------------- */

/* Token ids in pairs of files: data.idx has the lengths and places of the sequences, data.bin their ids. */

/* Emits one row for each sequence of the .idx file at path, from the .bin file beside it, or with --megatron document
 * one row for each document, whose sequences are joined. The offset of a row is the place in the .idx file of the
 * sequence's length, or of the document's entry. BL_EDATA: the files are damaged; the row that was begun last has the
 * offset. */
int bl_megatron_count(struct bl_item *item, const char *path, const struct bl_cancel *cancel, bl_item_emit *take,
                      void *context, struct bl_error *e);

/* Returns a hash of the size and time of the .bin file that belongs to the .idx file at path; 0: there is none. */
uint64_t bl_megatron_stamp(const char *path);

/* Sets *content to the content hash of that .bin file (kind/input_stat.h). Leaves *content if path is no .idx file. */
int bl_megatron_content(const char *path, uint64_t *content, struct bl_error *e);

/* The places where the documents of an .idx file end in its .bin file. The sequences must follow each other in the .bin
 * file without gaps, because the .bin file is read as one flat file of ids. */
struct bl_megatron_documents;

/* Opens the .idx file at path, which must outlive *documents. bin_bytes: size of the .bin file. sequences: each
 * sequence is a document. BL_EDATA: the file is no such index, or the documents do not follow each other. Close
 * *documents also after an error; NULL is accepted then. */
int bl_megatron_documents_open(struct bl_megatron_documents **documents, const char *path, int64_t bin_bytes,
                               bool sequences, const struct bl_cancel *cancel, struct bl_error *e);
/* Returns the number of documents. */
int64_t bl_megatron_documents_count(const struct bl_megatron_documents *documents);
/* Sets *end to the byte of the .bin file at which a document ends; document: from 0 to the count - 1. */
int bl_megatron_documents_end(struct bl_megatron_documents *documents, int64_t document, int64_t *end,
                              struct bl_error *e);
void bl_megatron_documents_close(struct bl_megatron_documents *documents);

/* Sets *type to the type of the ids, by the header of the .idx file at path. BL_EDATA: it is no .idx file. */
int bl_megatron_type(const char *path, struct bl_id_number *type, struct bl_error *e);

#endif
