/* Marks: the ids that documents begin and end with, beside those of their text. */
#ifndef BL_DOCUMENT_MARKS_H
#define BL_DOCUMENT_MARKS_H

#include <stdint.h>

#define BL_DOCUMENT_MARKS_MAX 16

struct bl_document_marks {
    int32_t id[BL_DOCUMENT_MARKS_MAX];
    int count;
};

#endif
