/* Parses answers of stores.
 *
 * Their XML has elements and text alone: no attributes that matter, and no definitions. So the reader below knows
 * these, and refuses what could define something, such as <!DOCTYPE. Keys come percent-encoded (encoding-type=url),
 * since XML cannot have every byte of a key. */
#include "remote/listing.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "remote/url.h"

/* --- XML ---------------------------------------------------------------------------------------------------------- */

#define XML_DEPTH_MAX 16

/* A name of an element, which points into the text. */
struct xml_name {
    const char *text;
    size_t size;
};

/* A document that is read from its beginning to its end. */
struct xml_reader {
    const char *at, *end;
    struct xml_name open[XML_DEPTH_MAX]; /* the elements around the place */
    int depth;
    struct bl_buffer text; /* of the innermost element, until an element begins in it */
};

/* Is called at the end of each element, which is still open. BL_OK: go on. */
typedef int xml_visit(void *context, const struct xml_reader *reader, struct bl_error *e);

static bool xml_is(const struct xml_reader *x, int depth, const char *name)
{
    return x->depth > depth && x->open[depth].size == strlen(name) &&
           memcmp(x->open[depth].text, name, x->open[depth].size) == 0;
}

/* Appends the character that "&...;" stands for, and moves past it. */
static bool xml_read_entity(struct xml_reader *x)
{
    static const struct {
        const char *name;
        char byte;
    } names[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
    const char *name = x->at + 1,
               *close = memchr(name, ';', (size_t)(x->end - name) < 10 ? (size_t)(x->end - name) : 10);
    if (!close)
        return false;
    size_t size = (size_t)(close - name);
    x->at = close + 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].name) == size && memcmp(names[i].name, name, size) == 0) {
            bl_buffer_byte(&x->text, names[i].byte);
            return true;
        }
    }
    if (size < 2 || *name != '#')
        return false;
    uint32_t point = 0;
    bool hexadecimal = name[1] == 'x';
    for (const char *at = name + 1 + hexadecimal; at < close; at++) {
        int digit = bl_text_hex_digit(*at);
        if (digit < 0 || (!hexadecimal && digit > 9) || point > 0x10ffff)
            return false;
        point = point * (hexadecimal ? 16 : 10) + (uint32_t)digit;
    }
    if (!point || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        return false;
    char bytes[4];
    bl_buffer_append(&x->text, bytes, (size_t)bl_utf8_encode(point, bytes));
    return true;
}

/* Moves past "<?...?>" or a comment. */
static bool xml_skip(struct xml_reader *x, const char *close)
{
    const char *found = memmem(x->at, (size_t)(x->end - x->at), close, strlen(close));
    x->at = found ? found + strlen(close) : x->end;
    return found != NULL;
}

/* Reads a tag. *closed: an element ends here; it is still in open. */
static bool xml_read_tag(struct xml_reader *x, bool *closed)
{
    const char *name = x->at + 1, *at = name;
    bool is_end = at < x->end && *at == '/';
    name += is_end, at += is_end;
    while (at < x->end && !strchr(" \t\r\n/>", *at) && *at != '<')
        at++;
    struct xml_name read = {name, (size_t)(at - name)};
    /* Attributes, which may contain a bracket within quotes. */
    for (char quote = 0; at < x->end && (quote || (*at != '>' && *at != '<')); at++) {
        if (*at == '"' || *at == '\'')
            quote = !quote ? *at : quote == *at ? 0 : quote;
    }
    if (at == x->end || *at != '>' || !read.size)
        return false;
    x->at = at + 1;
    *closed = is_end || at[-1] == '/';
    if (is_end && x->depth) {
        const struct xml_name *open = &x->open[x->depth - 1];
        return open->size == read.size && memcmp(open->text, read.text, read.size) == 0;
    }
    if (is_end || x->depth == XML_DEPTH_MAX)
        return false;
    x->open[x->depth++] = read;
    bl_buffer_clear(&x->text);
    return true;
}

