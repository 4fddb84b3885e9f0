/* A parser of NPY headers, which are Python dictionaries in a fixed layout.
 *
 * numpy evaluates the header with ast.literal_eval. This parser accepts only what numpy's format allows: three keys in
 * any order, each once. The bytes of a small file begin like this (version 1; version 2 and 3 have 4 bytes of length):
 *
 *     93 4e 55 4d 50 59  01 00  76 00  {'descr': '<f4', 'fortran_order': False, 'shape': (10, 3), }   \n
 *     magic              1.0    118    the dictionary, then spaces up to a multiple of 64 bytes */
#include "kind/npy.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

#define HEADER_MAX ((size_t)10000) /* bytes; numpy's limit, too, so that every file that numpy loads fits */

/* The position in the dictionary. The text ends with a NUL, at which every test below fails, so that none runs past it.
 */
struct npy_cursor {
    const char *at;
};

static int npy_malformed(struct bl_error *e)
{
    return bl_error_set(e, BL_EDATA, "malformed NPY header");
}

static void cursor_skip_space(struct npy_cursor *c)
{
    c->at += strspn(c->at, " \t\n\r");
}

static bool cursor_is_at(struct npy_cursor *c, char wanted)
{
    cursor_skip_space(c);
    return *c->at == wanted;
}

/* Skips spaces, and then the character if it is next. Returns whether it was. */
static bool cursor_accept(struct npy_cursor *c, char wanted)
{
    /* found is 0 or 1, the number of bytes to skip. */
    bool found = cursor_is_at(c, wanted);
    c->at += found;
    return found;
}

static bool cursor_accept_word(struct npy_cursor *c, const char *word)
{
    cursor_skip_space(c);
    if (strncmp(c->at, word, strlen(word)) != 0)
        return false;
    c->at += strlen(word);
    return true;
}

/* Skips a text in quotes and sets *text to its content. Returns false if there is none. Escapes are refused: no name in
 * a header needs any. */
static bool cursor_accept_text(struct npy_cursor *c, const char **text, size_t *size)
{
    cursor_skip_space(c);
    char quote = *c->at;
    if (quote != '\'' && quote != '"')
        return false;
    *text = c->at + 1;
    *size = strcspn(*text, quote == '"' ? "\"\\" : "'\\");
    /* At the end of the text this stands on the NUL, and the result is false. */
    c->at = *text + *size + 1;
    return (*text)[*size] == quote;
}

/* Parses a type: "<f4" is the byte order, the kind, and the bytes of an element. Single bytes have the order "|". */
static int npy_parse_dtype(struct bl_npy *npy, const char *text, size_t size, struct bl_error *e)
{
    /* Types of numpy that a tensor of a shard can have. */
    static const struct {
        const char *name;
        enum bl_dtype dtype;
    } types[] = {{"b1", BL_BOOL}, {"i1", BL_I8},  {"u1", BL_U8},  {"i2", BL_I16}, {"u2", BL_U16}, {"i4", BL_I32},
                 {"u4", BL_U32},  {"i8", BL_I64}, {"u8", BL_U64}, {"f2", BL_F16}, {"f4", BL_F32}, {"f8", BL_F64}};
    for (size_t i = 0; i < sizeof types / sizeof *types && size == 3 && strchr("<>|=", *text); i++) {
        if (memcmp(types[i].name, text + 1, 2) != 0)
            continue;
        npy->dtype = types[i].dtype;
        npy->big_endian = *text == '>' && bl_dtype_size(npy->dtype) > 1;
        return BL_OK;
    }
    /* Unpickling executes code from the file, so that objects are refused whatever they contain. */
    if (size >= 2 && text[1] == 'O')
        return bl_error_set(e, BL_EDATA, "an array of Python objects: they are pickled, and never read");
    if (size >= 2 && text[1] == 'c')
        return bl_error_set(e, BL_EDATA, "an array of complex numbers ('%.*s'): save two real ones", (int)size, text);
    return bl_error_set(e, BL_EDATA, "an array of '%.*s': only real numbers can be used", size < 40 ? (int)size : 40,
                        text);
}

/* Parses a shape such as (3, 4), (3,) or (). Python 2 wrote (3L,). */
static int npy_parse_shape(struct bl_npy *npy, struct npy_cursor *c, struct bl_error *e)
{
    npy->rank = 0;
    if (!cursor_accept(c, '('))
        return npy_malformed(e);
    while (!cursor_accept(c, ')')) {
        cursor_skip_space(c);
        size_t digits = strspn(c->at, "0123456789");
        if (!digits || npy->rank == BL_NPY_RANK_MAX)
            return npy_malformed(e);
        /* A number that does not fit an int64_t is a fault of its own: the text is well-formed. */
        if (!bl_text_to_int(c->at, digits, 0, INT64_MAX, &npy->shape[npy->rank++]))
            return bl_error_set(e, BL_EDATA, "invalid shape: an axis of %.*s", (int)digits, c->at);
        c->at += digits;
        c->at += *c->at == 'L';
        if (!cursor_accept(c, ',') && !cursor_is_at(c, ')'))
            return npy_malformed(e);
    }
    return BL_OK;
}

