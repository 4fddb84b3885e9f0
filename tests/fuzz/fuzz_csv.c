/* Tables of attributes: whatever comes out is joined to the rows, or is refused with a message. The first bit says TSV.
 */
#include <string.h>

#include "fuzz.h"
#include "scan/attributes.h"

/* Values that a row of the table of sequences can take: as many as there are columns, on one line. */
static void check_values(const struct bl_attributes *a, const char *values)
{
    int tabs = 0;
    for (const char *at = values; *at; at++)
        tabs += *at == '\t';
    never(tabs != bl_attributes_count(a) || strpbrk(values, "\n\r") || *values != '\t');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], link[64];
    struct bl_attributes *a;
    struct bl_error e = {0};
    const char *id = NULL, *values;
    int64_t line;
    if (!size)
        return 0;
    int fd = fuzz_file(data + 1, size - 1, path);
    snprintf(link, sizeof link, "/tmp/bload-fuzz-%d.%s", getpid(), data[0] & 1 ? "tsv" : "csv");
    unlink(link);
    never(symlink(path, link) != 0);
    const struct bl_attributes_source source = {link, NULL, data[0] & 2 ? "b,a" : NULL};
    int code = bl_attributes_open(&a, &source, NULL, &e);
    never(code ? !e.text[0] : 0);
    for (int64_t left = code ? 0 : bl_attributes_unused(a, &id, &line); left; left--) {
        never(bl_attributes_claim(a, id, &values, NULL, &e) || !values ||
              bl_attributes_unused(a, &id, &line) != left - 1);
        check_values(a, values);
        if (left > 50)
            break;
    }
    if (!code)
        bl_attributes_close(a);
    unlink(link);
    close(fd);
    return 0;
}
