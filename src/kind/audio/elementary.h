/* Elementary functions for tables, made of additions, multiplications and divisions alone: those of the C library
 * differ in the last bit from processor to processor. The error is below 1e-13, far less than a float resolves. */
#ifndef BL_ELEMENTARY_H
#define BL_ELEMENTARY_H

/* The natural logarithm of a positive normal number. */
double bl_elementary_log(double x);

/* e^x, for |x| up to 700. */
double bl_elementary_exp(double x);

/* The cosine of an angle in turns, at least 0: 0.25 is a right angle. */
double bl_elementary_cos(double turns);

#endif
