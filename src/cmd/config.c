#include "cmd/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* What the functions below need to know of where they are. */
struct reading {
    struct bl_config *config;
    struct bl_options *options;
    yaml_document_t *document;
    const char *path;
    struct bl_error *e;
};

static int refuse(const struct reading *r, const yaml_node_t *node, const char *what, const char *detail)
{
    return bl_error_set(r->e, BL_EUSAGE, "%s:%zu:%zu: %s%s", r->path, node->start_mark.line + 1,
                        node->start_mark.column + 1, what, detail);
}

/* Keeps a text as long as the configuration; NULL, with the error set, for no memory. */
static char *keep(struct bl_config *c, char *copy, struct bl_error *e)
{
    char **text = copy ? realloc(c->text, (c->texts + 1) * sizeof *text) : NULL;
    if (!text) {
        free(copy);
        bl_error_memory(e);
        return NULL;
    }
    c->text = text;
    return c->text[c->texts++] = copy;
}

/* A scalar's text, kept as long as the configuration. NULL, with the error set, when it is no text. */
static char *keep_scalar(const struct reading *r, const yaml_node_t *node, const char *what)
{
    if (node->type != YAML_SCALAR_NODE) {
        refuse(r, node, what,
               node->type == YAML_MAPPING_NODE ? ": a single value, not a mapping, is expected"
                                               : ": a single value, not a list, is expected");
        return NULL;
    }
    if (strlen((const char *)node->data.scalar.value) != node->data.scalar.length) {
        refuse(r, node, what, ": a zero byte in a text");
        return NULL;
    }
    return keep(r->config, strdup((const char *)node->data.scalar.value), r->e);
}

static yaml_node_t *node_at(const struct reading *r, int index)
{
    return yaml_document_get_node(r->document, index);
}

/* {path: videos/, kind: video} */
static int read_source_mapping(const struct reading *r, const yaml_node_t *node, struct bl_source *source)
{
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key_node = node_at(r, pair->key), *value_node = node_at(r, pair->value);
        const char *key = keep_scalar(r, key_node, "key of a source");
        const char *value = key ? keep_scalar(r, value_node, key) : NULL;
        if (!value)
            return r->e->code;
        if (strcmp(key, "path") == 0) {
            source->path = value;
        } else if (strcmp(key, "kind") == 0) {
            source->kind = bl_kind_find(value);
            if (!source->kind)
                return refuse(r, value_node, "there is no kind ", value);
        } else {
            return refuse(r, key_node, "unknown key in a source (path, kind): ", key);
        }
    }
    return source->path ? BL_OK : refuse(r, node, "a source without a path", "");
}

static int read_sources(const struct reading *r, const yaml_node_t *node)
{
    if (node->type != YAML_SEQUENCE_NODE)
        return refuse(r, node, "sources", ": a list is expected (- path: videos/)");
    size_t count = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    r->config->source = calloc(count + 1, sizeof *r->config->source);
    if (!r->config->source)
        return bl_error_memory(r->e);
    for (size_t i = 0; i < count; i++) {
        const yaml_node_t *item = node_at(r, node->data.sequence.items.start[i]);
        struct bl_source *source = &r->config->source[i];
        int code = BL_OK;
        if (item->type == YAML_MAPPING_NODE)
            code = read_source_mapping(r, item, source);
        else if (!(source->path = keep_scalar(r, item, "a source")))
            code = r->e->code;
        if (code)
            return code;
    }
    r->config->sources = (int)count;
    return BL_OK;
}

/* Puts "file:line:column" before what is wrong with an option. */
static int place(const struct reading *r, const yaml_node_t *at, int code)
{
    if (code)
        bl_error_prefix(r->e, "%s:%zu:%zu", r->path, at->start_mark.line + 1, at->start_mark.column + 1);
    return code;
}

static int set_option(const struct reading *r, struct bl_options *options, const char *key,
                      const yaml_node_pair_t *pair)
{
    const yaml_node_t *key_node = node_at(r, pair->key), *value_node = node_at(r, pair->value);
    const char *value = keep_scalar(r, value_node, key);
    if (!value)
        return r->e->code;
    int code = bl_options_set(options, key, value, BL_ORIGIN_FILE, r->e);
    return place(r, code && strncmp(r->e->text, "unknown", 7) == 0 ? key_node : value_node, code);
}

