/* Flat files of token ids: the option --token-file, the type of the ids, the header and the files beside them, and the
 * reading of ids.
 *
 * The type of the ids comes from the option, from the header of llm.c, or from a file beside the ids; two of them that
 * contradict each other are an error. A wrong type would give numbers that are ids, too, and a dataset of nonsense, so
 * the first ids are checked. Files beside the ids:
 *
 *     tokens.bin   tokens.idx                          Megatron: type, and the lengths of the sequences
 *     tokens.ds    tokens.ds.index tokens.ds.metadata  datatrove: ends of documents; "gpt2|2" and the number of tokens
 */
#include "kind/text/token_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/text.h"
#include "kind/input_stat.h"
#include "kind/npy.h"
#include "kind/text/npy_ids.h"
#include "kind/text/vocabulary.h"

#define SAMPLE_IDS 4096             /* ids at the beginning of a file that are checked for a wrong type */
#define SAMPLE_LEAST 32             /* ids; fewer of them show nothing */
#define SAMPLE_HIGH 31              /* the upper half of an id is at most that: BL_VOCABULARY_MAX has 21 bits */
#define METADATA_MAX 4096           /* bytes of a metadata file that are read */
#define LLMC_HEADER ((int64_t)1024) /* bytes: 256 whole numbers of 32 bits */

/* --- option ------------------------------------------------------------------------------------------------------- */

/* The names of types in the option, with bytes, sign and byte order. */
static const struct {
    const char *name;
    struct bl_id_number type;
} types[] = {{"u8", {1, false, false}},  {"u16", {2, false, false}}, {"u32", {4, false, false}},
             {"u64", {8, false, false}}, {"i8", {1, true, false}},   {"i16", {2, true, false}},
             {"i32", {4, true, false}},  {"i64", {8, true, false}}};

#define TYPES (sizeof types / sizeof *types)

/* Returns the name of the type as the option has it; "" where it is none. */
static const char *type_name(const struct bl_id_number *type)
{
    const char *name = "";
    for (size_t i = 0; i < TYPES; i++) {
        if (types[i].type.size == type->size && types[i].type.is_signed == type->is_signed)
            name = types[i].name;
    }
    return name;
}

/* Checks that a number of the type, and of the vocabulary, can be the mark. code: of the error if it cannot. */
static int spec_check_mark(const struct bl_token_spec *spec, const struct bl_id_number *type, int code,
                           struct bl_error *e)
{
    /* The largest number of the type that is an id: ids have 31 bits. A type of no bytes is not known yet. */
    unsigned bits = (unsigned)type->size * 8 - type->is_signed;
    int64_t max = !type->size || bits >= 31 ? INT32_MAX : ((int64_t)1 << bits) - 1;
    const char *name = spec->mark_begins ? "bos" : "eos";
    if (spec->mark > max)
        return bl_error_set(e, code, "%s=%" PRId64 " is no id of %s, which ends at %" PRId64, name, spec->mark,
                            type_name(type), max);
    if (spec->vocabulary && spec->mark >= spec->vocabulary)
        return bl_error_set(e, code, "%s=%" PRId64 " is no id of vocab=%" PRId64, name, spec->mark, spec->vocabulary);
    return BL_OK;
}

/* Parses "NAME=VALUE" of size bytes; false: it is none. */
static bool spec_parse_item(const char *item, size_t size, struct bl_token_spec *spec)
{
    const char *equals = memchr(item, '=', size);
    if (!equals && size == 9 && memcmp(item, "sequences", size) == 0)
        return spec->sequences = true;
    if (!equals)
        return size == 4 && memcmp(item, "auto", size) == 0;
    size_t name = (size_t)(equals - item), rest = size - name - 1;
    const char *value = equals + 1;
    bool is_dtype = name == 5 && memcmp(item, "dtype", name) == 0;
    for (size_t i = 0; i < TYPES && is_dtype; i++) {
        if (strlen(types[i].name) == rest && memcmp(types[i].name, value, rest) == 0) {
            spec->type = types[i].type;
            return true;
        }
    }
    if (name == 5 && memcmp(item, "vocab", name) == 0)
        return bl_text_to_int(value, rest, 1, (int64_t)INT32_MAX + 1, &spec->vocabulary);
    if (name != 3 || spec->mark >= 0 || (memcmp(item, "eos", name) != 0 && memcmp(item, "bos", name) != 0))
        return false;
    spec->mark_begins = *item == 'b';
    return bl_text_to_int(value, rest, 0, INT32_MAX, &spec->mark);
}

