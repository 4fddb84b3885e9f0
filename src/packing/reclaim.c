/* A finished dataset that lost its manifest: adopts its shards, by the files beside them, and finishes it again.
 *
 * shards.tsv and the index contain what the records of the shards said, except for failures and notes. So shards with
 * such sequences are made again. The first of the adoptable shards is made again too, since only this proves that the
 * same options and versions made them. Every shard that is made must match shards.tsv. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/text.h"
#include "packing/internal.h"
#include "run/shards.h"
#include "store/dataset.h"
#include "store/folders.h"
#include "store/index.h"
#include "store/row_reader.h"
#include "store/shard_writer.h"

struct reclaiming {
    struct bl_packing *p;
    struct bl_pack_params *pack;
    struct bl_index index;
    uint8_t *odd;  /* [rows of the table] packing added a failure or a note */
    uint8_t *take; /* [shards] it can be adopted */
    int64_t count;
};

/* Marks rows that differ between the finished table and the scan's. */
static int reclaim_compare_tables(struct reclaiming *r, const struct bl_sequences *finished, struct bl_error *e)
{
    const struct bl_sequences *scanned = &r->p->table;
    struct bl_row_reader a = {0}, b = {0};
    int code = BL_OK;
    for (size_t i = 0; i < scanned->count && !code; i++) {
        code = bl_row_reader_read(scanned, i, &a, e);
        if (!code)
            code = bl_row_reader_read(finished, i, &b, e);
        if (code)
            break;
        if (strcmp(a.row.id, b.row.id) != 0 || a.row.length != b.row.length)
            code = bl_error_set(e, BL_EFAIL, "%s/" BL_SEQUENCES_FILE " has %s where %s is now: the inputs changed",
                                r->p->request.output, b.row.id, a.row.id);
        r->odd[i] =
            b.row.status != BL_ROW_DROPPED && (a.row.status != b.row.status || strcmp(a.row.reason, b.row.reason) != 0);
    }
    bl_row_reader_free(&a);
    bl_row_reader_free(&b);
    return code;
}

static int reclaim_read_table(struct reclaiming *r, struct bl_error *e)
{
    const char *dir = r->p->request.output;
    struct bl_sequences finished;
    int code = bl_sequences_open_dataset(&finished, dir, NULL, e);
    if (code)
        goto out;
    if (finished.count != r->p->table.count)
        code = bl_error_set(e, BL_EFAIL, "%s/" BL_SEQUENCES_FILE " has %zu inputs, and there are %zu now: they changed",
                            dir, finished.count, r->p->table.count);
    else
        code = reclaim_compare_tables(r, &finished, e);
out:
    bl_sequences_close(&finished);
    return code;
}

/* Checks that the index holds the same plan. */
static int reclaim_read_index(struct reclaiming *r, struct bl_error *e)
{
    const struct bl_format *format = &r->p->format;
    char digest[BL_DIGEST_SIZE];
    int code = bl_index_open(&r->index, r->p->request.output, format->blocks, format->fields.count, e);
    if (code)
        return code;
    code = bl_index_plan_digest(&r->index, format->T, digest, e);
    if (code)
        return code;
    if (strcmp(digest, format->plan_digest) != 0)
        return bl_error_set(e, BL_EUSAGE, "%s holds shards of another plan than these inputs and options give",
                            r->p->request.output);
    return BL_OK;
}

static bool reclaim_shard_differs(const struct reclaiming *r, int64_t shard)
{
    const struct bl_plan *plan = &r->p->plan;
    int64_t block = bl_format_first_block(&r->p->format, shard), odd = 0;
    int64_t end = plan->block_ptr[block + bl_format_blocks_of(&r->p->format, shard)];
    for (int64_t p = plan->block_ptr[block]; p < end; p++)
        odd += r->odd[plan->sequence[p]];
    return odd > 0;
}

