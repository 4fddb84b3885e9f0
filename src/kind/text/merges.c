/* Builds the vocabulary, the list of merges, and the table of pairs by which words are encoded.
 *
 * The first half looks up the names of merges. The second half makes the table that bpe.h describes: for each token the
 * one merge that makes it. For example, with the merges "t h" and "th e", the symbols are the 256 bytes, then "th"
 * (256) and "the" (257), and the pair (256, 'e') leads to 257. */
#include "kind/text/merges.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/vector.h"
#include "kind/text/bpe.h"
#include "kind/text/huge_pages.h"

#define BL_NO_TOKEN UINT32_MAX

/* --- merges ------------------------------------------------------------------------------------------------------- */

#define SHOWN 80 /* bytes of a token that a message shows */

/* Returns the size for %.*s of a text in a message. */
static int shown_size(size_t size)
{
    return (int)(size < SHOWN ? size : SHOWN);
}

int bl_merges_vocabulary(struct bl_tokenizer *tokenizer, const struct bl_vocabulary *names, uint32_t *token,
                         struct bl_error *e)
{
    if (!names->count)
        return bl_error_set(e, BL_EFAIL, "is not an object of tokens and their ids");
    struct bl_vocabulary *v = &tokenizer->vocabulary;
    struct bl_buffer bytes = {0};
    int64_t twice = -1;
    int code = bl_vocabulary_reserve(v, names->count, names->bytes.size, e);
    for (size_t i = 0; i < names->count && !code; i++) {
        const struct bl_token *name = &names->token[i];
        const char *text = (const char *)bl_vocabulary_bytes(names, i);
        /* Ids of tokens that never occur in text count for the size of the tokenizer. */
        bl_tokenizer_count(tokenizer, name->id);
        /* A token with characters outside the alphabet, most often an added one, never occurs in text. */
        bool occurs = name->size && bl_alphabet_decode(&tokenizer->alphabet, text, name->size, &bytes);
        if (token)
            token[i] = occurs ? (uint32_t)v->count : BL_NO_TOKEN;
        /* Decoding the next name clears the buffer and its failure. */
        code = bl_buffer_check(&bytes, e);
        if (!code && occurs)
            code = bl_vocabulary_append(v, bytes.data, bytes.size, name->id, e);
    }
    /* Where tokens are bytes, few tokens are looked up by their bytes, and none while words are merged: the index would
     * only cost time. */
    if (!code && (tokenizer->alphabet.kind != BL_ALPHABET_BYTES || *tokenizer->alphabet.suffix))
        code = bl_vocabulary_index(v, &twice, e);
    if (!code && twice >= 0) /* names are unique, and no alphabet writes bytes in two ways */
        code = bl_error_set(e, BL_EFAIL, "two tokens have the same bytes");
    bl_buffer_free(&bytes);
    return code;
}

int bl_merges_open(struct bl_merges *merges, struct bl_tokenizer *tokenizer, const struct bl_vocabulary *names,
                   struct bl_error *e)
{
    *merges = (struct bl_merges){
        .names = names, .v = &tokenizer->vocabulary, .suffixed = *tokenizer->alphabet.suffix != '\0'};
    merges->token = malloc((names->count + 1) * sizeof *merges->token);
    return merges->token ? bl_merges_vocabulary(tokenizer, names, merges->token, e) : bl_error_memory(e);
}

int bl_merges_add_tokens(struct bl_merges *merges, uint32_t left, uint32_t right, uint32_t token, struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESERVE(merges->merge, merges->capacity, merges->count + 1, e));
    merges->merge[merges->count++] = (struct bl_merge){left, right, token};
    return BL_OK;
}

/* Returns BL_EFAIL with the text if its name was not found (a negative number). */
static int name_check(int64_t name, const char *text, size_t size, struct bl_error *e)
{
    if (name >= 0)
        return BL_OK;
    return bl_error_set(e, BL_EFAIL, "\"%.*s\" is not in the vocabulary", shown_size(size), text);
}

