/* Headers of NPY files, and where the elements of arrays belong. */
#include "kind/npy.h"
#include "kind/array/array.h"
#include "unit.h"

struct bytes {
    const uint8_t *data;
    size_t size, at;
};

static int take(void *context, void *data, size_t size, struct bl_error *e)
{
    struct bytes *bytes = context;
    if (size > bytes->size - bytes->at)
        return bl_error_set(e, BL_EDATA, "ends early");
    memcpy(data, bytes->data + bytes->at, size);
    bytes->at += size;
    return BL_OK;
}

/* Parses a header of version 1 with this dictionary. */
static int parse(struct bl_npy *npy, const char *dictionary, struct bl_error *e)
{
    uint8_t data[2048] = "\x93NUMPY\x01";
    size_t size = strlen(dictionary);
    data[8] = (uint8_t)size;
    data[9] = (uint8_t)(size >> 8);
    memcpy(data + 10, dictionary, size);
    struct bytes bytes = {data, 10 + size, 0};
    *e = (struct bl_error){0};
    int code = bl_npy_read(npy, take, &bytes, e);
    ck_assert_int_eq(npy->begin, code ? npy->begin : (int64_t)bytes.at);
    return code;
}

UNIT_TEST(every_real_type)
{
    static const struct {
        const char *name;
        enum bl_dtype dtype;
        bool big_endian;
    } types[] = {{"|b1", BL_BOOL, false}, {"|i1", BL_I8, false},  {"|u1", BL_U8, false}, {"<i2", BL_I16, false},
                 {">u2", BL_U16, true},   {"=i4", BL_I32, false}, {">u4", BL_U32, true}, {"<i8", BL_I64, false},
                 {">u8", BL_U64, true},   {"<f2", BL_F16, false}, {">f4", BL_F32, true}, {"<f8", BL_F64, false},
                 {">i1", BL_I8, false}};
    struct bl_npy npy;
    for (size_t i = 0; i < COUNT(types); i++) {
        char text[100];
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': True, 'shape': (2, 3)}", types[i].name);
        ck_assert_int_eq(parse(&npy, text, &e), BL_OK);
        ck_assert_int_eq(npy.dtype, types[i].dtype);
        ck_assert_int_eq(npy.big_endian, types[i].big_endian);
        ck_assert_int_eq(npy.bytes, 6 * (int64_t)bl_dtype_size(npy.dtype));
        ck_assert(npy.fortran && npy.rank == 2 && npy.shape[0] == 2 && npy.shape[1] == 3);
    }
}

UNIT_TEST(a_dictionary_as_python_may_write_it)
{
    struct bl_npy npy;
    ck_assert_int_eq(parse(&npy, "{\"shape\":(5L,),'fortran_order' : False,\n'descr':\"<f4\" , } \n", &e), BL_OK);
    ck_assert(npy.rank == 1 && npy.shape[0] == 5 && npy.bytes == 20 && !npy.fortran);
    ck_assert_int_eq(parse(&npy, "{'descr': '<f4', 'fortran_order': False, 'shape': ()}", &e), BL_OK);
    ck_assert(npy.rank == 0 && npy.bytes == 4);
    ck_assert_msg(parse(&npy, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4611686018427387904, 9)}", &e) ==
                      BL_OK,
                  "%s", e.text);
    ck_assert_int_eq(npy.bytes, 0);
}

UNIT_TEST(what_is_none)
{
    static const char *const none[] = {
        "",
        "{",
        "{}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f3', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f16', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,)}", /* 2^63 bytes */
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
    };
    struct bl_npy npy;
    for (size_t i = 0; i < COUNT(none); i++) {
        ck_assert_msg(parse(&npy, none[i], &e) == BL_EDATA, "%s", none[i]);
        ck_assert(e.text[0]);
    }
}

UNIT_TEST(versions_and_ends)
{
    static const char dictionary[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}";
    struct bl_npy npy;
    for (int version = 0; version < 5; version++) {
        uint8_t data[200] = "\x93NUMPY";
        size_t size = sizeof dictionary - 1, head = version > 1 ? 12 : 10;
        data[6] = (uint8_t)version;
        data[8] = (uint8_t)size;
        memcpy(data + head, dictionary, size);
        for (size_t end = 0; end <= head + size; end++) {
            struct bytes bytes = {data, end, 0};
            bl_error_clear(&e);
            int wanted = end == head + size && version >= 1 && version <= 3 ? BL_OK : BL_EDATA;
            ck_assert_int_eq(bl_npy_read(&npy, take, &bytes, &e), wanted);
        }
    }
    uint8_t large[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 0xff, 0xff, 0xff, 0xff};
    struct bytes bytes = {large, sizeof large, 0};
    bl_error_clear(&e);
    FAILS(bl_npy_read(&npy, take, &bytes, &e), BL_EDATA, "an NPY header of 4294967295 bytes");
}

/* --- layout ----------------------------------------------------------------------------------------------------- */

/* An array of bytes 0, 1, 2... in the file's order. */
static void make(struct bl_array_layout *layout, bool fortran, int64_t axis, bool squeeze, int rank,
                 const int64_t *shape)
{
    struct bl_npy npy = {.dtype = BL_U8, .fortran = fortran, .rank = rank, .bytes = 1};
    struct bl_array_config config = {.time_axis = axis, .squeeze = squeeze};
    struct bl_error e = {0};
    for (int i = 0; i < rank; i++)
        npy.bytes *= npy.shape[i] = shape[i];
    ck_assert_msg(bl_array_layout_make(layout, &npy, &config, &e) == BL_OK, "%s", e.text);
}