/* Chooses shards without a record that have their old size and no marked rows. */
static int reclaim_choose(struct reclaiming *r, struct bl_error *e)
{
    const struct bl_pack_params *pack = r->pack;
    int code = BL_OK;
    for (int64_t i = pack->shard_begin; i < pack->shard_end && !code; i++) {
        struct bl_shard_record record = {0};
        struct bl_buffer path = {0};
        struct stat status;
        bool found = false;
        code = bl_shard_find(pack->format, pack->dir, i, &record, &found, e);
        bl_shard_record_free(&record);
        bl_buffer_printf(&path, "%s/%s", pack->dir, r->p->missing.row[i].file);
        code = code ? code : bl_buffer_check(&path, e);
        r->take[i] = !code && !found && stat(path.data, &status) == 0 && status.st_size == r->p->missing.row[i].bytes &&
                     !reclaim_shard_differs(r, i);
        r->count += r->take[i];
        bl_buffer_free(&path);
    }
    return code;
}

/* Writes the shard's record again. */
static int reclaim_shard(struct reclaiming *r, int64_t shard, struct bl_error *e)
{
    const struct bl_format *format = r->pack->format;
    const struct bl_shard_row *row = &r->p->missing.row[shard];
    int64_t fields = format->fields.count;
    struct bl_shard_record record = {.shard = shard,
                                     .first_block = row->first_block,
                                     .blocks = row->blocks,
                                     .bytes = row->bytes,
                                     .checksum = row->checksum};
    record.block_checksum = calloc((size_t)(row->blocks * fields), sizeof *record.block_checksum);
    record.user_data = calloc(1, 1);
    int code = record.block_checksum && record.user_data ? BL_OK : bl_error_memory(e);
    if (code)
        goto out;
    code = bl_index_read(&r->index, BL_INDEX_BLOCK_CHECKSUM, row->first_block * fields, row->blocks * fields,
                         record.block_checksum, e);
    if (code)
        goto out;
    code = bl_shard_record_write(&record, format, r->pack->dir, e);
out:
    bl_shard_record_free(&record);
    return code;
}

static int reclaim_all(struct reclaiming *r, struct bl_error *e)
{
    struct bl_pack_params first = *r->pack;
    while (!r->take[first.shard_begin])
        first.shard_begin++;
    first.shard_end = first.shard_begin + 1;
    int code = bl_shards_write(&first, e);
    for (int64_t i = first.shard_end; i < r->pack->shard_end && !code; i++)
        code = r->take[i] ? reclaim_shard(r, i, e) : BL_OK;
    return code;
}

/* Finds the shards that can be adopted. Without the table and the index there are none, but all can be made again. */
static int reclaim_find(struct reclaiming *r, struct bl_error *e)
{
    const char *dir = r->p->request.output;
    bool table, index;
    int code = bl_fs_find(dir, BL_SEQUENCES_FILE, &table, e);
    if (code)
        return code;
    code = bl_fs_find(dir, BL_INDEX_FILE, &index, e);
    if (code || !table || !index)
        return code;
    code = reclaim_read_table(r, e);
    if (code)
        return code;
    code = reclaim_read_index(r, e);
    return code ? code : reclaim_choose(r, e);
}

int bl_packing_reclaim(struct bl_packing *p, struct bl_pack_params *pack, struct bl_error *e)
{
    struct reclaiming r = {.p = p, .pack = pack, .index.fd = -1};
    char a[BL_PLURAL_SIZE];
    bool found = false;
    int code = p->repairing ? BL_OK : bl_fs_find(p->request.output, BL_SHARDS_FILE, &found, e);
    if (code || !found)
        return code;
    code = bl_shard_table_read(p->request.output, &p->format, &p->missing.row, e);
    if (code)
        return code;
    pack->missing = &p->missing;
    r.odd = calloc(p->table.count + 1, 1);
    r.take = calloc((size_t)bl_format_shards(&p->format), 1);
    code = r.odd && r.take ? reclaim_find(&r, e) : bl_error_memory(e);
    if (code || !r.count)
        goto out;
    bl_packing_message(p, false, "%s lost its manifest: %s kept, once one of them was made again with the same bytes",
                       p->request.output, bl_text_plural(a, r.count, "shard is|shards are"));
    code = reclaim_all(&r, e);
out:
    bl_index_close(&r.index);
    free(r.odd);
    free(r.take);
    return code;
}
