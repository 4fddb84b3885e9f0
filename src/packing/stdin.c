/* Standard input of bload pack. It can be read only once, so its checksum is part of the dataset's identity: DIR/.bload
 * stores it from the scan on, and the manifest's configuration later. A run that resumes, or finds a dataset, reads all
 * of standard input to compare it. */
#include <inttypes.h>
#include <string.h>

#include "base/fs.h"
#include "base/instream.h"
#include "base/io.h"
#include "base/output.h"
#include "packing/internal.h"
#include "run/table_checksum.h"
#include "base/checksum.h"

#define NAME "standard input" /* name of the configuration line */
#define SUM_MAX ((size_t)64)

bool bl_packing_reads_stdin(const struct bl_packing *p)
{
    return !p->request.sequences && bl_input_set_has_stdin(p->request.inputs);
}

/* Hashes all of standard input. */
static int stdin_digest(const struct bl_packing *p, char digest[BL_DIGEST_SIZE], struct bl_error *e)
{
    struct bl_instream *stream = NULL;
    uint64_t sum = 0;
    int code = bl_instream_open(&stream, "-", 0, p->env.cancel, e);
    if (!code)
        code = bl_instream_drain(stream, &sum, e);
    if (stream)
        bl_instream_close(stream);
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
                        "%s of another configuration: " NAME " is \"%s\" there, not \"%s\" (use the same input, or "
                        "another -o)",
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

/* A scan without a finished shard is repeated: the input may have changed, and can be read only once. */
static int stdin_discard_scan(const struct bl_packing *p, struct bl_error *e)
{
    int code = bl_table_checksum_forget(&p->state, e);
    return code ? code : bl_fs_remove(p->state.sequences, e);
}

static int stdin_compare(struct bl_packing *p, const char *path, struct bl_error *e)
{
    struct bl_buffer scanned = {0}, what = {0};
    char digest[BL_DIGEST_SIZE];
    bl_buffer_printf(&what, "%s holds an unfinished dataset", p->request.output);
    bl_buffer_text(&scanned, "");
    int code = what.failed || scanned.failed ? bl_error_memory(e) : BL_OK;
    if (code)
        goto out;
    code = bl_io_read_file(path, SUM_MAX, &scanned, e);
    if (code)
        goto out;
    code = stdin_digest(p, digest, e);
    if (code)
        goto out;
    if (strcmp(scanned.data, digest) != 0)
        code = stdin_mismatch(what.data, scanned.data, digest, e);
    else
        code = bl_packing_add_stdin(p, digest, e);
out:
    bl_buffer_free(&scanned);
    bl_buffer_free(&what);
    return code;
}

int bl_packing_check_stdin(struct bl_packing *p, struct bl_error *e)
{
    struct bl_buffer path = {0};
    bool begun = true; /* with tasks, another one may have begun */
    int code = p->request.task.set ? BL_OK : bl_state_has_shards(&p->state, &begun, e);
    if (code)
        return code;
    if (!begun)
        return stdin_discard_scan(p, e);
    code = bl_state_path(&p->state, BL_STATE_STDIN, &path, e);
    bool exists = false;
    if (!code)
        code = bl_fs_exists(path.data, &exists, e);
    if (!code && exists)
        code = stdin_compare(p, path.data, e);
    bl_buffer_free(&path);
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
    if (code || strcmp(there->data, digest) == 0)
        return code;
    return stdin_mismatch(what, there->data, digest, e);
}
