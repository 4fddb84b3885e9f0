/* Token ids that are stored as numbers, as rows: those of NPY arrays, and of the pairs of files that Megatron
 * writes. */
#ifndef BL_NPY_IDS_H
#define BL_NPY_IDS_H

#include "kind/text/item.h"

/* --- stored ids --------------------------------------------------------------------------------------------------- */

/* Token ids as whole numbers of any size in files, and the rows that are made of them. */

/* Returns the number stored at `at`. A number above INT64_MAX cannot be an id and becomes INT64_MAX. */
int64_t bl_id_number_read(const struct bl_id_number *type, const uint8_t *at);

/* --- NPY arrays --------------------------------------------------------------------------------------------------- */

/* NPY arrays of token ids. */

/* One row for a 1-D array, one for each row of a 2-D array; whole numbers of any size, compressed or not. Codes as
 * bl_instream_read: BL_EDATA for a file that is not one. */
int bl_npy_ids_count(struct bl_item *item, const char *path, const struct bl_cancel *cancel, bl_item_emit *take,
                     void *context, struct bl_error *e);

/* --- Megatron's .idx and .bin files ------------------------------------------------------------------------------- */

/* Token ids in the pairs of .idx and .bin files that Megatron writes. */

/* One row for each sequence of the .idx file at path, from the .bin file beside it; or, as the options say, for each
 * document, whose sequences are joined. The offset of a row is that of the sequence's length in the .idx, or of the
 * document's entry. BL_EDATA: the files are damaged; the row that was begun last has the offset. */
int bl_megatron_count(struct bl_item *item, const char *path, const struct bl_cancel *cancel, bl_item_emit *take,
                      void *context, struct bl_error *e);

/* A hash of the size and time of the .bin file of the .idx file at path; 0: there is none. */
uint64_t bl_megatron_stamp(const char *path);

/* The same of its content (kind/input_stat.h). */
int bl_megatron_content(const char *path, uint64_t *content, struct bl_error *e);

/* Where each document of an .idx file ends in its .bin file. The sequences must follow each other in the .bin file
 * without gaps. */
struct bl_megatron_documents;

/* bin_bytes: of the .bin file. sequences: each is a document. BL_EDATA: it is not such a pair, or the documents do not
 * follow each other. path must outlive it. Close it also after an error; NULL is accepted then. */
int bl_megatron_documents_open(struct bl_megatron_documents **documents, const char *path, int64_t bin_bytes,
                               bool sequences, const struct bl_cancel *cancel, struct bl_error *e);
int64_t bl_megatron_documents_count(const struct bl_megatron_documents *documents);
int bl_megatron_documents_end(struct bl_megatron_documents *documents, int64_t document, int64_t *end,
                              struct bl_error *e);
void bl_megatron_documents_close(struct bl_megatron_documents *documents);

/* The type of the ids, by the header of the .idx file at path. BL_EDATA: it is none. */
int bl_megatron_type(const char *path, struct bl_id_number *type, struct bl_error *e);

#endif