static bool merge_name_is(const struct bl_vocabulary *names, size_t name, const char *text, size_t size)
{
    return name < names->count && names->token[name].size == size &&
           !memcmp(bl_vocabulary_bytes(names, name), text, size);
}

/* Returns the number of the name of one side, or -1. The guess by side_guess is right unless two hashes collide. */
static int64_t side_find(const struct bl_merges *merges, const struct bl_merge_side *side, const char *text)
{
    if (merge_name_is(merges->names, side->name, text, side->size))
        return (int64_t)side->name;
    return bl_vocabulary_find_hash(merges->names, text, side->size, side->hash);
}

/* Looks up the names of one merge of the batch, and appends the merge. Merges of tokens that never occur in text are
 * left out: they can never apply. */
static int waiting_add(struct bl_merges *merges, const struct bl_merge_names *w, struct bl_error *e)
{
    const struct bl_vocabulary *names = merges->names, *v = merges->v;
    const char *left = merges->text.data + w->at, *right = left + w->left.size;
    size_t size = w->left.size + w->right.size, last = merges->last;
    int64_t left_name = side_find(merges, &w->left, left);
    BL_TRY(name_check(left_name, left, w->left.size, e));
    int64_t right_name = side_find(merges, &w->right, right);
    BL_TRY(name_check(right_name, right, w->right.size, e));
    uint32_t left_token = merges->token[left_name], right_token = merges->token[right_name];
    if (left_token == BL_NO_TOKEN || right_token == BL_NO_TOKEN)
        return BL_OK;
    /* Vocabularies mostly list names in the order of merges, so the name after that of the previous merge is tried
     * first, then that name itself, then the hash table. */
    int64_t name = merge_name_is(names, last + 1, left, size) ? (int64_t)last + 1
                   : merge_name_is(names, last, left, size)   ? (int64_t)last
                                                              : bl_vocabulary_find(names, left, size);
    BL_TRY(name_check(name, left, size, e));
    merges->last = (size_t)name;
    uint32_t token = merges->token[name];
    size_t left_size = v->token[left_token].size;
    /* The bytes of the token are those of the two that it merges, unless the name of the first ends with the suffix of
     * words, as the bytes of "a</w>" end a word. */
    if (merges->suffixed && (token == BL_NO_TOKEN || v->token[token].size != left_size + v->token[right_token].size ||
                             memcmp(bl_vocabulary_bytes(v, token), bl_vocabulary_bytes(v, left_token), left_size) != 0))
        return bl_error_set(e, BL_EFAIL, "\"%.*s\" ends a word, and nothing can follow it", shown_size(w->left.size),
                            left);
    return bl_merges_add_tokens(merges, left_token, right_token, token, e);
}

/* Finds the name that the hash of a side suggests, and prefetches its entry. */
static void side_guess(const struct bl_vocabulary *names, struct bl_merge_side *side)
{
    struct bl_hash_probe probe = bl_hash_begin(&names->table, side->hash);
    if (!bl_hash_next(&names->table, &probe, &side->name))
        side->name = SIZE_MAX;
    else
        __builtin_prefetch(&names->token[side->name]);
}

/* Prefetches the text of the suggested name. A separate pass does this, since the entry says where the text lies. */
BL_PREFETCHES void side_prefetch(const struct bl_vocabulary *names, const struct bl_merge_side *side)
{
    if (side->name < names->count)
        __builtin_prefetch(bl_vocabulary_bytes(names, side->name));
}

int bl_merges_finish(struct bl_merges *merges, struct bl_error *e)
{
    /* Each pass touches one kind of memory for the whole batch, so that the accesses overlap instead of waiting one by
     * one. */
    int code = bl_buffer_check(&merges->text, e);
    for (size_t i = 0; i < merges->waiting; i++) {
        side_guess(merges->names, &merges->wait[i].left);
        side_guess(merges->names, &merges->wait[i].right);
    }
    for (size_t i = 0; i < merges->waiting; i++) {
        side_prefetch(merges->names, &merges->wait[i].left);
        side_prefetch(merges->names, &merges->wait[i].right);
    }
    for (size_t i = 0; i < merges->waiting && !code; i++) {
        code = waiting_add(merges, &merges->wait[i], e);
        if (code)
            merges->place = merges->wait[i].place;
    }
    merges->waiting = 0;
    bl_buffer_clear(&merges->text);
    return code;
}