/* The type may stay open until a file is opened; then the mark is checked again. */
int bl_token_spec_parse(const char *text, struct bl_token_spec *spec, struct bl_error *e)
{
    /* "auto" sets nothing. */
    *spec = (struct bl_token_spec){.mark = -1};
    for (const char *item = text;;) {
        size_t size = strcspn(item, ",");
        if (!spec_parse_item(item, size, spec))
            return bl_error_set(e, BL_EUSAGE,
                                "--token-file expects auto, or some of dtype=u8|u16|u32|u64|i8|i16|i32|i64, eos=ID or "
                                "bos=ID, vocab=N and sequences, with commas between, not \"%s\"",
                                text);
        if (!item[size])
            break;
        item += size + 1;
    }
    int code = spec_check_mark(spec, &spec->type, BL_EUSAGE, e);
    if (code)
        bl_error_prefix(e, "--token-file");
    return code;
}

/* --- opening ---------------------------------------------------------------------------------------------------- */

/* Files that may lie beside one with ids: Megatron's index, datatrove's index and metadata. */
#define BESIDES 3

/* Sets the paths of the files that may lie beside the one at path: path with another ending, or NULL where its name
 * does not end so. The caller frees all of them, also after an error. */
static int beside_paths(const char *path, char *beside[BESIDES], struct bl_error *e)
{
    static const char *const names[BESIDES][2] = {{".bin", ".idx"}, {".ds", ".ds.index"}, {".ds", ".ds.metadata"}};
    for (int i = 0; i < BESIDES; i++) {
        struct bl_buffer text = {0};
        if (!bl_path_has_suffix(path, names[i][0]))
            continue;
        bl_buffer_append(&text, path, strlen(path) - strlen(names[i][0]));
        bl_buffer_text(&text, names[i][1]);
        int code = bl_buffer_check(&text, e);
        if (code) {
            bl_buffer_free(&text);
            return code;
        }
        beside[i] = text.data;
    }
    return BL_OK;
}

/* Sets the type that the file itself or one beside it has. BL_EDATA: the option has another one. who: the source of the
 * type, for the message. sign_is_known: it has a sign or not, and that counts. */
static int file_set_type(struct bl_token_file *t, const struct bl_token_spec *spec, struct bl_id_number type,
                         bool sign_is_known, const char *who, struct bl_error *e)
{
    /* size 0: the option leaves the type open. */
    const struct bl_id_number *wanted = &spec->type;
    bool same = wanted->size == type.size && (wanted->is_signed == type.is_signed || !sign_is_known);
    if (wanted->size && !same)
        return bl_error_set(e, BL_EDATA, "dtype=%s, and %s says %s", type_name(wanted), who, type_name(&type));
    t->type = wanted->size ? *wanted : type;
    return BL_OK;
}

/* Reads the text beside a .ds file: "TOKENIZER|BYTES", where older ones have no BYTES, and how many tokens there are.
 * Without BYTES, the size of the file divided by the number of tokens gives them. */
