/* Builds the table of merges: see bpe.h. */
#include <stdlib.h>
#include <string.h>

#include "kind/text/bpe.h"
#include "kind/text/huge_pages.h"

#define TOKEN_BYTES_MAX 4096 /* of a token that can be merged: real ones have a few hundred at most */
#define NONE UINT32_MAX

/* What two tokens merge to, and when; NONE: they do not. */
struct rule {
    uint32_t priority, token;
};

/* A merge in a hash table: both its rule and its key, so that a lookup costs one access to memory. */
struct slot {
    uint32_t left, right;
    struct rule rule; /* .token is NONE: free */
};

/* The merges of the file. With ranks there are none: the vocabulary is searched. */
struct rules {
    const struct bl_vocabulary *v;
    struct slot *slot;        /* at most half full; or NULL */
    int shift;                /* right shift from a hash to its position */
    const uint32_t *priority; /* of the tokens, where there are no merges; NULL: their ids */
};

/* A token and the merge that makes it. */
struct made {
    uint32_t priority, left, right, token;
};

/* The slot of a pair, or the free one where it belongs. */
static struct slot *rules_find_slot(const struct rules *rules, uint32_t left, uint32_t right)
{
    size_t mask = ((size_t)1 << (64 - rules->shift)) - 1;
    size_t at = (size_t)((((uint64_t)left << 32 | right) * BL_PAIR_FACTOR) >> rules->shift);
    while (rules->slot[at].rule.token != NONE && (rules->slot[at].left != left || rules->slot[at].right != right))
        at = (at + 1) & mask;
    return &rules->slot[at];
}

/* The rule of two adjacent tokens, by their numbers and their bytes. */
static struct rule rules_find(const struct rules *rules, uint32_t left, uint32_t right, const uint8_t *bytes)
{
    if (rules->slot)
        return rules_find_slot(rules, left, right)->rule;
    const struct bl_token *token = rules->v->token;
    int64_t both = bl_vocabulary_find(rules->v, bytes, (size_t)token[left].size + token[right].size);
    if (both < 0)
        return (struct rule){NONE, NONE};
    return (struct rule){rules->priority ? rules->priority[both] : (uint32_t)token[both].id, (uint32_t)both};
}

/* Merges the bytes of a token (at least two) alone. True if that makes the token; *made: its merge. */
static bool token_merge_alone(const struct rules *rules, const uint32_t byte_token[256], uint32_t token,
                              struct made *made)
{
    static const struct rule none = {NONE, NONE};
    const uint8_t *bytes = bl_vocabulary_bytes(rules->v, token);
    size_t n = rules->v->token[token].size;
    uint32_t part[TOKEN_BYTES_MAX], start[TOKEN_BYTES_MAX];
    struct rule pair[TOKEN_BYTES_MAX];
    for (size_t i = 0; i < n; i++) {
        part[i] = byte_token[bytes[i]];
        start[i] = (uint32_t)i;
        pair[i] = i + 1 < n ? rules_find(rules, part[i], byte_token[bytes[i + 1]], bytes + i) : none;
    }
    do {
        size_t first = 0;
        for (size_t i = 1; i < n; i++)
            first = pair[i].priority < pair[first].priority ? i : first;
        if (pair[first].token == NONE)
            return false;
        *made = (struct made){pair[first].priority, part[first], part[first + 1], pair[first].token};
        part[first] = pair[first].token;
        n--;
        memmove(part + first + 1, part + first + 2, (n - first - 1) * sizeof *part);
        memmove(start + first + 1, start + first + 2, (n - first - 1) * sizeof *start);
        memmove(pair + first, pair + first + 1, (n - first) * sizeof *pair);
        pair[first] = first + 1 < n ? rules_find(rules, part[first], part[first + 1], bytes + start[first]) : none;
        if (first)
            pair[first - 1] = rules_find(rules, part[first - 1], part[first], bytes + start[first - 1]);
    } while (n > 1);
    return made->token == token;
}

/* Finds the tokens of the bytes. With merges, bytes that never occur in UTF-8 may have none (NONE). */
static int bytes_find_tokens(const struct rules *rules, uint32_t byte_token[256], struct bl_error *e)
{
    for (int i = 0; i < 256; i++) {
        int64_t token = bl_vocabulary_find(rules->v, &(uint8_t){(uint8_t)i}, 1);
        bool never = i == 0xc0 || i == 0xc1 || i >= 0xf5;
        if (token < 0 && !(never && rules->slot))
            return bl_error_set(e, BL_EFAIL, "the byte 0x%02X has no token: not every text can be encoded", i);
        byte_token[i] = token < 0 ? NONE : (uint32_t)token;
    }
    return BL_OK;
}

static int made_compare(const void *a, const void *b)
{
    const struct made *x = a, *y = b;
    return (x->priority > y->priority) - (x->priority < y->priority);
}

