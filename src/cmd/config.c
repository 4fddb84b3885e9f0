/* The YAML file: reading it into options, sources and fields, and printing the effective configuration.
 *
 * libyaml makes a tree of the file, and the functions below walk it. Two passes read the text: the first one counts
 * events, so that a small file cannot take much time or memory by nesting, anchors or aliases; the second one makes the
 * tree. Every error names the file, line and column:
 *
 *     pack.yaml:3:5: unknown key in a source (path, kind): pth */
#include "cmd/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/text.h"
#include "kind/kinds.h"

/* libyaml takes time quadratic in the depth and in the number of anchors. */
#define DEPTH_MAX 64
#define ANCHORS_MAX 1000
/* The tree takes 160 bytes a value, and its text four times. */
#define VALUES_MAX 2000000
#define FILE_MAX ((size_t)64 << 20)

#define YAML_BINARY "tag:yaml.org,2002:binary"

/* The state of the functions that walk the YAML tree. */
struct reading {
    struct bl_config *config;   /* texts, sources and fields are put here */
    struct bl_options *options; /* the options of the command */
    yaml_document_t *document;  /* the tree; NULL during the first pass */
    const char *path;           /* of the file, for messages */
    struct bl_error *e;
};

/* --- texts -------------------------------------------------------------------------------------------------------- */

/* Records BL_EUSAGE: the file, the position of the node, and the text `what` followed by `detail`. */
static int node_error(const struct reading *r, const yaml_node_t *node, const char *what, const char *detail)
{
    return bl_error_set(r->e, BL_EUSAGE, "%s:%zu:%zu: %s%s", r->path, node->start_mark.line + 1,
                        node->start_mark.column + 1, what, detail);
}

/* Takes ownership of a text, for as long as the configuration lives, and returns it. NULL: out of memory; the error is
 * set. copy may be NULL, for the same reason. */
static char *config_keep(struct bl_config *c, char *copy, struct bl_error *e)
{
    if (!copy) {
        bl_error_memory(e);
        return NULL;
    }
    if (BL_ARRAY_RESIZE(c->text, c->texts + 1, e)) {
        free(copy);
        return NULL;
    }
    return c->text[c->texts++] = copy;
}

/* Returns a scalar's text, kept as long as the configuration. A scalar with the tag !!binary is base64 of a text that
 * is not UTF-8, such as a file name. `what` names the value in messages. NULL: not a text; the error is set. */
static char *config_keep_scalar(const struct reading *r, const yaml_node_t *node, const char *what)
{
    if (node->type != YAML_SCALAR_NODE) {
        node_error(r, node, what,
                   node->type == YAML_MAPPING_NODE ? ": a single value, not a mapping, is expected"
                                                   : ": a single value, not a list, is expected");
        return NULL;
    }
    if (strlen((const char *)node->data.scalar.value) != node->data.scalar.length) {
        node_error(r, node, what, ": a zero byte in a text");
        return NULL;
    }
    if (node->tag && strcmp((const char *)node->tag, YAML_BINARY) == 0) {
        char *copy = strndup((const char *)node->data.scalar.value, node->data.scalar.length);
        int64_t size = copy ? bl_base64_decode(copy, node->data.scalar.length) : 0;
        if (copy && (size < 0 || memchr(copy, '\0', (size_t)size))) {
            free(copy);
            node_error(r, node, what, size < 0 ? ": !!binary is not base64" : ": a zero byte in a text");
            return NULL;
        }
        if (copy)
            copy[size] = '\0';
        return config_keep(r->config, copy, r->e);
    }
    return config_keep(r->config, strdup((const char *)node->data.scalar.value), r->e);
}

/* Returns the node with an index of the tree. libyaml owns it. */
static yaml_node_t *node_get(const struct reading *r, int index)
{
    return yaml_document_get_node(r->document, index);
}

/* --- sources ------------------------------------------------------------------------------------------------------ */

