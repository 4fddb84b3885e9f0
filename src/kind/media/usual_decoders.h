/* The decoders for what training data usually has. */
#ifndef BL_USUAL_DECODERS_H
#define BL_USUAL_DECODERS_H

#include <stdbool.h>

/* Finds codec i, from 0 ("H.264"), and the decoder that is used for it; decoder NULL: FFmpeg has none, or only one that
 * needs a GPU. False: there is no codec i. */
bool bl_usual_decoder(int i, const char **codec, const char **decoder);

#endif