static void bpe_put_pair(struct bl_bpe *bpe, uint64_t left, uint64_t right, uint64_t symbol)
{
    uint64_t key = left << BL_SYMBOL_BITS | right, hash = key * BL_PAIR_FACTOR;
    size_t mask = ((size_t)1 << (64 - bpe->shift)) - 1;
    size_t at = (size_t)(hash >> bpe->shift), bit = (size_t)(hash >> (bpe->shift - 3));
    while (bpe->pair[at] != UINT64_MAX)
        at = (at + 1) & mask;
    bpe->pair[at] = key << BL_SYMBOL_BITS | symbol;
    bpe->filter[bit / 64] |= (uint64_t)1 << bit % 64;
}

static int bpe_allocate(struct bl_bpe *bpe, size_t count, struct bl_error *e)
{
    unsigned bits = 9;
    while ((size_t)1 << bits < 2 * count)
        bits++;
    bpe->shift = 64 - bits;
    bpe->id = malloc((256 + count) * sizeof *bpe->id);
    bpe->symbol = bl_huge_pages_alloc((256 + count) * sizeof *bpe->symbol);
    bpe->joined = calloc(65536 / 64, sizeof *bpe->joined);
    bpe->pair = bl_huge_pages_alloc(((size_t)1 << bits) * sizeof *bpe->pair);
    bpe->filter = bl_huge_pages_alloc((size_t)1 << bits);
    bpe->byte_pair = bl_huge_pages_alloc(65536 * sizeof *bpe->byte_pair);
    if (!bpe->id || !bpe->symbol || !bpe->pair || !bpe->filter || !bpe->byte_pair || !bpe->joined)
        return bl_error_memory(e);
    memset(bpe->byte_pair, 0xff, 65536 * sizeof *bpe->byte_pair);
    memset(bpe->filter, 0, (size_t)1 << bits);
    memset(bpe->pair, 0xff, ((size_t)1 << bits) * sizeof *bpe->pair);
    return BL_OK;
}

/* Numbers the symbols and fills all tables but the trie. number[token]: its symbol. */
static void bpe_fill(struct bl_bpe *bpe, const struct bl_vocabulary *v, const uint32_t byte_token[256],
                     const struct made *made, size_t count, uint32_t *number)
{
    for (uint32_t i = 0; i < 256; i++) {
        bpe->symbol[i] = (struct bl_symbol){i, i, 1, BL_SYMBOL_NONE};
        bpe->id[i] = -1;
        if (byte_token[i] == NONE)
            continue;
        number[byte_token[i]] = i;
        bpe->id[i] = v->token[byte_token[i]].id;
    }
    for (uint32_t i = 0; i < count; i++) {
        number[made[i].token] = 256 + i;
        bpe->id[256 + i] = v->token[made[i].token].id;
    }
    bpe->ordered = true;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t left = number[made[i].left], right = number[made[i].right];
        bpe_put_pair(bpe, left, right, 256 + i);
        if (left < 256 && right < 256)
            bpe->byte_pair[left << 8 | right] = 256 + i;
        bpe->symbol[256 + i] = (struct bl_symbol){left, right, v->token[made[i].token].size, BL_SYMBOL_NONE};
        bpe->ordered = bpe->ordered && left < 256 + i && right < 256 + i;
    }
}

/* Notes which bytes are adjacent in a symbol. Those of a character always are, so that it stays whole. */
static void bpe_note_joined(struct bl_bpe *bpe, const struct bl_vocabulary *v, const struct made *made, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *bytes = bl_vocabulary_bytes(v, made[i].token);
        for (size_t j = 1; j < v->token[made[i].token].size; j++)
            bpe->joined[bytes[j - 1] * 4 + bytes[j] / 64] |= (uint64_t)1 << bytes[j] % 64;
    }
    for (size_t first = 0; first < 256; first++)
        bpe->joined[first * 4 + 2] = UINT64_MAX; /* 80 to BF */
}

/* Builds the trie of all symbols, and finds for each the longest other symbol that it begins with. */
static int bpe_build_trie(struct bl_bpe *bpe, const struct bl_vocabulary *v, const struct made *made, size_t count,
                          struct bl_error *e)
{
    uint8_t byte[256];
    struct bl_trie_entry *entry = malloc((256 + count) * sizeof *entry);
    if (!entry)
        return bl_error_memory(e);
    for (uint32_t i = 0; i < 256; i++) {
        byte[i] = (uint8_t)i;
        entry[i] = (struct bl_trie_entry){&byte[i], 1, i};
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t token = made[i].token;
        entry[256 + i] = (struct bl_trie_entry){bl_vocabulary_bytes(v, token), v->token[token].size, 256 + i};
    }
    size_t shorter;
    int code = bl_trie_build(&bpe->trie, entry, 256 + count, e);
    if (code)
        goto out;
    for (size_t i = 0; i < 256 + count; i++) {
        if (entry[i].size > 1)
            bpe->symbol[entry[i].value].shorter =
                bl_trie_longest(&bpe->trie, entry[i].bytes, entry[i].size - 1, &shorter);
    }
out:
    free(entry);
    return code;
}