/* Reads a source with a kind: {path: videos/, kind: video}. */
static int config_read_source(const struct reading *r, const yaml_node_t *node, struct bl_source *source)
{
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key_node = node_get(r, pair->key), *value_node = node_get(r, pair->value);
        const char *key = config_keep_scalar(r, key_node, "key of a source");
        const char *value = key ? config_keep_scalar(r, value_node, key) : NULL;
        if (!value)
            return r->e->code;
        if (strcmp(key, "path") == 0) {
            source->path = value;
        } else if (strcmp(key, "kind") == 0) {
            source->kind = bl_kind_find(value);
            if (!source->kind)
                return node_error(r, value_node, "there is no kind ", value);
        } else {
            return node_error(r, key_node, "unknown key in a source (path, kind): ", key);
        }
    }
    return source->path ? BL_OK : node_error(r, node, "a source without a path", "");
}

/* Reads the list of sources. Each is a path, or a mapping with path and kind. */
static int config_read_sources(const struct reading *r, const yaml_node_t *node)
{
    if (node->type != YAML_SEQUENCE_NODE)
        return node_error(r, node, "sources", ": a list is expected (- path: videos/)");
    size_t count = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    r->config->source = calloc(count + 1, sizeof *r->config->source);
    if (!r->config->source)
        return bl_error_memory(r->e);
    for (size_t i = 0; i < count; i++) {
        const yaml_node_t *item = node_get(r, node->data.sequence.items.start[i]);
        struct bl_source *source = &r->config->source[i];
        source->line = (int64_t)item->start_mark.line + 1;
        if (item->type == YAML_MAPPING_NODE)
            BL_TRY(config_read_source(r, item, source));
        else if (!(source->path = config_keep_scalar(r, item, "a source")))
            return r->e->code;
    }
    r->config->sources = (int)count;
    return BL_OK;
}

/* --- options ------------------------------------------------------------------------------------------------------ */

/* Prefixes the message about an option with "file:line:column". Returns code. */
static int node_prefix_error(const struct reading *r, const yaml_node_t *at, int code)
{
    if (code)
        bl_error_prefix(r->e, "%s:%zu:%zu", r->path, at->start_mark.line + 1, at->start_mark.column + 1);
    return code;
}

/* Sets an option, at BL_ORIGIN_FILE. A list sets an option that may be repeated once for each item. */
static int config_set_option(const struct reading *r, struct bl_options *options, const char *key,
                             const yaml_node_pair_t *pair)
{
    const yaml_node_t *key_node = node_get(r, pair->key), *value_node = node_get(r, pair->value);
    if (value_node->type == YAML_SEQUENCE_NODE && bl_options_repeats(options, key)) {
        const yaml_node_item_t *top = value_node->data.sequence.items.top;
        for (const yaml_node_item_t *item = value_node->data.sequence.items.start; item < top; item++) {
            const yaml_node_t *node = node_get(r, *item);
            const char *value = config_keep_scalar(r, node, key);
            if (!value)
                return r->e->code;
            BL_TRY(node_prefix_error(r, node, bl_options_set(options, key, value, BL_ORIGIN_FILE, r->e)));
        }
        return BL_OK;
    }
    const char *value = config_keep_scalar(r, value_node, key);
    if (!value)
        return r->e->code;
    /* An unknown option is a fault of the key, not of the value. */
    int code = bl_options_set(options, key, value, BL_ORIGIN_FILE, r->e);
    return node_prefix_error(r, code && strncmp(r->e->text, "unknown", 7) == 0 ? key_node : value_node, code);
}

/* Returns whether text names the key; "_" and "-" are equal. */
static bool key_matches(const char *text, const char *key)
{
    for (; *text && (*text == *key || (*text == '_' && *key == '-')); text++)
        key++;
    return *text == *key;
}

/* Returns the key of the pair, with "-" for "_". NULL: not a text, or a repeated key; the error is set. libyaml itself
 * allows that a key occurs twice. */
