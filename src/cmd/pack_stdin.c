/* Standard input of bload pack. It cannot be looked at again, so its checksum is part of what the dataset is: kept in
 * DIR/.bload from the scan on, and in the manifest's configuration. Who goes on, or finds a dataset, reads all of
 * standard input for it. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/instream.h"
#include "base/io.h"
#include "base/output.h"
#include "cmd/packing.h"
#include "run/table_checksum.h"
#include "store/checksum.h"

#define NAME "standard input" /* of the line of the configuration */
#define SUM_MAX ((size_t)64)

bool bl_packing_reads_stdin(const struct bl_packing *p)
{
    bool reads = false;
    for (size_t i = 0; i < p->inputs.files.count && !p->sequences_path; i++)
        reads |= strcmp(p->inputs.files.file[i].path, "-") == 0;
    return reads;
}

/* Reads all of standard input. */
static int stdin_digest(const struct bl_packing *p, char digest[BL_DIGEST_SIZE], struct bl_error *e)
{
    struct bl_instream *feed = NULL;
    uint64_t sum = 0;
    int code = bl_instream_open(&feed, "-", 0, p->env.cancel, e);
    if (!code)
        code = bl_instream_drain(feed, &sum, e);
    if (feed)
        bl_instream_close(feed);
    bl_checksum_format(sum, digest);
    return code;
}

int bl_packing_add_stdin(struct bl_packing *p, const char *digest, struct bl_error *e)
{
    if (digest)
        bl_buffer_printf(&p->identity, NAME ": %s\n", digest);
    return bl_buffer_check(&p->identity, e);
}

static int stdin_mismatch(const char *what, const char *there, const char *digest, struct bl_error *e)
{
    return bl_error_set(e, BL_EUSAGE,
                        "%s of another configuration: " NAME " is \"%s\" there, not \"%s\" (give it the same bytes, or "
                        "choose another directory)",
                        what, there, digest);
}

int bl_packing_keep_stdin(struct bl_packing *p, uint64_t sum, struct bl_error *e)
{
    struct bl_buffer path = {0};
    char digest[BL_DIGEST_SIZE];
    if (!sum)
        return BL_OK;
    bl_checksum_format(sum, digest);
    int code = bl_state_path(&p->state, BL_STATE_STDIN, &path, e);
    if (!code)
        code = bl_output_replace(path.data, digest, strlen(digest), e);
    bl_buffer_free(&path);
    return code ? code : bl_packing_add_stdin(p, digest, e);
}

/* A scan without a finished shard is done again: what comes may be something else, and can be read but once. */
static int stdin_discard_scan(const struct bl_packing *p, struct bl_error *e)
{
    int code = bl_table_checksum_forget(&p->state, e);
    if (code)
        return code;
    if (unlink(p->state.sequences) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot remove %s", p->state.sequences);
    return code;
}

int bl_packing_check_stdin(struct bl_packing *p, struct bl_error *e)
{
    struct bl_buffer path = {0}, there = {0};
    char digest[BL_DIGEST_SIZE];
    int begun = p->task.set ? 1 : bl_state_has_shards(&p->state, e);
    if (begun <= 0)
        return begun < 0 ? begun : stdin_discard_scan(p, e);
    int code = bl_state_path(&p->state, BL_STATE_STDIN, &path, e);
    bool known = !code && access(path.data, F_OK) == 0;
    if (known)
        code = bl_io_read_file(path.data, SUM_MAX, &there, e);
    if (known && !code)
        code = stdin_digest(p, digest, e);
    bl_buffer_clear(&path);
    bl_buffer_printf(&path, "%s holds an unfinished dataset", p->output);
    if (known && !code)
        code = bl_buffer_check(&path, e);
    if (known && !code && (!there.data || strcmp(there.data, digest) != 0))
        code = stdin_mismatch(path.data, there.data ? there.data : "", digest, e);
    if (known && !code)
        code = bl_packing_add_stdin(p, digest, e);
    bl_buffer_free(&path);
    bl_buffer_free(&there);
    return code;
}

void bl_packing_extract_stdin(struct bl_buffer *lines, struct bl_buffer *digest)
{
    char *line = lines->data ? strstr(lines->data, "\n" NAME ": ") : NULL;
    if (!line)
        return;
    char *value = line + strlen("\n" NAME ": "), *end = strchrnul(value, '\n');
    bl_buffer_append(digest, value, (size_t)(end - value));
    size_t tail = lines->size - (size_t)(end - lines->data);
    memmove(line, end, tail + 1);
    lines->size = (size_t)(line - lines->data) + tail;
}

int bl_packing_compare_stdin(const struct bl_packing *p, const struct bl_buffer *there, const char *what,
                             struct bl_error *e)
{
    char digest[BL_DIGEST_SIZE];
    if (!there->size)
        return BL_OK;
    int code = stdin_digest(p, digest, e);
    return code || strcmp(there->data, digest) == 0 ? code : stdin_mismatch(what, there->data, digest, e);
}
