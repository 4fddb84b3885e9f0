#include "plan/partition.h"

#include <stdlib.h>

#include "base/array.h"

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