static int file_read_metadata(struct bl_token_file *t, const struct bl_token_spec *spec, const char *path,
                              struct bl_error *e)
{
    char text[METADATA_MAX];
    struct bl_input_file file;
    const char *line = NULL, *count_line = NULL, *bar;
    size_t at = 0, size = 0, count_size = 0;
    int64_t bytes = 0, count = -1, all = t->end;
    if (bl_input_file_open(&file, path) != 0)
        return bl_opener_fail("cannot open", path, bl_errno_is_system(errno) ? BL_EFAIL : BL_EDATA, e);
    ssize_t got = bl_input_file_pread(&file, text, sizeof text, 0);
    bl_input_file_close(&file);
    if (got < 0)
        return bl_opener_fail("cannot read", path, BL_EFAIL, e);
    if (bl_text_next_line(text, (size_t)got, &at, &line, &size) &&
        bl_text_next_line(text, (size_t)got, &at, &count_line, &count_size) &&
        !bl_text_to_int(count_line, count_size, 0, INT64_MAX, &count))
        count = -1;
    bar = line ? memrchr(line, '|', size) : NULL;
    if (bar && !bl_text_to_int(bar + 1, size - (size_t)(bar + 1 - line), 1, 8, &bytes))
        bytes = 0;
    /* The size of the file gives the bytes of a token where line 1 does not. */
    bytes = !bytes && count > 0 && all % count == 0 ? all / count : bytes;
    if (bytes != 2 && bytes != 4)
        return bl_error_set(e, BL_EDATA, "%s: no \"NAME|2\" or \"NAME|4\", the bytes of a token, on line 1", path);
    if (count < 0 || all % bytes || all / bytes != count)
        return bl_error_set(
            e, BL_EDATA, "%s: line 2 says %" PRId64 " tokens of %" PRId64 " bytes, and the file has %" PRId64 " bytes",
            path, count, bytes, all);
    return file_set_type(t, spec, (struct bl_id_number){(size_t)bytes, false, false}, false, path, e);
}

/* Finds the index of the documents, and the files beside the ids that have their type. t owns the path of the index. */
static int file_find_beside(struct bl_token_file *t, const struct bl_token_spec *spec, const char *path,
                            struct bl_error *e)
{
    char *beside[BESIDES] = {NULL};
    bool there[BESIDES] = {false};
    struct bl_id_number type;
    struct stat status;
    int code = beside_paths(path, beside, e);
    for (int i = 0; i < BESIDES && !code; i++) {
        there[i] = beside[i] && bl_input_file_stat(beside[i], &status) == 0;
        /* A file that does not exist is no error. */
        if (beside[i] && !there[i] && errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG)
            code = bl_opener_fail("cannot stat", beside[i], bl_errno_is_system(errno) ? BL_EFAIL : BL_EDATA, e);
    }
    if (!code && there[0]) {
        /* Megatron's index has the type with its sign, so it must equal that of the option. */
        code = bl_megatron_type(beside[0], &type, e);
        if (code == BL_EDATA)
            bl_error_prefix(e, "%s", beside[0]);
        if (!code)
            code = file_set_type(t, spec, type, true, beside[0], e);
    }
    if (!code && there[2])
        code = file_read_metadata(t, spec, beside[2], e);
    t->is_pair = there[0];
    /* The metadata are no index. */
    for (int i = 0; i < 2 && !code && !t->index; i++) {
        if (there[i]) {
            t->index = beside[i];
            beside[i] = NULL;
        }
    }
    for (int i = 0; i < BESIDES; i++)
        free(beside[i]);
    return code;
}

/* Returns number i of a header of numbers of 32 bits, little endian. */
static int32_t header_number(const uint8_t *head, size_t i)
{
    static const struct bl_id_number type = {4, true, false};
    return (int32_t)bl_id_number_read(&type, head + 4 * i);
}

/* Looks for a header: that of llm.c is read, that of NPY is another format. known: the magic numbers and versions of
 * llm.c's data for GPT-2 (16 bits) and Llama 3 (32 bits). */
static int token_file_read_header(struct bl_token_file *t, const struct bl_token_spec *spec, const char *path,
                                  struct bl_error *e)
{
    static const struct {
        int32_t magic, version;
        struct bl_id_number type;
    } known[] = {{20240520, 1, {2, false, false}}, {20240801, 7, {4, false, false}}};
    uint8_t head[12];
    /* A smaller file can have ids, but no header. */
    if (t->end < (int64_t)sizeof head)
        return BL_OK;
    BL_TRY(bl_input_file_get(&t->file, head, sizeof head, 0, path, e));
    if (memcmp(head, BL_NPY_MAGIC, BL_NPY_MAGIC_SIZE) == 0)
        return bl_error_set(e, BL_EDATA,
                            "byte 0: the header of an NPY file, which is read without --token-file (--kind text "
                            "--format npy)");
    /* A file of HellaSwag: ids of contexts and endings between numbers that are no ids. */
    if (header_number(head, 0) == 20240522 && header_number(head, 1) == 1)
        return bl_error_set(e, BL_EDATA, "byte 0: examples of an evaluation, as llm.c writes them, not ids alone");
    /* A magic number can also be two ids of 16 bits; the size of the header and the number of tokens make that
     * unlikely. */
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int32_t version = header_number(head, 1), count = header_number(head, 2);
        if (header_number(head, 0) != known[i].magic || t->end < LLMC_HEADER)
            continue;
        if (version != known[i].version)
            return bl_error_set(e, BL_EDATA, "byte 4: a header of llm.c, version %d, which must be %d", version,
                                known[i].version);
        /* The ids follow the header, and the header has their number. */
        t->begin = LLMC_HEADER;
        BL_TRY(file_set_type(t, spec, known[i].type, true, "its header", e));
        if ((t->end - t->begin) / (int64_t)t->type.size != count)
            return bl_error_set(e, BL_EDATA,
                                "byte 8: a header of llm.c that says %d tokens, and %" PRId64 " bytes follow it", count,
                                t->end - t->begin);
    }
    return BL_OK;
}

