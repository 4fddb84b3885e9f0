/* Listings of tars. The first line is that of the tar always, and the checksum right: what is between is of interest.
 * What is taken lies in the tar, and is written as the same listing again. */
#include <string.h>

#include "base/checksum.h"
#include "fuzz.h"
#include "scan/tar_reader.h"

#define BYTES 20000 /* of the tar */

static char folder[] = "/tmp/bload-fuzz-XXXXXX";
static char path[64];

static void clean(void)
{
    unlink(path);
    rmdir(folder);
}

static void check_members(const struct bl_tar_members *m)
{
    for (size_t i = 0; i < m->entries; i++) {
        const struct bl_tar_entry *entry = &m->entry[i];
        never(entry->begin < 0 || entry->bytes < 0 || entry->begin > BYTES || entry->name >= m->text.size ||
              entry->unusable >= m->text.size || (!entry->unusable && entry->bytes > BYTES - entry->begin));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct bl_tar_source source = {.shown = "a.tar", .listings = folder};
    const struct stat status = {.st_size = BYTES, .st_mtim = {.tv_sec = 12, .tv_nsec = 34}};
    struct bl_tar_members first = {0}, second = {0};
    struct bl_buffer text = {0};
    struct bl_error fault = {0}, again = {0}, e = {0};
    never(!*path &&
          (!mkdtemp(folder) || atexit(clean) || snprintf(path, sizeof path, "%s/tar-18cda4471cce578d", folder) < 0));
    bl_buffer_text(&text, "bload tar 1: 20000 12.000000034 a.tar\nfault ");
    bl_buffer_append(&text, data, size);
    never(bl_sealed_close(&text, &e));
    FILE *file = fopen(path, "wb");
    never(!file || fwrite(text.data, 1, text.size, file) != text.size || fclose(file));
    bool found = bl_tar_listing_find(&first, &source, &status, &fault);
    check_members(&first);
    never(!found && (first.entries || fault.code));
    never(found && (bl_tar_listing_write(&first, &source, &status, &fault, &e) ||
                    !bl_tar_listing_find(&second, &source, &status, &again) || first.entries != second.entries ||
                    first.text.size != second.text.size || strcmp(fault.text, again.text) != 0 ||
                    (first.text.size && memcmp(first.text.data, second.text.data, first.text.size) != 0)));
    bl_tar_members_free(&first);
    bl_tar_members_free(&second);
    bl_buffer_free(&text);
    return 0;
}