int bl_merges_add(struct bl_merges *merges, const char *left, size_t left_size, const char *right, size_t right_size,
                  struct bl_error *e)
{
    struct bl_merge_names *w = &merges->wait[merges->waiting++];
    w->at = merges->text.size;
    w->left = (struct bl_merge_side){left_size, bl_vocabulary_hash(left, left_size), 0};
    w->right = (struct bl_merge_side){right_size, bl_vocabulary_hash(right, right_size), 0};
    w->place = merges->place;
    /* The slot of the hash table is in the cache when bl_merges_finish needs it. */
    bl_hash_prefetch(&merges->names->table, w->left.hash);
    bl_hash_prefetch(&merges->names->table, w->right.hash);
    bl_buffer_append(&merges->text, left, left_size);
    bl_buffer_append(&merges->text, right, right_size);
    return merges->waiting < BL_MERGES_WAITING ? BL_OK : bl_merges_finish(merges, e);
}

int bl_merges_add_line(struct bl_merges *merges, const char *line, size_t size, struct bl_error *e)
{
    /* The first space must be the only one. */
    const char *space = memchr(line, ' ', size);
    /* Names contain no space: alphabets write a space as another character, such as U+0120. */
    size_t left = space ? (size_t)(space - line) : 0;
    if (!space || !left || left + 1 == size || memchr(space + 1, ' ', size - left - 1))
        return bl_error_set(e, BL_EFAIL, "\"%.*s\" is not a merge (two tokens with a space between them)",
                            shown_size(size), line);
    return bl_merges_add(merges, line, left, space + 1, size - left - 1, e);
}

void bl_merges_free(struct bl_merges *merges)
{
    free(merges->merge);
    free(merges->token);
    bl_buffer_free(&merges->text);
    *merges = (struct bl_merges){0};
}

/* --- table of merges ---------------------------------------------------------------------------------------------- */

/* Builds the table of merges that bpe.h describes. */

#define TOKEN_BYTES_MAX 4096 /* bytes of a token that merges can make: real ones have a few hundred at most */
#define NONE UINT32_MAX

/* The token that two tokens merge to, and the priority of that merge; lower ones merge first. NONE: they do not merge.
 */
struct rule {
    uint32_t priority, token;
};

/* A merge in a hash table, with its key and its rule side by side, so that a lookup costs one access to memory. */
struct slot {
    uint32_t left, right;
    struct rule rule; /* .token is NONE: free */
};

/* The merges of the file. With ranks (.tiktoken) there are none: any two tokens merge whose bytes together are a token,
 * so the vocabulary is searched. */
struct rules {
    const struct bl_vocabulary *v;
    bool listed; /* the file lists merges: the next two members have them in their order */
    const struct bl_merge *merge;
    size_t merges;
    struct slot *slot;        /* merge as a hash table, at most half full; NULL until it is needed */
    int shift;                /* right shift from a hash to its position */
    const uint32_t *priority; /* of the tokens, where listed is false; NULL: their ids are the priorities */
};

/* A token and the last merge that makes it: left and right are numbers of tokens. */
struct made {
    uint32_t priority, left, right, token;
};

/* Returns the slot of a pair, or the free slot where the pair belongs. The table is at most half full, so the search
 * ends. */
static struct slot *rules_find_slot(const struct rules *rules, uint32_t left, uint32_t right)
{
    size_t mask = ((size_t)1 << (64 - rules->shift)) - 1;
    /* Fibonacci hashing: the upper bits of the product (BL_PAIR_FACTOR). */
    size_t at = (size_t)((((uint64_t)left << 32 | right) * BL_PAIR_FACTOR) >> rules->shift);
    while (rules->slot[at].rule.token != NONE && (rules->slot[at].left != left || rules->slot[at].right != right))
        at = (at + 1) & mask;
    return &rules->slot[at];
}

