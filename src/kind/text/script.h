/* Scripts of characters, as the pre-tokenizer UnicodeScripts of `tokenizers` has them: Hiragana and Katakana are Han, a
 * space and what its version of Unicode does not have are of any script. */
#ifndef BL_SCRIPT_H
#define BL_SCRIPT_H

#include <stdint.h>

#define BL_SCRIPT_ANY 0

/* A number of the script; made by scripts/unicode.py (script_table.c). */
extern const uint8_t bl_script_page[0x110000 >> 8];
extern const uint8_t bl_script_number[];

static inline unsigned bl_script(uint32_t c)
{
    return bl_script_number[(uint32_t)bl_script_page[c >> 8] << 8 | (c & 255)];
}

#endif