static const char *config_read_key(const struct reading *r, const yaml_node_t *mapping, const yaml_node_pair_t *pair)
{
    const yaml_node_t *node = node_get(r, pair->key);
    char *key = config_keep_scalar(r, node, "key");
    for (char *at = key ? strchr(key, '_') : NULL; at; at = strchr(at, '_'))
        *at = '-';
    for (const yaml_node_pair_t *before = mapping->data.mapping.pairs.start; key && before < pair; before++) {
        if (!key_matches((const char *)node_get(r, before->key)->data.scalar.value, key))
            continue;
        bl_error_set(r->e, BL_EUSAGE, "%s:%zu:%zu: key given twice: %s (first in line %zu)", r->path,
                     node->start_mark.line + 1, node->start_mark.column + 1, key,
                     node_get(r, before->key)->start_mark.line + 1);
        return NULL;
    }
    return key;
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

/* Sets the options of a field: with `first` those that decide what other options exist, such as path and kind,
 * otherwise the others. */
static int config_set_field(const struct reading *r, const yaml_node_t *node, struct bl_extra_field *field, bool first)
{
    yaml_node_pair_t *top = node->data.mapping.pairs.top;
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < top; pair++) {
        const char *key = config_read_key(r, node, pair);
        if (!key)
            return r->e->code;
        if (bl_extra_field_is_early(key) != first)
            continue;
        BL_TRY(node_prefix_error(r, node_get(r, pair->key), bl_extra_field_refuse(field, key, r->e)));
        BL_TRY(config_set_option(r, &field->options, key, pair));
    }
    return BL_OK;
}

/* Reads the list of fields: - {name: labels, path: "labels/{id}.npy", kind: array, ...} */
static int config_read_fields(const struct reading *r, const yaml_node_t *node)
{
    struct bl_config *c = r->config;
    if (node->type != YAML_SEQUENCE_NODE)
        return node_error(r, node, "fields", ": a list is expected (- name: labels)");
    for (yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
        const yaml_node_t *at = node_get(r, *item);
        if (c->fields == BL_FIELDS_MAX - 1)
            return node_error(r, at, "too many fields", "");
        struct bl_extra_field *field = &c->field[c->fields++];
        if (at->type != YAML_MAPPING_NODE)
            return node_error(r, at, "a field", ": a mapping is expected (name: labels, path: \"labels/{id}.npy\")");
        BL_TRY(bl_extra_field_begin(field, r->e));
        BL_TRY(config_set_field(r, at, field, true));
        BL_TRY(node_prefix_error(r, at, bl_extra_field_use_kind(field, r->e)));
        BL_TRY(config_set_field(r, at, field, false));
        BL_TRY(node_prefix_error(r, at, bl_extra_field_check(field, r->e)));
        for (int f = 0; f < c->fields - 1; f++) {
            if (strcmp(c->field[f].name, field->name) == 0)
                return node_error(r, at, "two fields have the name ", field->name);
        }
    }
    return BL_OK;
}

/* --- file --------------------------------------------------------------------------------------------------------- */

/* Reads the mapping that is the file: every key is an option, except "sources" and "fields". */
static int config_read_root(const struct reading *r, const yaml_node_t *root)
{
    if (root->type != YAML_MAPPING_NODE)
        return node_error(r, root, "a mapping of keys to values is expected", "");
    yaml_node_pair_t *top = root->data.mapping.pairs.top;
    for (yaml_node_pair_t *pair = root->data.mapping.pairs.start; pair < top; pair++) {
        const yaml_node_t *value = node_get(r, pair->value);
        const char *key = config_read_key(r, root, pair);
        if (!key)
            return r->e->code;
        if (strcmp(key, "sources") == 0)
            BL_TRY(config_read_sources(r, value));
        else if (strcmp(key, "fields") == 0)
            BL_TRY(config_read_fields(r, value));
        else
            BL_TRY(config_set_option(r, r->options, key, pair));
    }
    return BL_OK;
}

/* Returns the parser's error: BL_EUSAGE with the position, or BL_EFAIL if memory ran out. */
static int parser_error(const struct reading *r, const yaml_parser_t *parser)
{
    if (!parser->problem)
        return bl_error_memory(r->e); /* libyaml has messages for all other errors */
    return bl_error_set(r->e, BL_EUSAGE, "%s:%zu:%zu: not YAML: %s", r->path, parser->problem_mark.line + 1,
                        parser->problem_mark.column + 1, parser->problem);
}

