#include "kind/text/megatron.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/io.h"
#include "base/path.h"
#include "kind/content.h"
#include "kind/text/id_numbers.h"

#define INDEX_CHUNK ((int64_t)4096) /* sequences of an .idx */

#define MEGATRON_HEAD 34 /* bytes: magic 9, version 8, dtype 1, sequences 8, documents 8 */

struct megatron {
    int idx, bin;
    char *bin_path;
    const char *path;
    int64_t idx_bytes, bin_bytes, sequences;
    struct bl_id_number type;
    uint8_t *data; /* of a sequence */
    size_t capacity;
};

static int64_t int64_read(const uint8_t *at)
{
    static const struct bl_id_number type = {8, true, false};
    return bl_id_number_read(&type, at);
}

/* The path of the .bin file, to be freed; NULL: out of memory. */
static char *megatron_bin_path(const char *path)
{
    char *bin = strdup(path);
    if (bin)
        memcpy(bin + strlen(bin) - 4, ".bin", 4);
    return bin;
}

uint64_t bl_megatron_stamp(const char *path)
{
    struct stat status;
    char *bin = bl_path_has_suffix(path, ".idx") ? megatron_bin_path(path) : NULL;
    bool there = bin && stat(bin, &status) == 0;
    free(bin);
    if (!there)
        return 0;
    const int64_t parts[] = {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    return XXH3_64bits(parts, sizeof parts);
}

/* Opens a regular file: beside an index anything may bear the name of its .bin file. */
static int megatron_open_file(const char *path, int *fd, struct stat *status, struct bl_error *e)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
    if (*fd < 0)
        return bl_error_errno(e, bl_errno_is_system(errno) ? BL_EFAIL : BL_EDATA, "cannot open %s", path);
    if (fstat(*fd, status) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    if (!S_ISREG(status->st_mode))
        return bl_error_set(e, BL_EDATA, "%s: not a regular file", path);
    return BL_OK;
}

int bl_megatron_content(const char *path, uint64_t *content, struct bl_error *e)
{
    char *bin = bl_path_has_suffix(path, ".idx") ? megatron_bin_path(path) : NULL;
    int code = bin ? bl_content_hash_file(bin, content, e) : BL_OK;
    free(bin);
    return code;
}

static int megatron_open(struct megatron *m, const char *path, struct bl_error *e)
{
    struct stat status = {0};
    if (!bl_path_has_suffix(path, ".idx"))
        return bl_error_set(e, BL_EDATA, "Megatron's data are named by their .idx file");
    m->path = path;
    m->bin_path = megatron_bin_path(path);
    if (!m->bin_path)
        return bl_error_memory(e);
    int code = megatron_open_file(path, &m->idx, &status, e);
    if (code)
        return code;
    m->idx_bytes = status.st_size;
    code = megatron_open_file(m->bin_path, &m->bin, &status, e);
    m->bin_bytes = status.st_size;
    return code;
}

static int megatron_read_head(struct megatron *m, struct bl_error *e)
{
    static const struct bl_id_number types[] = {
        [1] = {1, false, false}, [2] = {1, true, false}, [3] = {2, true, false},
        [4] = {4, true, false},  [5] = {8, true, false}, [8] = {2, false, false}};
    uint8_t head[MEGATRON_HEAD];
    if (m->idx_bytes < MEGATRON_HEAD)
        return bl_error_set(e, BL_EDATA, "not an .idx file of Megatron");
    int code = bl_io_pread(m->idx, head, sizeof head, 0, m->path, e);
    if (code)
        return code;
    if (memcmp(head, "MMIDIDX\0\0", 9) != 0 || int64_read(head + 9) != 1)
        return bl_error_set(e, BL_EDATA, "not an .idx file of Megatron, version 1");
    uint8_t type = head[17];
    if (type >= sizeof types / sizeof *types || !types[type].size)
        return bl_error_set(e, BL_EDATA, "values of type %d: token ids are whole numbers", type);
    m->type = types[type];
    m->sequences = int64_read(head + 18);
    int64_t documents = int64_read(head + 26), max = m->idx_bytes / 8;
    if (m->sequences < 0 || documents < 0 || m->sequences > max || documents > max ||
        MEGATRON_HEAD + 12 * m->sequences + 8 * documents != m->idx_bytes)
        return bl_error_set(e, BL_EDATA,
                            "%" PRId64 " bytes are not what %" PRId64 " sequences and %" PRId64 " documents take",
                            m->idx_bytes, m->sequences, documents);
    return BL_OK;
}

static int megatron_read_sequence(struct megatron *m, struct bl_item *item, int64_t length, int64_t at,
                                  struct bl_error *e)
{
    const struct bl_text_config *config = item->config;
    int64_t bytes = length * (int64_t)m->type.size;
    if (length < 0 || at < 0 || at > m->bin_bytes || bytes > m->bin_bytes - at)
        return bl_item_skip(item,
                            "%" PRId64 " tokens from byte %" PRId64 " are beyond the .bin file (%" PRId64 " bytes)",
                            length, at, m->bin_bytes);
    if (bytes > config->max_document)
        return bl_item_skip(item, "longer than %" PRId64 " bytes (--max-document)", config->max_document);
    if (!length)
        return bl_item_skip(item, "%s", BL_REASON_EMPTY);
    int code = BL_ARRAY_RESERVE(m->data, m->capacity, (size_t)bytes, e);
    if (code)
        return code;
    code = bl_io_pread(m->bin, m->data, (size_t)bytes, at, m->bin_path, e);
    if (code)
        return code;
    code = bl_item_add_marks(item, &config->prepared.begin, e);
    if (code)
        return code;
    code = bl_id_numbers_add(item, &m->type, m->data, (size_t)length, e);
    if (code)
        return code;
    return bl_id_numbers_end(item, e);
}

/* Reads count sequences from number `first` on: the index has a table of their lengths and one of their offsets. */
static int megatron_read_sequences(struct megatron *m, struct bl_item *item, int64_t first, int64_t count,
                                   bl_item_emit *emit, void *context, struct bl_error *e)
{
    static const struct bl_id_number length_type = {4, true, false};
    uint8_t lengths[4 * INDEX_CHUNK], offsets[8 * INDEX_CHUNK];
    int code = bl_io_pread(m->idx, lengths, (size_t)count * 4, MEGATRON_HEAD + 4 * first, m->path, e);
    if (code)
        return code;
    code = bl_io_pread(m->idx, offsets, (size_t)count * 8, MEGATRON_HEAD + 4 * m->sequences + 8 * first, m->path, e);
    if (code)
        return code;
    for (int64_t s = 0; s < count; s++) {
        bl_item_begin(item, MEGATRON_HEAD + 4 * (first + s)); /* not its offset in the .bin, which empty ones share */
        code = megatron_read_sequence(m, item, bl_id_number_read(&length_type, lengths + 4 * s),
                                      int64_read(offsets + 8 * s), e);
        if (!code)
            code = emit(context, item, e);
        if (code)
            return code;
    }
    return BL_OK;
}

int bl_megatron_count(struct bl_item *item, const char *path, const struct bl_cancel *cancel, bl_item_emit *emit,
                      void *context, struct bl_error *e)
{
    struct megatron m = {.idx = -1, .bin = -1};
    int code = megatron_open(&m, path, e);
    if (code)
        goto out;
    code = megatron_read_head(&m, e);
    if (code)
        goto out;
    for (int64_t first = 0; first < m.sequences && !code; first += INDEX_CHUNK) {
        int64_t count = m.sequences - first < INDEX_CHUNK ? m.sequences - first : INDEX_CHUNK;
        code = bl_cancelled(cancel) ? BL_ECANCEL : megatron_read_sequences(&m, item, first, count, emit, context, e);
    }
out:
    if (m.idx >= 0)
        close(m.idx);
    if (m.bin >= 0)
        close(m.bin);
    free(m.bin_path);
    free(m.data);
    return code;
}