/* Returns the rule of two adjacent tokens. bytes: those of both tokens, one after the other. */
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

/* Merges the bytes of a token (at least two) as a word of its own. Returns true if the result is the token, and sets
 * *made to the last merge. Takes quadratic time, which the sizes of tokens allow. */
static bool token_merge_alone(const struct rules *rules, const uint32_t byte_token[256], uint32_t token,
                              struct made *made)
{
    static const struct rule none = {NONE, NONE};
    const uint8_t *bytes = bl_vocabulary_bytes(rules->v, token);
    size_t n = rules->v->token[token].size;
    /* part: the tokens of the word so far; start: their first bytes; pair: the rule of each and the next one. */
    uint32_t part[TOKEN_BYTES_MAX], start[TOKEN_BYTES_MAX];
    struct rule pair[TOKEN_BYTES_MAX];
    for (size_t i = 0; i < n; i++) {
        part[i] = byte_token[bytes[i]];
        start[i] = (uint32_t)i;
        pair[i] = i + 1 < n ? rules_find(rules, part[i], byte_token[bytes[i + 1]], bytes + i) : none;
    }
    do {
        size_t first = 0;
        /* The strict comparison takes the leftmost of equal priorities, as the encoding does. */
        for (size_t i = 1; i < n; i++)
            first = pair[i].priority < pair[first].priority ? i : first;
        if (pair[first].token == NONE)
            return false;
        *made = (struct made){pair[first].priority, part[first], part[first + 1], pair[first].token};
        part[first] = pair[first].token;
        n--;
        /* Two parts became one: the parts behind them move down, and the pairs on both sides are looked up again. */
        memmove(part + first + 1, part + first + 2, (n - first - 1) * sizeof *part);
        memmove(start + first + 1, start + first + 2, (n - first - 1) * sizeof *start);
        memmove(pair + first, pair + first + 1, (n - first) * sizeof *pair);
        pair[first] = first + 1 < n ? rules_find(rules, part[first], part[first + 1], bytes + start[first]) : none;
        if (first)
            pair[first - 1] = rules_find(rules, part[first - 1], part[first], bytes + start[first - 1]);
    } while (n > 1);
    return made->token == token;
}

/* Makes the hash table of the merges: at least 512 slots, twice as many as merges or more. */
static int rules_add_merges(struct rules *rules, struct bl_error *e)
{
    unsigned bits = 9;
    while ((size_t)1 << bits < 2 * rules->merges)
        bits++;
    rules->shift = 64 - (int)bits;
    rules->slot = bl_huge_pages_alloc(((size_t)1 << bits) * sizeof *rules->slot);
    if (!rules->slot)
        return bl_error_memory(e);
    /* All bits set is NONE, so every slot is free. */
    memset(rules->slot, 0xff, ((size_t)1 << bits) * sizeof *rules->slot);
    for (size_t i = 0; i < rules->merges; i++) {
        const struct bl_merge *merge = &rules->merge[i];
        *rules_find_slot(rules, merge->left, merge->right) =
            (struct slot){merge->left, merge->right, {(uint32_t)i, merge->token}};
    }
    return BL_OK;
}

/* Finds the token of each byte. With listed merges, a byte that never occurs in UTF-8 (C0, C1, F5 to FF) may have none:
 * byte_token is NONE there. BL_EFAIL: another byte has no token. */