/* Parses the document without making a tree, event by event, and refuses one that would be too expensive. */
static int yaml_check_bounds(const struct reading *r, yaml_parser_t *parser)
{
    int code = BL_OK, depth = 0, anchors = 0, values = 0;
    for (bool end = false; !end && !code;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return parser_error(r, parser);
        depth += event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT;
        depth -= event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        anchors += (event.type == YAML_SCALAR_EVENT && event.data.scalar.anchor) ||
                   (event.type == YAML_SEQUENCE_START_EVENT && event.data.sequence_start.anchor) ||
                   (event.type == YAML_MAPPING_START_EVENT && event.data.mapping_start.anchor);
        values++;
        if (depth > DEPTH_MAX || anchors > ANCHORS_MAX || values > VALUES_MAX)
            code = bl_error_set(r->e, BL_EUSAGE, "%s:%zu:%zu: %s", r->path, event.start_mark.line + 1,
                                event.start_mark.column + 1,
                                depth > DEPTH_MAX       ? "nested too deeply"
                                : anchors > ANCHORS_MAX ? "too many anchors"
                                                        : "too many values (a list of files: @FILE)");
        end = event.type == YAML_DOCUMENT_END_EVENT || event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    return code;
}

/* Parses the document again, makes the tree, and reads it. */
static int config_read_tree(const struct reading *r, yaml_parser_t *parser)
{
    yaml_document_t document;
    if (!yaml_parser_load(parser, &document))
        return parser_error(r, parser);
    struct reading within = *r;
    within.document = &document;
    yaml_node_t *root = yaml_document_get_root_node(&document);
    int code = root ? config_read_root(&within, root) : bl_error_set(r->e, BL_EUSAGE, "%s is empty", r->path);
    yaml_document_delete(&document);
    return code;
}

/* Reads the file in chunks, since it may be a pipe, whose size is unknown. */
static int config_read_text(FILE *file, const char *path, struct bl_buffer *text, struct bl_error *e)
{
    for (size_t got = 1; got;) {
        if (!bl_buffer_reserve(text, 1 << 16))
            return bl_error_memory(e);
        got = fread(text->data + text->size, 1, 1 << 16, file);
        if (ferror(file))
            return bl_error_errno(e, bl_errno_is_system(errno) ? BL_EFAIL : BL_EUSAGE, "cannot read %s", path);
        text->size += got;
        if (text->size > FILE_MAX)
            return bl_error_set(e, BL_EUSAGE, "%s is longer than %zu bytes", path, FILE_MAX);
    }
    return BL_OK;
}

int bl_config_read(struct bl_config *config, const char *path, struct bl_options *options, struct bl_error *e)
{
    struct bl_buffer text = {0};
    *config = (struct bl_config){0};
    const char *slash = strrchr(path, '/'); /* "pack.yaml" alone is in the working directory: directory stays NULL */
    if (slash) {
        config->directory = strndup(path, slash == path ? 1 : (size_t)(slash - path));
        if (!config->directory)
            return bl_error_memory(e);
    }
    FILE *file = fopen(path, "rbe");
    if (!file)
        return bl_error_errno(e, bl_errno_is_system(errno) ? BL_EFAIL : BL_EUSAGE, "cannot open %s", path);
    struct reading r = {.config = config, .options = options, .path = path, .e = e};
    int code = config_read_text(file, path, &text, e);
    for (int pass = 0; pass < 2 && !code; pass++) { /* libyaml cannot rewind, so each pass has a parser */
        yaml_parser_t parser;
        if (!yaml_parser_initialize(&parser)) {
            code = bl_error_memory(e);
            break;
        }
        yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.size);
        code = pass ? config_read_tree(&r, &parser) : yaml_check_bounds(&r, &parser);
        yaml_parser_delete(&parser);
    }
    bl_buffer_free(&text);
    fclose(file); /* read only: no data to lose */
    return code;
}

/* A path that the file gives counts from the file's directory, wherever the command is run. */
int bl_config_resolve(struct bl_config *config, const struct bl_options *options, const struct bl_option *table,
                      void *values, struct bl_error *e)
{
    for (const struct bl_option *option = table; option->name; option++) {
        const char **value = (const char **)((char *)values + option->offset);
        /* Only file names of the file are resolved: those of flags are relative to the working directory. */
        if (option->type != &bl_option_path || !*value || !config->directory ||
            bl_options_origin(options, option->name) != BL_ORIGIN_FILE)
            continue;
        bool is_word = false;
        for (const char *const *word = option->choices; word && *word; word++)
            is_word |= strcmp(*word, *value) == 0;
        if (is_word)
            continue;
        const char *path = config_keep(config, bl_path_join(config->directory, *value), e);
        if (!path)
            return e->code;
        /* A name that means something of its own, such as that of a built-in tokenizer, is a path only where a file of
         * that name exists. */
        if (access(path, F_OK) == 0 || !option->is_name || !option->is_name(*value))
            *value = path;
    }
    return BL_OK;
}

