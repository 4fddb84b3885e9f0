#include "base/archive.h"
#include "unit.h"

#define NOTHING(bytes) ck_assert_ptr_null(bl_archive_detect(bytes, sizeof(bytes) - 1))
#define UNPACKS(bytes, what) ck_assert_pstr_eq(bl_archive_detect(bytes, sizeof(bytes) - 1), what ": unpack it first")
#define EXPORTS(bytes, what)                                                                                           \
    ck_assert_pstr_eq(bl_archive_detect(bytes, sizeof(bytes) - 1), what ": export what is in it first")

/* The first block of a tar file, as the oldest form has it: a name, numbers in octal, their sum. magic: what later ones
 * have besides. */
static void make_tar(char head[512], const char *name, const char *magic)
{
    unsigned sum = 0;
    memset(head, 0, 512);
    snprintf(head, 100, "%s", name);
    memcpy(head + 100, "0000644\0000001750\0000001750\00000000000017\00014703312345\0        0", 57);
    memcpy(head + 257, magic, strlen(magic));
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)head[i];
    snprintf(head + 148, 8, "%06o", sum);
}

UNIT_TEST(every_form_of_tar)
{
    static const char *const magics[] = {"", "ustar", "ustar  "};
    char head[512];
    for (int m = 0; m < 3; m++) {
        make_tar(head, "clips/a.mp4", magics[m]);
        ck_assert_str_eq(bl_archive_detect(head, sizeof head), "a tar archive: unpack it first");
        ck_assert_ptr_null(bl_archive_detect(head, sizeof head - 1));
        head[3]++;
        ck_assert_ptr_null(bl_archive_detect(head, sizeof head));
    }
    make_tar(head, "caf\xc3\xa9.mp4", "");
    ck_assert_ptr_nonnull(bl_archive_detect(head, sizeof head));
    memset(head, 0, sizeof head);
    ck_assert_ptr_null(bl_archive_detect(head, sizeof head));
    memset(head, ' ', sizeof head);
    ck_assert_ptr_null(bl_archive_detect(head, sizeof head));
}

UNIT_TEST(what_is_to_be_unpacked)
{
    static const char hex[] = "070701000010A8000081A4000003E8000003E8000000016563A1B200000A3C00000000000000000000000000"
                              "0000000000000000000006000000000a.mp4";
    static const char octal[] = "0707070000010000201006440017500017500000010000001450663506200000600000005074a.mp4";
    static const char old[] = "\xc7\x71\1\0\2\0\xa4\x81\xe8\3\xe8\3\1\0\0\0\x63\x65\0\0\6\0\0\0\x3c\x0a"
                              "a.mp4\0....";
    UNPACKS("PK\3\4\x14\0\0\0", "a zip archive");
    UNPACKS("PK\5\6\0\0\0\0", "a zip archive");
    UNPACKS("7z\xbc\xaf\x27\x1c\0\4", "a 7z archive");
    UNPACKS("Rar!\x1a\7\1\0", "a rar archive");
    UNPACKS("Rar!\x1a\7\0", "a rar archive");
    UNPACKS("!<arch>\na.mp4/", "an ar archive");
    UNPACKS("\x1f\x8b\x08\0\0\0\0\0", "compressed by gzip");
    UNPACKS("BZh91AY&SY\0\0", "compressed by bzip2");
    UNPACKS("\xfd\x37zXZ\0\0\4", "compressed by xz");
    UNPACKS("\x28\xb5\x2f\xfd\x24\5", "compressed by zstd");
    UNPACKS("\x04\x22\x4d\x18\x64\x40", "compressed by lz4");
    UNPACKS("\x02\x21\x4c\x18\x64\x40", "compressed by lz4");
    UNPACKS(hex, "a cpio archive");
    UNPACKS(octal, "a cpio archive");
    UNPACKS(old, "a cpio archive");
}

UNIT_TEST(what_is_to_be_exported)
{
    EXPORTS("PAR1\x15\4\x15\x30", "a Parquet file");
    EXPORTS("\x89HDF\r\n\x1a\n\0\0", "an HDF5 file");
    EXPORTS("ARROW1\0\0\xff\xff", "an Arrow file");
    EXPORTS("FEA1\0\0\0\0\1\0", "an Arrow file");
    EXPORTS("\xff\xff\xff\xff\xa8\0\0\0\x10\0\0\0\0\0", "an Arrow file");
    EXPORTS("MATLAB 5.0 MAT-file Platform: posix", "a MATLAB file");
    EXPORTS("SQLite format 3\0\x10\0", "an SQLite database");
    EXPORTS("\0\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\xde\xc0\xef\xbe", "an LMDB database");
    EXPORTS("\3\0\0\0\0\0\0\0\xb0\x99\x49\x0e"
            "abc",
            "a TFRecord file");
    EXPORTS("\x80\4\x95\x0b\0\0\0\0\0\0\0]", "a pickle");
    EXPORTS("\x80\2}q\0X", "a pickle");
}

/* Texts may begin with the letters of a mark, and media with some of its bytes. */
UNIT_TEST(what_is_no_archive)
{
    NOTHING("");
    NOTHING("PAR1 is a lamp\n");
    NOTHING("PK: a primary key");
    NOTHING("BZh9 is a level");
    NOTHING("Rar! said the lion");
    NOTHING("070707\n070708\n");
    NOTHING("070701 and further digits, one hundred and four of them, would be needed for this to be anything that was "
            "packed");
    NOTHING("MATLAB 5.0 is a program");
    NOTHING("{\"text\": \"PK\3\4\"}");
    NOTHING("\xff\xfb\x90\x64\0\0\0\0\0\0\0\0");
    NOTHING("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
    NOTHING("\0\0\0\x20"
            "ftypisom\0\0\2\0isomiso2avc1mp41");
    NOTHING("\3\0\0\0\0\0\0\0\xb0\x99\x49\x0f"
            "abc");
    NOTHING("\x80\4abcdefg");
    NOTHING("\x93NUMPY\1\0v\0");
    NOTHING("\xc7\x71\1\0\2\0\xa4\x81\xe8\3\xe8\3\1\0\0\0\x63\x65\0\0\6\0\0\0\x3c\x0a"
            "abcdefghi");
}

/* Nothing is read behind what is there, of files of any size: sanitizers and valgrind tell. */
UNIT_TEST(no_byte_beyond)
{
    static const char *const begins[] = {"070701", "070707", "\xc7\x71", "\xff\xff\xff\xff",
                                         "\x80\4", "PK\3\4", "BZh9",     ""};
    unsigned seed = 5;
    for (int n = 0; n < unit_times(20000); n++) {
        size_t size = (size_t)rand_r(&seed) % (BL_ARCHIVE_HEAD + 1);
        const char *begin = begins[n % 8];
        char *head = malloc(size + 1), *end = head + size;
        ck_assert_ptr_nonnull(head);
        for (char *at = head; at < end; at++)
            *at = (char)(n & 8 ? rand_r(&seed) : 1 + rand_r(&seed) % 255);
        memcpy(head, begin, strlen(begin) < size ? strlen(begin) : size);
        FREED char *exact = realloc(head, size ? size : 1);
        ck_assert_ptr_nonnull(exact);
        bl_archive_detect(exact, size);
    }
}