static int bytes_find_tokens(const struct rules *rules, uint32_t byte_token[256], struct bl_error *e)
{
    const struct bl_vocabulary *v = rules->v;
    for (int i = 0; i < 256; i++)
        byte_token[i] = NONE;
    for (size_t i = 0; i < v->count; i++) {
        if (v->token[i].size == 1)
            byte_token[*bl_vocabulary_bytes(v, i)] = (uint32_t)i;
    }
    for (int i = 0; i < 256; i++) {
        bool never = i == 0xc0 || i == 0xc1 || i >= 0xf5;
        if (byte_token[i] == NONE && !(never && rules->listed))
            return bl_error_set(e, BL_EFAIL, "the byte 0x%02X has no token: not every text can be encoded", i);
    }
    return BL_OK;
}

static int made_compare(const void *a, const void *b)
{
    const struct made *x = a, *y = b;
    return (x->priority > y->priority) - (x->priority < y->priority);
}

/* Allocates the tables for 256 bytes and at most count tokens. The table of pairs has at least twice as many slots as
 * tokens. bl_bpe_free frees the tables, also after an error. */
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
    return BL_OK;
}

/* Empties the tables of pairs, so that a second attempt can fill them, and makes the 256 bytes the first symbols.
 * number[token] is set to the symbol of a token. A byte without a token has the id -1: it is a symbol, as a part of
 * characters, and never a result. */
static void bpe_begin(struct bl_bpe *bpe, const struct bl_vocabulary *v, const uint32_t byte_token[256],
                      uint32_t *number)
{
    size_t slots = (size_t)1 << (64 - bpe->shift);
    memset(bpe->byte_pair, 0xff, 65536 * sizeof *bpe->byte_pair);
    memset(bpe->filter, 0, slots);
    memset(bpe->pair, 0xff, slots * sizeof *bpe->pair);
    memset(number, 0xff, v->count * sizeof *number);
    for (uint32_t i = 0; i < 256; i++) {
        /* A byte is made of itself. */
        bpe->symbol[i] = (struct bl_symbol){i, i, 1, BL_SYMBOL_NONE};
        bpe->id[i] = -1;
        if (byte_token[i] == NONE)
            continue;
        number[byte_token[i]] = i;
        bpe->id[i] = v->token[byte_token[i]].id;
    }
}

/* Adds the symbol of a token that the pair of left and right makes. The pair must not be in the table of pairs. A slot
 * has left, right and symbol in 21 bits each; the filter has 8 bits for each slot, so few pairs that are missing find
 * their bit set. Two bytes have a table without hashing. */
static void bpe_add_symbol(struct bl_bpe *bpe, const struct bl_token *token, uint32_t symbol, uint32_t left,
                           uint32_t right)
{
    uint64_t key = (uint64_t)left << BL_SYMBOL_BITS | right, hash = key * BL_PAIR_FACTOR;
    size_t mask = ((size_t)1 << (64 - bpe->shift)) - 1;
    /* The filter has 8 times as many bits as the table has slots: three more bits of the hash. */
    size_t at = (size_t)(hash >> bpe->shift), bit = (size_t)(hash >> (bpe->shift - 3));
    while (bpe->pair[at] != UINT64_MAX)
        at = (at + 1) & mask;
    bpe->pair[at] = key << BL_SYMBOL_BITS | symbol;
    bpe->filter[bit / 64] |= (uint64_t)1 << bit % 64;
    if (left < 256 && right < 256)
        bpe->byte_pair[left << 8 | right] = symbol;
    bpe->symbol[symbol] = (struct bl_symbol){left, right, token->size, BL_SYMBOL_NONE};
    bpe->id[symbol] = token->id;
}

/* Builds the trie of all symbols, and finds for each symbol the longest other symbol that its bytes begin with. */
static int bpe_build_trie(struct bl_bpe *bpe, const struct bl_vocabulary *v, const struct made *made, size_t count,
                          struct bl_error *e)
{
    uint8_t byte[256];
    /* The bytes of the entries lie in byte[] and in the vocabulary. */
    struct bl_trie_entry *entry = malloc((256 + count) * sizeof *entry);
    if (!entry)
        return bl_error_memory(e);
    for (uint32_t i = 0; i < 256; i++) {
        byte[i] = (uint8_t)i;
        entry[i] = (struct bl_trie_entry){.bytes = &byte[i], .size = 1, .value = i};
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t token = made[i].token;
        entry[256 + i] = (struct bl_trie_entry){
            .bytes = bl_vocabulary_bytes(v, token), .size = v->token[token].size, .value = 256 + i};
    }
    int code = bl_trie_build(&bpe->trie, entry, 256 + count, e);
    for (size_t i = 0; i < 256 + count && !code; i++)
        bpe->symbol[entry[i].value].shorter = entry[i].shorter;
    free(entry);
    return code;
}

