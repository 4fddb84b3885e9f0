/* Included first in all that is compiled for the wheel: of these functions, Debian 11's C library offers the versions of glibc 2.29, which differ
 * from those before only in how errors are told. With the older ones, the wheel runs from glibc 2.28 on (RHEL 8), which computes
 * the same. */
#ifndef __ASSEMBLER__
__asm__(".symver exp,exp@GLIBC_2.2.5");
__asm__(".symver exp2,exp2@GLIBC_2.2.5");
__asm__(".symver log,log@GLIBC_2.2.5");
__asm__(".symver log2,log2@GLIBC_2.2.5");
__asm__(".symver pow,pow@GLIBC_2.2.5");
#endif
