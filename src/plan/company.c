#include "plan/company.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buffer.h"

/* --- partition ---------------------------------------------------------------------------------------------------- */

/* Partitions: which pieces share a block, whatever the order of the blocks and in them. The epochs of a dataset must
 * have different partitions, or the same pairs of sequences share a block again. */

/* The finalizer of splitmix64 (Steele, Lea, Flood, 2014). */
static uint64_t partition_mix(uint64_t z)
{
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int bl_partitions_add(struct bl_partitions *taken, uint64_t hash, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(taken->hash, taken->capacity, taken->count + 1, e);
    if (!code)
        taken->hash[taken->count++] = hash;
    return code;
}

bool bl_partitions_have(const struct bl_partitions *taken, uint64_t hash)
{
    for (size_t i = 0; i < taken->count; i++) {
        if (taken->hash[i] == hash)
            return true;
    }
    return false;
}

void bl_partitions_free(struct bl_partitions *taken)
{
    free(taken->hash);
    *taken = (struct bl_partitions){0};
}

/* A piece of a cut sequence is known by its first step. */
static uint64_t partition_hash_piece(const struct bl_piece_names *names, uint32_t piece)
{
    const struct bl_pieces *p = names->pieces;
    if (!names->sequence)
        return partition_mix(piece);
    uint64_t name = names->sequence[p->sequence ? p->sequence[piece] : piece];
    return partition_mix(p->start ? name ^ partition_mix((uint64_t)p->start[piece]) : name);
}

uint64_t bl_partition_hash_block(const uint32_t *piece, size_t size, const struct bl_piece_names *names)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += partition_hash_piece(names, piece[i]);
    return size ? partition_mix(sum) : 0;
}

uint64_t bl_partition_hash(const struct bl_draft *d, const struct bl_piece_names *names)
{
    uint64_t sum = 0;
    for (size_t b = 0; b < d->blocks; b++)
        sum += bl_partition_hash_block(d->sequence + d->first[b], bl_draft_size(d, b), names);
    return sum;
}

uint64_t bl_partition_hash_stored(const int64_t *block_ptr, size_t blocks)
{
    uint64_t sum = 0;
    for (size_t b = 0; b < blocks; b++) {
        uint64_t block = 0;
        for (int64_t p = block_ptr[b]; p < block_ptr[b + 1]; p++)
            block += partition_mix((uint64_t)p);
        sum += block_ptr[b + 1] > block_ptr[b] ? partition_mix(block) : 0;
    }
    return sum;
}

/* --- company ------------------------------------------------------------------------------------------------------ */

#define NOWHERE UINT32_MAX

/* A piece of a plan that cuts sequences. */
struct bl_company_piece {
    int64_t start; /* its first step in the sequence */
    uint32_t block;
};

uint64_t bl_company_count_pairs(const struct bl_plan *plan)
{
    uint64_t pairs = 0;
    for (size_t b = 0; b < plan->blocks; b++) {
        uint64_t size = (uint64_t)(plan->block_ptr[b + 1] - plan->block_ptr[b]);
        pairs += size > 1 ? size * (size - 1) / 2 : 0;
    }
    return pairs;
}

static int company_check(const struct bl_plan *plan, size_t count, struct bl_error *e)
{
    if (plan->pieces >= NOWHERE || count >= NOWHERE)
        return bl_error_set(e, BL_EDATA, "%zu pieces of %zu sequences are more than a plan can hold", plan->pieces,
                            count);
    for (size_t p = 0; p < plan->pieces; p++) {
        if (plan->sequence[p] >= count)
            return bl_error_set(e, BL_EDATA, "the plan has sequence %" PRIu32 ", of only %zu", plan->sequence[p],
                                count);
    }
    return BL_OK;
}

static int64_t company_start(const struct bl_plan *plan, size_t p)
{
    return plan->source_start ? plan->source_start[p] : 0;
}

/* If all pieces begin with their sequences, there is one of each sequence. */
static bool company_is_cut(const struct bl_plan *plan)
{
    for (size_t p = 0; p < plan->pieces; p++) {
        if (company_start(plan, p))
            return true;
    }
    return false;
}

static void company_place_sequences(struct bl_company_places *places, const struct bl_plan *plan)
{
    for (size_t i = 0; i <= places->count; i++)
        places->place[i] = NOWHERE;
    for (size_t b = 0; b < plan->blocks; b++) {
        for (int64_t p = plan->block_ptr[b]; p < plan->block_ptr[b + 1]; p++)
            places->place[plan->sequence[p]] = (uint32_t)b;
    }
}