/* Whether a key is that one, which "_" spells as "-" does. */
static bool is_key(const char *text, const char *key)
{
    for (; *text && (*text == *key || (*text == '_' && *key == '-')); text++)
        key++;
    return *text == *key;
}

/* The pair's key, spelt with "-", which may not be that of a pair before it; NULL with the error set. */
static const char *read_key(const struct reading *r, const yaml_node_t *mapping, const yaml_node_pair_t *pair)
{
    const yaml_node_t *node = node_at(r, pair->key);
    char *key = keep_scalar(r, node, "key");
    for (char *at = key ? strchr(key, '_') : NULL; at; at = strchr(at, '_'))
        *at = '-';
    for (const yaml_node_pair_t *before = mapping->data.mapping.pairs.start; key && before < pair; before++) {
        if (!is_key((const char *)node_at(r, before->key)->data.scalar.value, key))
            continue;
        refuse(r, node, "key given twice: ", key);
        return NULL;
    }
    return key;
}

/* Sets the options of a field: path and kind first, as these say which others there are, or the others. */
static int set_field(const struct reading *r, const yaml_node_t *node, struct bl_further *field, bool first)
{
    int code = BL_OK;
    yaml_node_pair_t *top = node->data.mapping.pairs.top;
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < top && !code; pair++) {
        const char *key = read_key(r, node, pair);
        if (!key)
            return r->e->code;
        if ((strcmp(key, "path") == 0 || strcmp(key, "kind") == 0) == first)
            code = set_option(r, &field->options, key, pair);
    }
    return code;
}

/* {name: labels, path: "labels/{id}.npy", kind: array, ...} */
static int read_field(const struct reading *r, const yaml_node_t *node, struct bl_further *field)
{
    if (node->type != YAML_MAPPING_NODE)
        return refuse(r, node, "a field", ": a mapping is expected (name: labels, path: \"labels/{id}.npy\")");
    int code = bl_further_begin(field, r->e);
    if (!code)
        code = set_field(r, node, field, true);
    if (!code)
        code = place(r, node, bl_further_use_kind(field, r->e));
    if (!code)
        code = set_field(r, node, field, false);
    return code ? code : place(r, node, bl_further_check(field, r->e));
}

static int read_fields(const struct reading *r, const yaml_node_t *node)
{
    struct bl_config *c = r->config;
    if (node->type != YAML_SEQUENCE_NODE)
        return refuse(r, node, "fields", ": a list is expected (- name: labels)");
    for (yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
        const yaml_node_t *at = node_at(r, *item);
        if (c->fields == BL_FIELDS_MAX - 1)
            return refuse(r, at, "too many fields", "");
        struct bl_further *field = &c->field[c->fields++];
        int code = read_field(r, at, field);
        if (code)
            return code;
        for (int f = 0; f < c->fields - 1; f++) {
            if (strcmp(c->field[f].name, field->name) == 0)
                return refuse(r, at, "two fields have the name ", field->name);
        }
    }
    return BL_OK;
}

static int read_root(const struct reading *r, const yaml_node_t *root)
{
    if (root->type != YAML_MAPPING_NODE)
        return refuse(r, root, "a mapping of keys to values is expected", "");
    int code = BL_OK;
    yaml_node_pair_t *top = root->data.mapping.pairs.top;
    for (yaml_node_pair_t *pair = root->data.mapping.pairs.start; pair < top && !code; pair++) {
        const yaml_node_t *value = node_at(r, pair->value);
        const char *key = read_key(r, root, pair);
        if (!key)
            return r->e->code;
        if (strcmp(key, "sources") == 0)
            code = read_sources(r, value);
        else if (strcmp(key, "fields") == 0)
            code = read_fields(r, value);
        else
            code = set_option(r, r->options, key, pair);
    }
    return code;
}

static int read_document(struct reading *r, FILE *file)
{
    yaml_parser_t parser;
    yaml_document_t document;
    if (!yaml_parser_initialize(&parser))
        return bl_error_memory(r->e);
    yaml_parser_set_input_file(&parser, file);
    int code = BL_OK;
    if (!yaml_parser_load(&parser, &document)) {
        code = !parser.problem
                   ? bl_error_memory(r->e) /* it has a word for everything else */
                   : bl_error_set(r->e, BL_EUSAGE, "%s:%zu:%zu: not YAML: %s", r->path, parser.problem_mark.line + 1,
                                  parser.problem_mark.column + 1, parser.problem);
    } else {
        r->document = &document;
        yaml_node_t *root = yaml_document_get_root_node(&document);
        code = root ? read_root(r, root) : bl_error_set(r->e, BL_EUSAGE, "%s is empty", r->path);
        yaml_document_delete(&document);
    }
    yaml_parser_delete(&parser);
    return code;
}

