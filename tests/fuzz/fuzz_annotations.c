/* Annotations: of what is accepted each sequence is found by its name, and has a fault or sound intervals. */
#include <string.h>

#include "fuzz.h"
#include "kind/labels/intervals.h"

static struct bl_label_name names[] = {{"sit", 0}, {"walk", 3}};
static const struct bl_mapping mapping = {.label = names, .count = 2};

static void check(const struct bl_annotated *sequence)
{
    never(sequence->fault ? !*sequence->fault : sequence->count && sequence->overlaps >= sequence->count);
    for (size_t i = 0; i < sequence->count && !sequence->fault; i++) {
        const struct bl_annotation *a = &sequence->annotation[i];
        never(!(a->begin <= a->end) || (a->label != 0 && a->label != 3));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = fuzz_file(data, size, path);
    struct bl_annotations all;
    struct bl_error e = {0};
    int code = bl_annotations_read(&all, path, &mapping, &e);
    never(code && (code != BL_EUSAGE || !e.text[0]));
    for (size_t i = 0; i < all.count && !code; i++) {
        const struct bl_annotated *found;
        check(&all.sequence[i]);
        never(bl_annotations_find(&all, all.sequence[i].id, &found, &e) || found != &all.sequence[i]);
    }
    bl_annotations_free(&all);
    close(fd);
    return 0;
}