/* Reads the next piece of markup or text. */
static bool xml_read_piece(struct xml_reader *x, bool *closed)
{
    size_t left = (size_t)(x->end - x->at);
    *closed = false;
    if (*x->at == '&')
        return xml_read_entity(x);
    if (*x->at == '<' && left > 1 && x->at[1] == '?')
        return xml_skip(x, "?>");
    if (left > 3 && memcmp(x->at, "<!--", 4) == 0)
        return xml_skip(x, "-->");
    if (*x->at == '<')
        return left > 1 && x->at[1] != '!' && xml_read_tag(x, closed);
    const char *from = x->at;
    while (x->at < x->end && *x->at != '<' && *x->at != '&')
        x->at++;
    bl_buffer_append(&x->text, from, (size_t)(x->at - from));
    return !memchr(from, '\0', (size_t)(x->at - from));
}

/* Reads a document and calls visit for each element. *good: it is well-formed. */
static int xml_read(const char *text, size_t size, xml_visit *visit, void *context, bool *good, struct bl_error *e)
{
    struct xml_reader x = {.at = text, .end = text + size};
    bool any = false;
    int code = BL_OK;
    *good = true;
    while (x.at < x.end && *good && !code) {
        bool closed;
        *good = xml_read_piece(&x, &closed);
        if (!*good || !closed)
            continue;
        any = true;
        bl_buffer_text(&x.text, "");
        code = bl_buffer_check(&x.text, e);
        if (!code)
            code = visit(context, &x, e);
        x.depth--;
        bl_buffer_clear(&x.text);
    }
    *good = *good && any && !x.depth;
    bl_buffer_free(&x.text);
    return code;
}

/* --- ListObjectsV2 ------------------------------------------------------------------------------------------------ */

/* A listing that is being parsed. key and tag are those of the present object. */
struct listing_parser {
    bl_listed_emit *emit;
    void *context;
    struct bl_buffer key, tag, *next;
    int64_t size; /* of the object, or -1 */
    bool is_cut;  /* there is another part */
    bool is_encoded, is_listing;
    const char *fault; /* what is wrong, or NULL */
    bool retold;       /* it is the second reading, which knows whether keys are encoded */
};

/* Decodes a key in place: percent-encoded, and "+" for a space. False: it is malformed, or has a zero byte. */
static bool key_decode(struct bl_buffer *key, bool is_encoded)
{
    for (size_t i = 0; i < key->size && is_encoded; i++)
        key->data[i] = key->data[i] == '+' ? ' ' : key->data[i];
    int64_t size = is_encoded ? bl_url_decode(key->data, key->size) : (int64_t)key->size;
    if (size <= 0)
        return false;
    key->size = (size_t)size;
    key->data[size] = '\0';
    return true;
}

/* Gives an object to the caller. */
static int listing_end_object(struct listing_parser *p, struct bl_error *e)
{
    bl_buffer_text(&p->key, "");
    bl_buffer_text(&p->tag, "");
    BL_TRY(bl_buffer_check(&p->key, e));
    BL_TRY(bl_buffer_check(&p->tag, e));
    if (!key_decode(&p->key, p->is_encoded) || p->size < 0) {
        p->fault = p->size < 0 ? "an object without a size" : "an object without a proper key";
        return BL_OK;
    }
    bl_tag_trim(p->tag.data);
    const struct bl_listed object = {p->key.data, p->size, p->tag.data};
    int code = p->emit(p->context, &object, e);
    bl_buffer_clear(&p->key);
    bl_buffer_clear(&p->tag);
    p->size = -1;
    return code;
}

/* Keeps what an element of the listing says. */
static int listing_visit(void *context, const struct xml_reader *x, struct bl_error *e)
{
    struct listing_parser *p = context;
    const struct bl_buffer *text = &x->text;
    p->is_listing = p->is_listing || xml_is(x, 0, "ListBucketResult");
    if (!p->is_listing || p->fault)
        return BL_OK;
    if (x->depth == 2 && xml_is(x, 1, "IsTruncated"))
        p->is_cut = strcmp(text->data, "true") == 0;
    else if (x->depth == 2 && xml_is(x, 1, "EncodingType"))
        p->is_encoded = strcmp(text->data, "url") == 0;
    else if (x->depth == 2 && xml_is(x, 1, "NextContinuationToken") && p->retold)
        bl_buffer_append(p->next, text->data, text->size);
    if (!p->retold || !xml_is(x, 1, "Contents"))
        return BL_OK;
    if (x->depth == 2)
        return listing_end_object(p, e);
    if (x->depth == 3 && xml_is(x, 2, "Key"))
        bl_buffer_append(&p->key, text->data, text->size);
    else if (x->depth == 3 && xml_is(x, 2, "ETag"))
        bl_buffer_append(&p->tag, text->data, text->size);
    else if (x->depth == 3 && xml_is(x, 2, "Size") && !bl_text_to_int(text->data, text->size, 0, INT64_MAX, &p->size))
        p->fault = "a size that is no number";
    return BL_OK;
}