/* Sets bpe->rank if two symbols have the same priority: both then have the number of the first as their rank. made is
 * sorted by priority. */
static int bpe_rank(struct bl_bpe *bpe, const struct made *made, size_t count, struct bl_error *e)
{
    /* Only bl_bpe_from_priorities gives tokens equal priorities: ids and places in a list are unique. */
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

/* Finds the merge of every token and adds the symbols, in the order of the list. A merge makes its token if the tokens
 * that it joins are made, and stay separate beside each other by the merges before it. Returns false if the symbols are
 * not ordered, that is, if a symbol comes before one that it is made of: the result is wrong then, and
 * bpe_make_tokens must make it again. */
static bool merges_make_tokens(struct bl_bpe *bpe, const struct rules *rules, struct made *made, size_t *count,
                               uint32_t *number)
{
    bool passed = false;
    for (size_t i = 0; i < rules->merges; i++) {
        const struct bl_merge *merge = &rules->merge[i];
        uint32_t left = number[merge->left], right = number[merge->right], symbol = (uint32_t)(256 + *count);
        const struct bl_token *token = &rules->v->token[merge->token];
        /* Passed merges matter only if their tokens are made later. */
        passed = passed || left == NONE || right == NONE;
        if (left == NONE || right == NONE || number[merge->token] != NONE || token->size > TOKEN_BYTES_MAX ||
            !bl_bpe_pair_holds(bpe, left, right))
            continue;
        bpe_add_symbol(bpe, token, symbol, left, right);
        number[merge->token] = symbol;
        made[(*count)++] = (struct made){(uint32_t)i, merge->left, merge->right, merge->token};
    }
    bpe->ordered = true;
    /* A merge that was passed by, because its tokens were made only later, must not make its token. */
    for (size_t i = 0; passed && i < rules->merges; i++) {
        uint32_t left = number[rules->merge[i].left], right = number[rules->merge[i].right];
        bool later =
            left != NONE && right != NONE &&
            ((left >= 256 && made[left - 256].priority > i) || (right >= 256 && made[right - 256].priority > i));
        if (later && bl_bpe_pair_holds(bpe, left, right))
            return false;
    }
    return true;
}

/* Adds all symbols, by the list in one pass where its order allows that, otherwise token by token. */
static int bpe_make_tokens(struct bl_bpe *bpe, struct rules *rules, const uint32_t byte_token[256], struct made *made,
                           size_t *count, uint32_t *number, struct bl_error *e)
{
    const struct bl_vocabulary *v = rules->v;
    *count = 0;
    bpe_begin(bpe, v, byte_token, number);
    if (rules->listed && merges_make_tokens(bpe, rules, made, count, number))
        return BL_OK;
    /* If there is a list, the pass over it gave up: the tables start again, now with lookups by hash. */
    BL_TRY(rules->listed ? rules_add_merges(rules, e) : BL_OK);
    *count = 0;
    bpe_begin(bpe, v, byte_token, number);
    /* The symbols may be in any order: the bytes of each token are merged alone, which takes longer. */
    for (uint32_t i = 0; i < v->count; i++) {
        uint32_t size = v->token[i].size;
        if (size > 1 && size <= TOKEN_BYTES_MAX && token_merge_alone(rules, byte_token, i, &made[*count]))
            ++*count;
    }
    /* The number of a symbol is its place in this order, so lower symbols merge first. */
    qsort(made, *count, sizeof *made, made_compare);
    for (uint32_t i = 0; i < *count; i++)
        number[made[i].token] = 256 + i;
    bpe->ordered = true;
    for (uint32_t i = 0; i < *count; i++) {
        uint32_t left = number[made[i].left], right = number[made[i].right];
        bpe_add_symbol(bpe, &v->token[made[i].token], 256 + i, left, right);
        bpe->ordered = bpe->ordered && left < 256 + i && right < 256 + i;
    }
    return BL_OK;
}

/* Builds all tables of bpe. direct: a word that is a token gets its id, also where merging gives other ids. The caller
 * frees bpe also after an error. */
static int bpe_build(struct bl_bpe *bpe, struct rules *rules, bool direct, struct bl_error *e)
{
    const struct bl_vocabulary *v = rules->v;
    uint32_t byte_token[256];
    size_t count = 0;
    int64_t known;
    BL_TRY(bytes_find_tokens(rules, byte_token, e));
    struct made *made = malloc(v->count * sizeof *made);
    uint32_t *number = malloc(v->count * sizeof *number);
    int code = made && number ? bpe_allocate(bpe, v->count, e) : bl_error_memory(e);
    if (code)
        goto out;
    code = bpe_make_tokens(bpe, rules, byte_token, made, &count, number, e);
    if (code)
        goto out;
    /* Only direct words can be tokens of several bytes that no merge makes (ignore_merges). */
    for (size_t i = 0; direct && i < v->count && !code; i++) {
        const struct bl_token *token = &v->token[i];
        if (token->size > 1 && number[i] == NONE)
            code = bl_vocabulary_add(&bpe->strays, bl_vocabulary_bytes(v, i), token->size, token->id, &known, e);
    }
    if (code)
        goto out;
    /* Notes which bytes are adjacent in a symbol: words may be split between all others. The bytes of a character
     * always count as adjacent, so that no split divides a character. */
    for (size_t i = 0; i < count; i++) {
        const uint8_t *bytes = bl_vocabulary_bytes(v, made[i].token);
        for (size_t j = 1; j < v->token[made[i].token].size; j++)
            bpe->joined[bytes[j - 1] * 4 + bytes[j] / 64] |= (uint64_t)1 << bytes[j] % 64;
    }
    for (size_t first = 0; first < 256; first++)
        bpe->joined[first * 4 + 2] = UINT64_MAX; /* a byte from 80 to BF continues a character */
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

/* Returns BL_EFAIL if a pair is listed twice. Merges of a pair make the same token, so only the few merges of each
 * token are compared: they are linked from the last one to the first. first: the index of the merge that the file calls
 * merge 0, after those of bytes to characters; tokens: the size of the vocabulary. */
static int merges_check_pairs(const struct bl_merge *merge, size_t count, size_t first, size_t tokens,
                              struct bl_error *e)
{
    /* last: the last merge of each token; before: the merge of the same token before each merge. */
    uint32_t *last = malloc((tokens + 1) * sizeof *last), *before = malloc((count + 1) * sizeof *before);
    int code = last && before ? BL_OK : bl_error_memory(e);
    if (code)
        goto out;
    memset(last, 0xff, tokens * sizeof *last);
    for (size_t i = 0; i < count && !code; i++) {
        uint32_t same = last[merge[i].token];
        before[i] = same;
        while (same != NONE && (merge[same].left != merge[i].left || merge[same].right != merge[i].right))
            same = before[same];
        last[merge[i].token] = (uint32_t)i;
        if (same != NONE)
            code = bl_error_set(e, BL_EFAIL, "merge %zu has the same pair as merge %zu", i - first, same - first);
    }
out:
    free(last);
    free(before);
    return code;
}

int bl_bpe_from_merges(struct bl_bpe *bpe, const struct bl_vocabulary *v, const struct bl_merge *merges, size_t count,
                       size_t first, bool direct, struct bl_error *e)
{
    struct rules rules = {.v = v, .listed = true, .merge = merges, .merges = count};
    int code = merges_check_pairs(merges, count, first, v->count, e);
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