static int company_compare_pieces(const void *a, const void *b)
{
    int64_t x = ((const struct bl_company_piece *)a)->start, y = ((const struct bl_company_piece *)b)->start;
    return x < y ? -1 : x > y;
}

/* Sorts the pieces by sequence by counting, then those of a sequence by start. */
static void company_place_pieces(struct bl_company_places *places, const struct bl_plan *plan)
{
    uint32_t *place = places->place;
    for (size_t p = 0; p < plan->pieces; p++)
        place[plan->sequence[p]]++;
    for (size_t i = 0, sum = 0; i <= places->count; i++) {
        sum += place[i];
        place[i] = (uint32_t)sum; /* its end: filled from there */
    }
    for (size_t b = 0; b < plan->blocks; b++) {
        for (int64_t p = plan->block_ptr[b]; p < plan->block_ptr[b + 1]; p++)
            places->piece[--place[plan->sequence[p]]] =
                (struct bl_company_piece){company_start(plan, (size_t)p), (uint32_t)b};
    }
    for (size_t i = 0; i < places->count; i++) {
        if (place[i + 1] - place[i] > 1)
            qsort(places->piece + place[i], place[i + 1] - place[i], sizeof *places->piece, company_compare_pieces);
    }
}

int bl_company_find_places(struct bl_company_places *places, const struct bl_plan *plan, size_t count,
                           struct bl_error *e)
{
    double pairs = 0.5 * (double)plan->pieces * ((double)plan->pieces - 1);
    bool is_cut = company_is_cut(plan);
    *places = (struct bl_company_places){.count = count};
    int code = company_check(plan, count, e);
    if (code)
        return code;
    places->random = pairs > 0 ? (double)bl_company_count_pairs(plan) / pairs : 0;
    places->place = calloc(count + 1, sizeof *places->place);
    places->met = calloc(plan->blocks + 1, sizeof *places->met);
    if (is_cut)
        places->piece = malloc((plan->pieces + 1) * sizeof *places->piece);
    if (!places->place || !places->met || (is_cut && !places->piece))
        return bl_error_memory(e);
    if (is_cut)
        company_place_pieces(places, plan);
    else
        company_place_sequences(places, plan);
    return BL_OK;
}

void bl_company_free_places(struct bl_company_places *places)
{
    free(places->place);
    free(places->piece);
    free(places->met);
    *places = (struct bl_company_places){0};
}

/* Returns the block that has the same piece as p of the plan, or NOWHERE. */
static uint32_t company_find(const struct bl_company_places *places, const struct bl_plan *plan, size_t p)
{
    const uint32_t *place = places->place + plan->sequence[p];
    const struct bl_company_piece key = {company_start(plan, p), 0};
    if (!places->piece)
        return key.start ? NOWHERE : *place;
    const struct bl_company_piece *found =
        bsearch(&key, places->piece + place[0], place[1] - place[0], sizeof key, company_compare_pieces);
    return found ? found->block : NOWHERE;
}

/* Returns the pairs of a block that meet again. */
static uint64_t company_count_again(const struct bl_plan *plan, size_t block, struct bl_company_places *other)
{
    size_t begin = (size_t)plan->block_ptr[block], end = (size_t)plan->block_ptr[block + 1];
    uint64_t again = 0;
    for (size_t p = begin; p < end; p++) {
        uint32_t there = company_find(other, plan, p);
        if (there != NOWHERE)
            again += other->met[there]++;
    }
    for (size_t p = begin; p < end; p++) {
        uint32_t there = company_find(other, plan, p);
        if (there != NOWHERE)
            other->met[there] = 0;
    }
    return again;
}

int bl_company_count(struct bl_company *company, const struct bl_plan *plan, struct bl_company_places *other,
                     struct bl_error *e)
{
    int code = company_check(plan, other->count, e);
    if (code)
        return code;
    *company = (struct bl_company){.is_measured = true, .pairs = bl_company_count_pairs(plan), .random = other->random};
    for (size_t b = 0; b < plan->blocks; b++)
        company->again += company_count_again(plan, b, other);
    return BL_OK;
}

int bl_company_measure(struct bl_company *company, const struct bl_plan *first, const struct bl_plan *second,
                       size_t count, struct bl_error *e)
{
    struct bl_company_places places;
    int code = bl_company_find_places(&places, second, count, e);
    if (!code)
        code = bl_company_count(company, first, &places, e);
    bl_company_free_places(&places);
    return code;
}