/* Parses one entry of the dictionary. seen has a bit for each key; a repeated or an unknown key is malformed. */
static int npy_parse_entry(struct bl_npy *npy, struct npy_cursor *c, unsigned *seen, struct bl_error *e)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    const char *text;
    size_t size, k = 0;
    if (!cursor_accept_text(c, &text, &size) || !cursor_accept(c, ':'))
        return npy_malformed(e);
    while (k < 3 && (strlen(keys[k]) != size || memcmp(keys[k], text, size) != 0))
        k++;
    if (k == 3 || *seen & 1u << k)
        return npy_malformed(e);
    *seen |= 1u << k;
    if (k == 2)
        return npy_parse_shape(npy, c, e);
    if (k == 1) {
        npy->fortran = cursor_accept_word(c, "True");
        return npy->fortran || cursor_accept_word(c, "False") ? BL_OK : npy_malformed(e);
    }
    /* A structured type is a list: [('x', '<f4'), ('y', '<f4')]. */
    if (cursor_accept(c, '['))
        return bl_error_set(e, BL_EDATA, "a structured array: save each of its fields by itself");
    return cursor_accept_text(c, &text, &size) ? npy_parse_dtype(npy, text, size, e) : npy_malformed(e);
}

/* Parses the header, a dictionary of Python: {'descr': '<f4', 'fortran_order': False, 'shape': (10, 3), }. */
static int npy_parse(struct bl_npy *npy, const char *header, struct bl_error *e)
{
    struct npy_cursor c = {header};
    unsigned seen = 0;
    if (!cursor_accept(&c, '{'))
        return npy_malformed(e);
    while (!cursor_accept(&c, '}')) {
        BL_TRY(npy_parse_entry(npy, &c, &seen, e));
        if (!cursor_accept(&c, ',') && !cursor_is_at(&c, '}'))
            return npy_malformed(e);
    }
    /* All three keys are required, and nothing follows the dictionary. */
    return cursor_is_at(&c, '\0') && seen == 7 ? BL_OK : npy_malformed(e);
}

/* Sets the bytes of the elements. A length of 0 counts first: (0, 2^62, 2^62) has no bytes, and does not overflow. */
static int npy_compute_bytes(struct bl_npy *npy, struct bl_error *e)
{
    npy->bytes = 0;
    for (int i = 0; i < npy->rank; i++) {
        if (npy->shape[i] == 0)
            return BL_OK;
    }
    npy->bytes = (int64_t)bl_dtype_size(npy->dtype);
    for (int i = 0; i < npy->rank; i++) {
        if (__builtin_mul_overflow(npy->bytes, npy->shape[i], &npy->bytes))
            return bl_error_set(e, BL_EDATA, "invalid shape: more than 2^63 bytes");
    }
    return BL_OK;
}

int bl_npy_read(struct bl_npy *npy, bl_npy_source *source, void *context, struct bl_error *e)
{
    uint8_t head[12] = {0};
    char header[HEADER_MAX + 1];
    *npy = (struct bl_npy){0};
    /* The shortest header has 10 bytes: magic, version, and a length of 16 bits. */
    BL_TRY(source(context, head, 10, e));
    if (memcmp(head, BL_NPY_MAGIC, BL_NPY_MAGIC_SIZE) != 0)
        return bl_error_set(e, BL_EDATA, "not an NPY file");
    if (head[6] < 1 || head[6] > 3)
        return bl_error_set(e, BL_EDATA, "unknown NPY version %d.%d", head[6], head[7]);
    if (head[6] > 1)
        BL_TRY(source(context, head + 10, 2, e));
    /* Version 1 has two bytes of length; the other two of head are still 0. */
    size_t size = (size_t)head[8] | (size_t)head[9] << 8 | (size_t)head[10] << 16 | (size_t)head[11] << 24;
    if (size > HEADER_MAX)
        return bl_error_set(e, BL_EDATA, "an NPY header of %zu bytes", size);
    BL_TRY(source(context, header, size, e));
    header[size] = '\0';
    npy->begin = (int64_t)size + (head[6] > 1 ? 12 : 10);
    BL_TRY(npy_parse(npy, header, e));
    return npy_compute_bytes(npy, e);
}