UNIT_TEST(which_are_straight)
{
    struct bl_array_layout l;
    make(&l, false, 0, false, 3, (int64_t[]){5, 2, 3});
    ck_assert(l.contiguous && l.steps == 5 && l.rank == 2 && l.shape[0] == 2 && l.shape[1] == 3 && l.elements == 6);
    make(&l, false, 1, true, 4, (int64_t[]){1, 5, 1, 3});
    ck_assert(l.contiguous && l.steps == 5 && l.rank == 1 && l.shape[0] == 3);
    make(&l, false, 1, false, 3, (int64_t[]){1, 5, 3});
    ck_assert(l.contiguous && l.rank == 2 && l.shape[0] == 1 && l.shape[1] == 3);
    make(&l, true, 0, false, 1, (int64_t[]){5});
    ck_assert(l.contiguous && l.rank == 0 && l.elements == 1);
    make(&l, true, -1, false, 2, (int64_t[]){3, 5}); /* Fortran order, the last axis lies furthest apart */
    ck_assert(l.contiguous && l.steps == 5 && l.shape[0] == 3);
    make(&l, true, 0, false, 2, (int64_t[]){5, 3});
    ck_assert(!l.contiguous && l.outer == 3 && l.inner == 1);
    make(&l, false, 1, false, 3, (int64_t[]){2, 5, 3});
    ck_assert(!l.contiguous && l.outer == 2 && l.inner == 3);
    make(&l, true, 2, false, 3, (int64_t[]){2, 3, 5}); /* a step's own order is another */
    ck_assert(!l.contiguous && l.outer == 1 && l.inner == 6);
}

/* Every element of every array of up to four axes goes where it belongs, however the file is cut into tiles. */
static void check_scatter(bool fortran, int axis, int rank, const int64_t *shape, int64_t tile)
{
    struct bl_array_layout l;
    uint8_t file[64], out[64];
    make(&l, fortran, axis, false, rank, shape);
    int64_t total = l.steps * l.elements;
    for (int64_t i = 0; i < total; i++)
        file[i] = (uint8_t)i;
    memset(out, 255, sizeof out);
    for (int64_t at = 0; at < total; at += tile)
        bl_array_scatter(&l, at, total - at < tile ? total - at : tile, 0, 1, file + at, out);
    for (int64_t i = 0; i < total; i++) { /* out in C order: the step, then the other axes */
        int64_t index[4], rest = i, place = 0;
        for (int a = rank - 1; a >= 0; a--) {
            if (a == axis)
                continue;
            index[a] = rest % shape[a];
            rest /= shape[a];
        }
        index[axis] = rest;
        for (int k = 0; k < rank; k++) {
            int a = fortran ? rank - 1 - k : k;
            place = place * shape[a] + index[a];
        }
        ck_assert_int_eq(out[i], place);
    }
}

UNIT_TEST(every_element_has_its_place)
{
    static const int64_t shapes[][4] = {{2, 3, 4, 2}, {3, 1, 2, 5}, {4, 5, 1, 1}, {1, 1, 1, 7}};
    for (size_t s = 0; s < COUNT(shapes); s++) {
        for (int rank = 1; rank <= 4; rank++) {
            for (int axis = 0; axis < rank; axis++) {
                for (int64_t tile = 1; tile <= 64; tile += 3) {
                    check_scatter(false, axis, rank, shapes[s], tile);
                    check_scatter(true, axis, rank, shapes[s], tile);
                }
            }
        }
    }
}

UNIT_TEST(what_no_field_can_be)
{
    static const struct {
        struct bl_npy npy;
        int64_t axis;
        const char *message;
    } none[] = {
        {{.dtype = BL_U8, .bytes = 1}, 0, "a single number"},
        {{.dtype = BL_U8, .rank = 2, .shape = {3, 4}, .bytes = 12},
         2,
         "no such axis (--time-axis): its shape is (3, 4)"},
        {{.dtype = BL_U8, .rank = 2, .shape = {3, 4}, .bytes = 12},
         -3,
         "no such axis (--time-axis): its shape is (3, 4)"},
        {{.dtype = BL_U8, .rank = 1, .shape = {0}}, 0, "no steps: its shape is (0,)"},
        {{.dtype = BL_U8, .rank = 2, .shape = {1, 0}}, 0, "steps without elements: its shape is (1, 0)"},
        {{.dtype = BL_U8, .rank = 1, .shape = {2147483648}, .bytes = 2147483648}, 0, "too long"},
        {{.dtype = BL_U8, .rank = 2, .shape = {1, 1l << 50}, .bytes = 1l << 50}, 0, "steps too large"},
        {{.dtype = BL_U8, .rank = 6, .shape = {1, 1, 1, 1, 1, 1}, .bytes = 1}, 0, "more than 4 axes beside time"},
    };
    for (size_t i = 0; i < COUNT(none); i++) {
        struct bl_array_config config = {.time_axis = none[i].axis};
        struct bl_array_layout l;
        bl_error_clear(&e);
        ck_assert_int_eq(bl_array_layout_make(&l, &none[i].npy, &config, &e), BL_EDATA);
        ck_assert_msg(strncmp(e.text, none[i].message, strlen(none[i].message)) == 0, "%s", e.text);
    }
}
