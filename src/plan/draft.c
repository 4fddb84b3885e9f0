#include "plan/draft.h"

#include <stdlib.h>
#include <string.h>

#include "plan/random.h"

int bl_draft_make(struct bl_draft *d, size_t pieces, struct bl_error *e)
{
    *d = (struct bl_draft){.sequence = malloc((pieces + 1) * sizeof *d->sequence), .first = malloc(sizeof *d->first)};
    if (!d->sequence || !d->first)
        return bl_error_memory(e);
    d->first[0] = 0;
    d->capacity = 1;
    return 0;
}

void bl_draft_free(struct bl_draft *d)
{
    free(d->sequence);
    free(d->first);
    *d = (struct bl_draft){0};
}

int bl_draft_close(struct bl_draft *d, size_t size, struct bl_error *e)
{
    if (d->blocks + 1 == d->capacity) {
        size_t capacity = d->capacity + d->capacity / 4 + 64;
        uint32_t *larger = realloc(d->first, capacity * sizeof *larger);
        if (!larger)
            return bl_error_memory(e);
        d->first = larger;
        d->capacity = capacity;
    }
    d->pieces += size;
    d->first[++d->blocks] = (uint32_t)d->pieces;
    return 0;
}

int bl_draft_alone(struct bl_draft *d, const struct bl_lengths *lengths, struct bl_error *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < lengths->count; i++) {
        if (!bl_lengths_has(lengths, i))
            continue;
        d->sequence[d->pieces] = (uint32_t)bl_lengths_id(lengths, i);
        rc = bl_draft_close(d, 1, e);
    }
    return rc;
}

int bl_draft_keep(struct bl_draft *d, const struct bl_lengths *lengths, int64_t T, uint32_t sequences,
                  const uint32_t *group, const uint32_t *owner, struct bl_error *e)
{
    int64_t room = T;
    size_t size = 0;
    uint32_t last = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < lengths->count; i++) {
        if (!bl_lengths_has(lengths, i))
            continue;
        uint32_t id = (uint32_t)bl_lengths_id(lengths, i), its_group = group ? group[owner ? owner[id] : id] : 0;
        int64_t units = bl_lengths_units(lengths, i);
        if (size > 0 && (units > room || size == sequences || its_group != last)) {
            rc = bl_draft_close(d, size, e);
            room = T;
            size = 0;
        }
        d->sequence[d->pieces + size++] = id;
        room -= units;
        last = its_group;
    }
    return rc == 0 && size > 0 ? bl_draft_close(d, size, e) : rc;
}

static int draw_patterns(struct bl_draft *d, const struct bl_patterns *patterns, const uint32_t *ids, uint32_t *cursor,
                         uint64_t seed, struct bl_error *e)
{
    struct bl_random inside;
    bl_random_seed(&inside, seed, BL_STREAM_INSIDE);
    int rc = 0;
    for (size_t p = 0; p < patterns->count; p++) {
        size_t size = patterns->first[p + 1] - patterns->first[p];
        const uint32_t *bucket = patterns->bucket + patterns->first[p];
        for (uint32_t k = 0; rc == 0 && k < patterns->use[p]; k++) {
            uint32_t *block = d->sequence + d->pieces;
            for (size_t i = 0; i < size; i++)
                block[i] = ids[cursor[bucket[i]]++];
            bl_random_shuffle_u32(&inside, block, size);
            rc = bl_draft_close(d, size, e);
        }
    }
    return rc;
}

int bl_draft_patterns(struct bl_draft *d, const struct bl_patterns *patterns, const struct bl_histogram *h,
                      const struct bl_lengths *lengths, uint64_t seed, struct bl_error *e)
{
    uint32_t *ids = NULL, *cursor = malloc((h->distinct + 1) * sizeof *cursor);
    int rc = cursor ? bl_histogram_identities(h, lengths, seed, &ids, e) : bl_error_memory(e);
    if (rc == 0) {
        memcpy(cursor, h->start, h->distinct * sizeof *cursor);
        rc = draw_patterns(d, patterns, ids, cursor, seed, e);
    }
    free(cursor);
    free(ids);
    return rc;
}