int bl_listing_parse(const char *text, size_t size, bl_listed_emit *emit, void *context, struct bl_buffer *next,
                     struct bl_error *e)
{
    struct listing_parser p = {.emit = emit, .context = context, .next = next, .size = -1};
    bool good = true;
    /* The way of encoding may stand behind the keys. */
    int code = xml_read(text, size, listing_visit, &p, &good, e);
    p.retold = true;
    if (!code && good && p.is_listing)
        code = xml_read(text, size, listing_visit, &p, &good, e);
    if (!code && (!good || !p.is_listing))
        p.fault = "no listing: --endpoint or AWS_ENDPOINT_URL may name a server of another kind";
    if (!code)
        code = bl_buffer_check(next, e);
    if (!code && !p.fault && p.is_cut && !next->size)
        p.fault = "a part of a listing without the token of the next one";
    if (!code && p.fault)
        code = bl_error_set(e, BL_EFAIL, "the answer has %s", p.fault);
    if (!p.is_cut)
        bl_buffer_clear(next);
    bl_buffer_free(&p.key);
    bl_buffer_free(&p.tag);
    return code;
}

/* --- uploads ------------------------------------------------------------------------------------------------------ */

/* A list of uploads that is being parsed. key, id and begun are those of the present upload. */
struct uploads_parser {
    bl_pending_emit *emit;
    void *context;
    struct bl_buffer key, id;
    int64_t begun;
    struct bl_pending_place *next;
    bool is_cut, is_encoded, is_list;
    const char *fault;
    bool retold; /* as in struct listing_parser */
};

void bl_pending_place_free(struct bl_pending_place *place)
{
    bl_buffer_free(&place->key);
    bl_buffer_free(&place->id);
}

/* Returns the seconds since 1970 of "2026-11-29T10:20:30.000Z", or 0. */
static int64_t begun_parse(const char *text)
{
    struct tm utc = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
    return end && (*end == '.' || *end == 'Z') ? (int64_t)timegm(&utc) : 0;
}

/* Gives an upload to the caller. */
static int uploads_end_one(struct uploads_parser *p, struct bl_error *e)
{
    bl_buffer_text(&p->key, "");
    bl_buffer_text(&p->id, "");
    BL_TRY(bl_buffer_check(&p->key, e));
    BL_TRY(bl_buffer_check(&p->id, e));
    if (!p->id.size || !key_decode(&p->key, p->is_encoded)) {
        p->fault = "an upload without a key or name";
        return BL_OK;
    }
    const struct bl_pending upload = {p->key.data, p->id.data, p->begun};
    int code = p->emit(p->context, &upload, e);
    bl_buffer_clear(&p->key);
    bl_buffer_clear(&p->id);
    p->begun = 0;
    return code;
}

/* Keeps what an element of the list says. */
static int uploads_visit(void *context, const struct xml_reader *x, struct bl_error *e)
{
    struct uploads_parser *p = context;
    const struct bl_buffer *text = &x->text;
    p->is_list = p->is_list || xml_is(x, 0, "ListMultipartUploadsResult");
    if (!p->is_list || p->fault)
        return BL_OK;
    if (x->depth == 2 && xml_is(x, 1, "IsTruncated"))
        p->is_cut = strcmp(text->data, "true") == 0;
    else if (x->depth == 2 && xml_is(x, 1, "EncodingType"))
        p->is_encoded = strcmp(text->data, "url") == 0;
    else if (x->depth == 2 && xml_is(x, 1, "NextKeyMarker") && p->retold)
        bl_buffer_append(&p->next->key, text->data, text->size);
    else if (x->depth == 2 && xml_is(x, 1, "NextUploadIdMarker") && p->retold)
        bl_buffer_append(&p->next->id, text->data, text->size);
    if (!p->retold || !xml_is(x, 1, "Upload"))
        return BL_OK;
    if (x->depth == 2)
        return uploads_end_one(p, e);
    if (x->depth == 3 && xml_is(x, 2, "Key"))
        bl_buffer_append(&p->key, text->data, text->size);
    else if (x->depth == 3 && xml_is(x, 2, "UploadId"))
        bl_buffer_append(&p->id, text->data, text->size);
    else if (x->depth == 3 && xml_is(x, 2, "Initiated"))
        p->begun = begun_parse(text->data);
    return BL_OK;
}

