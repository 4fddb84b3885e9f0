/* Flat files of token ids (--token-file): nothing but the ids, as nanoGPT, OLMo, Megatron and datatrove write them,
 * perhaps behind the header of llm.c, and perhaps with an index of the documents in a file beside them.
 *
 * Such files are not copied to the spool, which holds the rows alone: a piece of a document is read from the file
 * itself, at its offset. No document is in memory as a whole. */
#ifndef BL_TOKEN_FILE_H
#define BL_TOKEN_FILE_H

#include "base/input_file.h"
#include "kind/list.h"
#include "kind/text/npy_ids.h"

/* Parses "auto" or "dtype=u16,eos=50256" and the like. BL_EUSAGE. */
int bl_token_spec_parse(const char *text, struct bl_token_spec *spec, struct bl_error *e);

/* An open file. It owns the descriptor and the path of the index. */
struct bl_token_file {
    struct bl_input_file file;
    struct bl_id_number type;
    int64_t begin, end; /* bytes: of the ids, without a header */
    char *index;        /* the path of the index of its documents, or NULL */
    bool is_pair;       /* the index is Megatron's; otherwise datatrove's */
};

/* Opens the file, and finds its type. BL_EDATA: it is not such a file, or contradicts a file beside it; of an index
 * only the header is read. BL_EUSAGE: nothing gives the type. */
int bl_token_file_open(struct bl_token_file *t, const struct bl_token_spec *spec, const char *path, struct bl_error *e);
void bl_token_file_close(struct bl_token_file *t);

/* Converts count stored numbers to ids. A number outside 0 to max becomes -1, and the function then returns false. */
bool bl_token_ids(const struct bl_id_number *type, const uint8_t *raw, size_t count, int64_t max, int32_t *id);

/* Guards against a wrong dtype. BL_EDATA: the first ids look as if they were stored in another type. */
int bl_token_file_check_type(const struct bl_token_file *t, const char *path, struct bl_error *e);

/* Reads count ids from byte `at` of the file on. BL_EFAIL: a number is no id any more, or the file ends before. */
int bl_token_file_read(const struct bl_token_file *t, const char *path, int64_t at, int64_t count, int32_t *out,
                       struct bl_error *e);

/* Sets *divisible if the documents that begin in one part of the file can be found without reading the rest. */
int bl_token_file_divisible(const struct bl_text_config *config, const char *path, bool *divisible, struct bl_error *e);

/* Emits a row for each document that begins in the chunk's part of this file. before: bytes as in bl_meter_report,
 * without those of this file. BL_EDATA: the file is unusable, and no row of it was emitted. */
int bl_token_file_count(struct bl_item *item, const struct bl_chunk *chunk, const char *path, int64_t before,
                        const struct bl_cancel *cancel, bl_item_emit *emit, void *context, struct bl_error *e);

/* Returns a hash of the sizes and times of the files beside the one at path; 0: there are none. */
uint64_t bl_token_file_stamp(const char *path);
/* Sets *content to a hash of the contents of these files (kind/input_stat.h). */
int bl_token_file_content(const char *path, uint64_t *content, struct bl_error *e);

#endif