/* Opens the file into t, which the caller closes, also after an error. */
static int file_open(struct bl_token_file *t, const struct bl_token_spec *spec, const char *path, struct bl_error *e)
{
    /* Files that cannot be read at an offset, and files without ids. */
    if (strcmp(path, "-") == 0)
        return bl_error_set(e, BL_EUSAGE, "--token-file: ids are read where they are, so name a file, not -");
    if (bl_path_has_suffix(path, ".gz") || bl_path_has_suffix(path, ".zst"))
        return bl_error_set(e, BL_EDATA, "ids are read where they are in the file: decompress it first");
    if (bl_path_has_suffix(path, ".idx") || bl_path_has_suffix(path, ".ds.index") ||
        bl_path_has_suffix(path, ".ds.metadata"))
        return bl_error_set(e, BL_EDATA, "it holds no ids, and the file that does is not beside it, or not named");
    if (bl_input_file_open(&t->file, path) != 0)
        return bl_opener_fail("cannot open", path, bl_errno_is_system(errno) ? BL_EFAIL : BL_EDATA, e);
    if (!S_ISREG(t->file.status.st_mode))
        return bl_error_set(e, BL_EDATA, "not a regular file");
    t->end = t->file.status.st_size;
    t->type = spec->type;
    BL_TRY(token_file_read_header(t, spec, path, e));
    BL_TRY(file_find_beside(t, spec, path, e));
    if (!t->type.size)
        return bl_error_set(e, BL_EUSAGE, "%s: nothing says the type of its ids: --token-file dtype=u16, or u32 ...",
                            path);
    /* A file that is cut off within an id is damaged, or has another type. */
    int64_t rest = (t->end - t->begin) % (int64_t)t->type.size;
    if (rest)
        return bl_error_set(e, BL_EDATA, "byte %" PRId64 ": %" PRId64 " bytes are left over, and an id of %s has %zu",
                            t->end - rest, rest, type_name(&t->type), t->type.size);
    return spec_check_mark(spec, &t->type, BL_EDATA, e);
}

/* All steps are in file_open, so that one place closes the file after an error. */
int bl_token_file_open(struct bl_token_file *t, const struct bl_token_spec *spec, const char *path, struct bl_error *e)
{
    *t = (struct bl_token_file){.file.fd = -1};
    int code = file_open(t, spec, path, e);
    if (code)
        bl_token_file_close(t);
    return code;
}

void bl_token_file_close(struct bl_token_file *t)
{
    bl_input_file_close(&t->file);
    free(t->index);
    t->index = NULL;
}