int bl_uploads_parse(const char *text, size_t size, bl_pending_emit *emit, void *context, struct bl_pending_place *next,
                     struct bl_error *e)
{
    struct uploads_parser p = {.emit = emit, .context = context, .next = next};
    bool good = true;
    int code = xml_read(text, size, uploads_visit, &p, &good, e);
    p.retold = true;
    if (!code && good && p.is_list)
        code = xml_read(text, size, uploads_visit, &p, &good, e);
    if (!code && (!good || !p.is_list))
        p.fault = "no list of uploads";
    if (!p.is_cut) {
        bl_buffer_clear(&next->key);
        bl_buffer_clear(&next->id);
    }
    bl_buffer_text(&next->key, "");
    bl_buffer_text(&next->id, "");
    if (!code)
        code = bl_buffer_check(&next->key, e);
    if (!code)
        code = bl_buffer_check(&next->id, e);
    if (!code && !p.fault && p.is_cut && (!next->key.size || !key_decode(&next->key, p.is_encoded)))
        p.fault = "a part of a list without the place of the next one";
    if (!code && p.fault)
        code = bl_error_set(e, BL_EFAIL, "the answer has %s", p.fault);
    bl_buffer_free(&p.key);
    bl_buffer_free(&p.id);
    return code;
}

/* A member that is looked for. */
struct member_search {
    const char *member;
    struct bl_buffer *out;
    bool found;
};

static int member_visit(void *context, const struct xml_reader *x, struct bl_error *e)
{
    struct member_search *search = context;
    (void)e;
    if (x->depth == 2 && !xml_is(x, 0, "Error") && xml_is(x, 1, search->member) && !search->found) {
        search->found = x->text.size > 0;
        bl_buffer_append(search->out, x->text.data, x->text.size);
    }
    return BL_OK;
}

int bl_store_member(const char *text, size_t size, const char *member, struct bl_buffer *out, struct bl_error *e)
{
    struct member_search search = {member, out, false};
    bool good;
    int code = xml_read(text, size, member_visit, &search, &good, e);
    bl_buffer_text(out, "");
    if (!code)
        code = bl_buffer_check(out, e);
    if (!code && (!good || !search.found))
        code = bl_error_set(e, BL_EFAIL, "the answer has no %s", member);
    return code;
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

/* Keeps a text of the element Credentials, which stands in the result of the action. */
static int sts_visit(void *context, const struct xml_reader *x, struct bl_error *e)
{
    struct bl_sts_answer *answer = context;
    const struct {
        const char *name;
        char **text;
    } members[] = {{"AccessKeyId", &answer->access},
                   {"SecretAccessKey", &answer->secret},
                   {"SessionToken", &answer->token},
                   {"Expiration", &answer->expires}};
    if (x->depth != 4 || !xml_is(x, 2, "Credentials"))
        return BL_OK;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (!xml_is(x, 3, members[i].name) || *members[i].text)
            continue;
        *members[i].text = strdup(x->text.data);
        if (!*members[i].text)
            return bl_error_memory(e);
    }
    return BL_OK;
}

int bl_sts_parse(struct bl_sts_answer *answer, const char *text, size_t size, struct bl_error *e)
{
    bool good;
    *answer = (struct bl_sts_answer){0};
    int code = xml_read(text, size, sts_visit, answer, &good, e);
    if (!code && (!good || !answer->access || !answer->secret || !answer->token))
        code = bl_error_set(e, BL_EFAIL, "the answer has no credentials");
    if (code)
        bl_sts_answer_free(answer);
    return code;
}

void bl_sts_answer_free(struct bl_sts_answer *answer)
{
    free(answer->access);
    if (answer->secret)
        explicit_bzero(answer->secret, strlen(answer->secret));
    free(answer->secret);
    free(answer->token);
    free(answer->expires);
    *answer = (struct bl_sts_answer){0};
}

/* --- faults ------------------------------------------------------------------------------------------------------- */