int bl_config_read(struct bl_config *config, const char *path, struct bl_options *options, struct bl_error *e)
{
    *config = (struct bl_config){0};
    const char *slash = strrchr(path, '/');
    if (slash) {
        config->directory = strndup(path, slash == path ? 1 : (size_t)(slash - path));
        if (!config->directory)
            return bl_error_memory(e);
    }
    FILE *file = fopen(path, "rbe");
    if (!file)
        return bl_error_errno(e, bl_errno_is_system(errno) ? BL_EFAIL : BL_EUSAGE, "cannot open %s", path);
    struct reading r = {.config = config, .options = options, .path = path, .e = e};
    int code = read_document(&r, file);
    fclose(file); /* read only: nothing can be lost by it */
    return code;
}

int bl_config_resolve(struct bl_config *config, const struct bl_options *options, const struct bl_option *table,
                      void *values, struct bl_error *e)
{
    for (const struct bl_option *option = table; option->name; option++) {
        const char **value = (const char **)((char *)values + option->offset);
        if (option->type != &bl_option_path || !*value || !config->directory ||
            bl_options_origin(options, option->name) != BL_ORIGIN_FILE)
            continue;
        bool is_word = false;
        for (const char *const *word = option->choices; word && *word; word++)
            is_word |= strcmp(*word, *value) == 0;
        if (is_word)
            continue;
        *value = keep(config, bl_input_path(config->directory, *value), e);
        if (!*value)
            return e->code;
    }
    return BL_OK;
}

void bl_config_free(struct bl_config *config)
{
    for (int f = 0; f < config->fields; f++)
        bl_further_free(&config->field[f]);
    for (size_t i = 0; i < config->texts; i++)
        free(config->text[i]);
    free(config->text);
    free(config->source);
    free(config->directory);
    *config = (struct bl_config){0};
}

/* --- printing --------------------------------------------------------------------------------------------------- */

/* Double-quoted YAML: understood for any text, whatever it looks like. */
static void append_quoted(struct bl_buffer *out, const char *text)
{
    bl_buffer_byte(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            bl_buffer_printf(out, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            bl_buffer_printf(out, "\\x%02X", (unsigned char)*text);
        else
            bl_buffer_byte(out, *text);
    }
    bl_buffer_byte(out, '"');
}

/* "NAME: VALUE", behind what the lines of its mapping begin with. */
struct printing {
    struct bl_buffer *out;
    const char *indent;
};

static int print_option(void *context, const struct bl_option_group *group, const struct bl_option *option)
{
    struct printing *p = context;
    struct bl_buffer *out = p->out, value = {0};
    bl_option_format(group, option, &value);
    if (value.size && !option->command_line_only) {
        bl_buffer_printf(out, "%s%s: ", p->indent, option->name);
        p->indent = *p->indent ? "    " : "";
        if (option->type == &bl_option_string || option->type == &bl_option_path)
            append_quoted(out, value.data);
        else
            bl_buffer_text(out, value.data);
        bl_buffer_byte(out, '\n');
    }
    out->failed |= value.failed;
    bl_buffer_free(&value);
    return BL_OK;
}

void bl_config_print(const struct bl_config *config, const struct bl_options *options, const struct bl_source *source,
                     int sources, struct bl_buffer *out)
{
    if (sources)
        bl_buffer_text(out, "sources:\n");
    for (int i = 0; i < sources; i++) {
        bl_buffer_text(out, "  - path: ");
        append_quoted(out, source[i].path);
        bl_buffer_byte(out, '\n');
        if (source[i].kind)
            bl_buffer_printf(out, "    kind: %s\n", source[i].kind->name);
    }
    if (config->fields)
        bl_buffer_text(out, "fields:\n");
    for (int f = 0; f < config->fields; f++) {
        struct printing field = {out, "  - "};
        bl_further_each(&config->field[f], print_option, &field);
    }
    struct printing all = {out, ""};
    bl_options_each(options, print_option, &all);
}