void bl_config_free(struct bl_config *config)
{
    for (int f = 0; f < config->fields; f++)
        bl_extra_field_free(&config->field[f]);
    for (size_t i = 0; i < config->texts; i++)
        free(config->text[i]);
    free(config->text);
    free(config->source);
    free(config->directory);
    *config = (struct bl_config){0};
}

/* --- printing ----------------------------------------------------------------------------------------------------- */

/* Appends a text in double quotes, which can hold any text and keep it readable: "a \"b\"", with hidden characters as
 * "\u200B". Text that is not UTF-8 becomes !!binary "base64". */
static void yaml_append_quoted(struct bl_buffer *out, const char *text)
{
    size_t size = strlen(text);
    if (bl_utf8_valid(text, size) < size) {
        bl_buffer_text(out, "!!binary \"");
        bl_base64_append(out, text, size);
        bl_buffer_byte(out, '"');
        return;
    }
    bl_buffer_byte(out, '"');
    for (size_t at = 0, length; at < size; at += length) {
        uint32_t point;
        length = bl_utf8_decode(text + at, &point);
        if (!bl_utf8_visible(text + at, length))
            bl_buffer_printf(out, "\\u%04X", (unsigned)point);
        else if (text[at] == '"' || text[at] == '\\')
            bl_buffer_printf(out, "\\%c", text[at]);
        else
            bl_buffer_append(out, text + at, length);
    }
    bl_buffer_byte(out, '"');
}

/* Appends "NAME: VALUE" behind *indent, the prefix of the next line of its mapping, unless there is no value. The first
 * option of a field comes after "  - ", all others after four spaces. */
static void config_print_option(const struct bl_option_match *match, const char **indent, struct bl_buffer *out)
{
    const struct bl_option *option = match->option;
    struct bl_buffer value = {0};
    bl_option_format(match->group, option, &value);
    if (value.size && !option->command_line_only) {
        bl_buffer_printf(out, "%s%s: ", *indent, option->name);
        *indent = **indent ? "    " : "";
        if (option->type == &bl_option_texts) {
            const struct bl_texts *texts = (const void *)((const char *)match->group->values + option->offset);
            for (int i = 0; i < texts->count; i++) {
                bl_buffer_text(out, i ? ", " : "[");
                yaml_append_quoted(out, texts->text[i]);
            }
            bl_buffer_byte(out, ']');
        } else if (option->type == &bl_option_string || option->type == &bl_option_path || option->repeats)
            yaml_append_quoted(out, value.data);
        else
            bl_buffer_text(out, value.data);
        bl_buffer_byte(out, '\n');
    }
    bl_buffer_free_part(&value, out);
}

/* The order is that of a file that a person would write: sources, fields, then the options of each stage. */
void bl_config_print(const struct bl_config *config, const struct bl_options *options, const struct bl_source *source,
                     int sources, struct bl_buffer *out)
{
    if (sources)
        bl_buffer_text(out, "sources:\n");
    for (int i = 0; i < sources; i++) {
        bl_buffer_text(out, "  - path: ");
        yaml_append_quoted(out, source[i].path);
        bl_buffer_byte(out, '\n');
        if (source[i].kind)
            bl_buffer_printf(out, "    kind: %s\n", source[i].kind->name);
    }
    if (config->fields)
        bl_buffer_text(out, "fields:\n");
    for (int f = 0; f < config->fields; f++) {
        const char *indent = "  - ";
        for (struct bl_option_match m = {0}; bl_extra_field_next(&config->field[f], &m);)
            config_print_option(&m, &indent, out);
    }
    const char *indent = "";
    for (struct bl_option_match m = {0}; bl_options_next(options, &m);)
        config_print_option(&m, &indent, out);
}