/* The parts are chained by the hash, so that the stamp depends on which of the files there are. */
uint64_t bl_token_file_stamp(const char *path)
{
    char *beside[BESIDES] = {NULL};
    struct bl_error ignored = {0};
    struct stat status;
    uint64_t stamp = 0;
    /* Out of memory gives another stamp, and the file is counted again. */
    (void)beside_paths(path, beside, &ignored);
    for (int i = 0; i < BESIDES; i++) {
        if (beside[i] && bl_input_file_stat(beside[i], &status) == 0) {
            /* The hash so far is a part of the next one. */
            const int64_t parts[] = {(int64_t)stamp, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
            stamp = XXH3_64bits(parts, sizeof parts);
        }
        free(beside[i]);
    }
    return stamp;
}

/* Files that do not exist count as 0. */
int bl_token_file_content(const char *path, uint64_t *content, struct bl_error *e)
{
    char *beside[BESIDES] = {NULL};
    uint64_t parts[BESIDES] = {0};
    int code = beside_paths(path, beside, e);
    for (int i = 0; i < BESIDES; i++) {
        if (!code && beside[i])
            code = bl_content_hash_file(beside[i], &parts[i], e);
        free(beside[i]);
    }
    *content = bl_content_hash(parts, sizeof parts);
    return code;
}

/* --- ids -------------------------------------------------------------------------------------------------------- */

/* Two bytes without sign are by far the most common type: the compiler vectorizes a loop without calls. */
bool bl_token_ids(const struct bl_id_number *type, const uint8_t *raw, size_t count, int64_t max, int32_t *id)
{
    /* The least id shows after the loop whether one was -1: a loop without branches can be vectorized. */
    int32_t least = 0;
    if (type->size == 2 && !type->is_signed) {
        for (size_t i = 0; i < count; i++) {
            int32_t value = raw[2 * i] | raw[2 * i + 1] << 8;
            id[i] = value <= max ? value : -1;
            least = id[i] < least ? id[i] : least;
        }
        return least == 0;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t value = bl_id_number_read(type, raw + i * type->size);
        id[i] = value >= 0 && value <= max ? (int32_t)value : -1;
        least = id[i] < least ? id[i] : least;
    }
    return least == 0;
}

/* A buffer of 8 KiB on the stack holds the raw numbers, since each thread has only a small window for ids. */
int bl_token_file_read(const struct bl_token_file *t, const char *path, int64_t at, int64_t count, int32_t *out,
                       struct bl_error *e)
{
    uint8_t raw[8192];
    /* ids of one read */
    int64_t step = (int64_t)(sizeof raw / t->type.size);
    for (int64_t done = 0; done < count; done += step) {
        size_t ids = (size_t)(count - done < step ? count - done : step);
        int64_t from = at + done * (int64_t)t->type.size;
        BL_TRY(bl_input_file_get(&t->file, raw, ids * t->type.size, from, path, e));
        if (!bl_token_ids(&t->type, raw, ids, INT32_MAX, out + done))
            return bl_error_set(e, BL_EFAIL, "%s changed since the scan: no ids at byte %" PRId64, path, from);
    }
    return BL_OK;
}

/* If wider numbers are read as narrow ones, every second number is their upper half, which is small: 50256 of u32 is
 * 50256, 0 of u16. If two narrow numbers are read as one, most results are too large for an id of any tokenizer. */
int bl_token_file_check_type(const struct bl_token_file *t, const char *path, struct bl_error *e)
{
    const struct bl_id_number *type = &t->type;
    int64_t ids = (t->end - t->begin) / (int64_t)type->size, count = ids < SAMPLE_IDS ? ids : SAMPLE_IDS;
    int64_t high[2] = {0, 0}, large = 0; /* by whether the place is odd */
    uint8_t raw[SAMPLE_IDS * 8];
    if (count < SAMPLE_LEAST || (type->size != 2 && type->size != 4))
        return BL_OK;
    BL_TRY(bl_input_file_get(&t->file, raw, (size_t)count * type->size, t->begin, path, e));
    for (int64_t i = 0; i < count; i++) {
        int64_t value = bl_id_number_read(type, raw + i * (int64_t)type->size);
        high[i & 1] += value < 0 || value > SAMPLE_HIGH;
        large += value < 0 || value > BL_ID_MAX;
    }
    /* The even numbers must be large as well: a file of small ids alone is right. */
    if (!high[1] && high[0] > count / 4)
        return bl_error_set(e, BL_EDATA,
                            "byte %" PRId64 ": every second number from here on is below %d, as if ids of %s were read "
                            "as %s",
                            t->begin + (int64_t)type->size, SAMPLE_HIGH + 1, type->size == 2 ? "u32" : "u64",
                            type_name(type));
    if (type->size == 4 && large > count / 2)
        return bl_error_set(e, BL_EDATA,
                            "byte %" PRId64 ": most numbers from here on are above %d, as if ids of u16 were read as "
                            "%s",
                            t->begin, BL_ID_MAX, type_name(type));
    return BL_OK;
}
