/* The steps of bl_sheet_make. */
#ifndef BL_SHEET_PARTS_H
#define BL_SHEET_PARTS_H

#include "show/sheet.h"
#include "store/stored_sequence.h"

/* Sets piece, pieces and steps. BL_EUSAGE: there is nothing of that subject. */
int bl_sheet_find_pieces(struct bl_sheet *sheet, struct bl_error *e);

/* Sets span: pieces and layout are there. */
int bl_sheet_find_spans(struct bl_sheet *sheet, struct bl_error *e);

/* Makes and draws the lanes: the layout is there. */
int bl_sheet_draw_lanes(struct bl_sheet *sheet, struct bl_error *e);

/* Reads the fields of tokens. BL_EUSAGE: the tokenizer or the mask does not suit them. */
int bl_sheet_read_texts(struct bl_sheet *sheet, struct bl_error *e);

/* Begins to read the steps of a piece that has not failed. *sequence: of the piece before, which was not damaged, of
 * the same field, so that the block that both are in is compared with its checksum only once; or {0}. BL_EDATA: they
 * are not stored. */
int bl_sheet_begin_piece(const struct bl_sheet *sheet, const struct bl_sheet_piece *piece, int field,
                         struct bl_stored_sequence *sequence, struct bl_error *e);

/* Whether the code and error of a read are of damage, which then is noted, once, and *e is cleared. */
bool bl_sheet_note_damage(struct bl_sheet *sheet, int code, struct bl_error *e);

#endif