static int fault_visit(void *context, const struct xml_reader *x, struct bl_error *e)
{
    struct bl_store_fault *fault = context;
    (void)e;
    /* The service of tokens puts the element within another one. */
    int depth = xml_is(x, 0, "ErrorResponse");
    if (x->depth != depth + 2 || !xml_is(x, depth, "Error"))
        return BL_OK;
    if (xml_is(x, depth + 1, "Code"))
        snprintf(fault->code, sizeof fault->code, "%s", x->text.data);
    else if (xml_is(x, depth + 1, "Message"))
        snprintf(fault->message, sizeof fault->message, "%s", x->text.data);
    else if (xml_is(x, depth + 1, "Region"))
        snprintf(fault->region, sizeof fault->region, "%s", x->text.data);
    return BL_OK;
}

void bl_store_fault_parse(struct bl_store_fault *fault, const char *text, size_t size)
{
    struct bl_error e = {0};
    bool good;
    *fault = (struct bl_store_fault){0};
    /* What was understood before a fault of the text is as good as any. */
    (void)xml_read(text, size, fault_visit, fault, &good, &e);
}

/* --- Hugging Face Hub --------------------------------------------------------------------------------------------- */

enum { TREE_TYPE, TREE_PATH, TREE_SIZE, TREE_OID, TREE_LFS, TREE_MEMBERS };

/* Gives a file of the list to the caller; folders are left out. *good: it is a file or folder as described. */
static int tree_read_file(const struct bl_json_value *object, const struct bl_json_key *key, bl_listed_emit *emit,
                          void *context, bool *good, struct bl_error *e)
{
    struct bl_buffer type = {0}, path = {0}, tag = {0}, lfs_tag = {0};
    struct bl_json_value value[TREE_MEMBERS], text[TREE_MEMBERS];
    struct bl_json_fault fault;
    int64_t size;
    int code = BL_OK;
    *good = bl_json_scan(object->text, object->size, key, TREE_MEMBERS, value, &fault) &&
            bl_json_text(&value[TREE_TYPE], &type, &text[TREE_TYPE]);
    if (!*good || text[TREE_TYPE].size != 4 || memcmp(text[TREE_TYPE].text, "file", 4) != 0)
        goto out;
    *good = bl_json_text(&value[TREE_PATH], &path, &text[TREE_PATH]) && text[TREE_PATH].size &&
            !memchr(text[TREE_PATH].text, '\0', text[TREE_PATH].size) &&
            bl_json_text(&value[TREE_OID], &tag, &text[TREE_OID]) && value[TREE_SIZE].type == BL_JSON_NUMBER &&
            bl_text_to_int(value[TREE_SIZE].text, value[TREE_SIZE].size, 0, INT64_MAX, &size);
    if (!*good)
        goto out;
    /* A large file has its SHA-256 in "lfs"; "oid" is that of the file that points to it. */
    const struct bl_json_value *used = &text[TREE_OID];
    if (bl_json_text(&value[TREE_LFS], &lfs_tag, &text[TREE_LFS]))
        used = &text[TREE_LFS];
    /* The texts lie in their buffers, or in the answer, where no NUL follows. */
    char *copy = strndup(text[TREE_PATH].text, text[TREE_PATH].size), *tag_copy = strndup(used->text, used->size);
    const struct bl_listed listed = {copy, size, tag_copy};
    code = copy && tag_copy ? emit(context, &listed, e) : bl_error_memory(e);
    free(copy);
    free(tag_copy);
out:
    bl_buffer_free(&type);
    bl_buffer_free(&path);
    bl_buffer_free(&tag);
    bl_buffer_free(&lfs_tag);
    return code;
}

int bl_tree_parse(const char *text, size_t size, bl_listed_emit *emit, void *context, struct bl_error *e)
{
    static const char *const names[TREE_MEMBERS] = {"type", "path", "size", "oid", "lfs.oid"};
    struct bl_json_key key[TREE_MEMBERS];
    struct bl_json_value list, object;
    struct bl_json_fault fault;
    for (int i = 0; i < TREE_MEMBERS; i++)
        (void)bl_json_key_parse(&key[i], names[i], strlen(names[i]));
    bool good = size && bl_json_scan_value(text, size, &list, &fault) && list.type == BL_JSON_ARRAY;
    for (size_t at = 0; good && bl_json_next(&list, &at, &object);) {
        good = object.type == BL_JSON_OBJECT;
        if (good)
            BL_TRY(tree_read_file(&object, key, emit, context, &good, e));
    }
    return good ? BL_OK : bl_error_set(e, BL_EFAIL, "the answer has no list of files");
}
