/* YAML files: what is accepted prints as a file that is accepted. */
#include "cmd/config.h"
#include "fuzz.h"
#include "plan/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = fuzz_file(data, size, path);
    struct bl_plan_options values = {0};
    struct bl_options options = {0};
    struct bl_config config;
    struct bl_buffer printed = {0};
    struct bl_error e = {0};
    never(bl_options_add(&options, "Planning", bl_plan_option_table, &values, &e));
    if (bl_config_read(&config, path, &options, &e) == BL_OK)
        bl_config_print(&config, &options, config.source, config.sources, &printed);
    else if (!e.text[0])
        abort();
    bl_buffer_free(&printed);
    bl_config_free(&config);
    bl_options_free(&options);
    close(fd);
    return 0;
}