/* Numbers the symbols by their priorities, if two have the same. */
static int bpe_rank(struct bl_bpe *bpe, const struct made *made, size_t count, struct bl_error *e)
{
    bool equal = false;
    for (size_t i = 1; i < count; i++)
        equal = equal || made[i].priority == made[i - 1].priority;
    if (!equal)
        return BL_OK;
    bpe->rank = malloc((256 + count) * sizeof *bpe->rank);
    if (!bpe->rank)
        return bl_error_memory(e);
    for (uint32_t i = 0; i < 256 + count; i++)
        bpe->rank[i] = i > 256 && made[i - 256].priority == made[i - 257].priority ? bpe->rank[i - 1] : i;
    return BL_OK;
}

/* Finds the merge of every token. direct: tokens without one are kept as strays. */
static int rules_make_tokens(struct bl_bpe *bpe, const struct rules *rules, const uint32_t byte_token[256], bool direct,
                             struct made *made, size_t *count, struct bl_error *e)
{
    const struct bl_vocabulary *v = rules->v;
    int64_t known;
    int code = BL_OK;
    for (uint32_t i = 0; i < v->count && !code; i++) {
        uint32_t size = v->token[i].size;
        if (size > 1 && size <= TOKEN_BYTES_MAX && token_merge_alone(rules, byte_token, i, &made[*count]))
            ++*count;
        else if (size > 1 && direct)
            code = bl_vocabulary_add(&bpe->strays, bl_vocabulary_bytes(v, i), size, v->token[i].id, &known, e);
    }
    return code;
}

static int bpe_build(struct bl_bpe *bpe, const struct rules *rules, bool direct, struct bl_error *e)
{
    const struct bl_vocabulary *v = rules->v;
    uint32_t byte_token[256];
    size_t count = 0;
    int code = bytes_find_tokens(rules, byte_token, e);
    if (code)
        return code;
    struct made *made = malloc(v->count * sizeof *made);
    uint32_t *number = calloc(v->count, sizeof *number);
    code = made && number ? rules_make_tokens(bpe, rules, byte_token, direct, made, &count, e) : bl_error_memory(e);
    if (code)
        goto out;
    code = bpe_allocate(bpe, count, e);
    if (code)
        goto out;
    qsort(made, count, sizeof *made, made_compare);
    bpe_fill(bpe, v, byte_token, made, count, number);
    bpe_note_joined(bpe, v, made, count);
    code = bpe_rank(bpe, made, count, e);
    if (code)
        goto out;
    code = bpe_build_trie(bpe, v, made, count, e);
out:
    free(made);
    free(number);
    return code;
}

int bl_bpe_from_ranks(struct bl_bpe *bpe, const struct bl_vocabulary *v, struct bl_error *e)
{
    struct rules rules = {.v = v};
    return bpe_build(bpe, &rules, true, e);
}

int bl_bpe_from_priorities(struct bl_bpe *bpe, const struct bl_vocabulary *v, const uint32_t *priority,
                           struct bl_error *e)
{
    struct rules rules = {.v = v, .priority = priority};
    return bpe_build(bpe, &rules, false, e);
}

/* Makes the table of merges. first: what the file calls merge 0. */
static int rules_add_merges(struct rules *rules, const struct bl_merge *merge, size_t count, size_t first,
                            struct bl_error *e)
{
    unsigned bits = 9;
    while ((size_t)1 << bits < 2 * count)
        bits++;
    rules->shift = 64 - (int)bits;
    rules->slot = bl_huge_pages_alloc(((size_t)1 << bits) * sizeof *rules->slot);
    if (!rules->slot)
        return bl_error_memory(e);
    memset(rules->slot, 0xff, ((size_t)1 << bits) * sizeof *rules->slot);
    for (size_t i = 0; i < count; i++) {
        struct slot *slot = rules_find_slot(rules, merge[i].left, merge[i].right);
        if (slot->rule.token != NONE)
            return bl_error_set(e, BL_EFAIL, "merge %zu has the same pair as merge %zu", i - first,
                                slot->rule.priority - first);
        *slot = (struct slot){merge[i].left, merge[i].right, {(uint32_t)i, merge[i].token}};
    }
    return BL_OK;
}

int bl_bpe_from_merges(struct bl_bpe *bpe, const struct bl_vocabulary *v, const struct bl_merge *merges, size_t count,
                       size_t first, bool direct, struct bl_error *e)
{
    struct rules rules = {.v = v};
    int code = rules_add_merges(&rules, merges, count, first, e);
    if (!code)
        code = bpe_build(bpe, &rules, direct, e);
    free(rules.slot);
    return code;
}

void bl_bpe_free(struct bl_bpe *bpe)
{
    free(bpe->id);
    free(bpe->symbol);
    free(bpe->pair);
    free(bpe->filter);
    free(bpe->byte_pair);
    free(bpe->joined);
    free(bpe->rank);
    free(bpe->known);
    free(bpe->known_last);
    bl_trie_free(&bpe->trie);
    bl_vocabulary_free(&bpe->strays);
    *bpe = (struct bl_bpe){0};
}
