/* crc.c -- CRC-32C
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "crc.h"

#include <string.h>

/* The table for 0x1EDC6F41 reflected, four bits at a time: 64 bytes that are worth their place in a cache even
 * where they are used once in a while, and need no initialisation before main. */
static const uint32_t crcNibble[16] = {
  0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
  0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t Crc32cByTable(uint32_t crc, const void *data, Size size)
{
  const unsigned char *p = data;

  crc = ~crc;
  while (size-- > 0) {
    crc ^= *p++;
    crc = crcNibble[crc & 15] ^ (crc >> 4);
    crc = crcNibble[crc & 15] ^ (crc >> 4);
  }
  return ~crc;
}

#if defined(__x86_64__)

#include <cpuid.h>

#if defined(__has_include)
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#endif

__attribute__((target("sse4.2"))) static uint32_t crcByInstruction(uint32_t crc, const void *data, Size size)
{
  const unsigned char *p = data;
  uint64_t c = ~crc, word;

  for (; size >= 8; size -= 8, p += 8) {
    memcpy(&word, p, sizeof word);
    c = __builtin_ia32_crc32di(c, word);
  }
  for (; size > 0; --size, ++p)
    c = __builtin_ia32_crc32qi((uint32_t)c, *p);
  return ~(uint32_t)c;
}

#if defined(CPU_FEATURE_ACTIVE)

/* crcHasInstruction -- what libc has found out at the start of the program.  The processor is not asked: in virtual
 * machines the question takes tens of microseconds. */
static inline Bool crcHasInstruction(void)
{
  return CPU_FEATURE_ACTIVE(SSE4_2);
}

#else

/* crcHasInstruction -- asked once: the question is slow in virtual machines, and the compiler's own builtin asks it
 * at each program's start */
static Bool crcHasInstruction(void)
{
  static unsigned answer; /* 0: not asked; 1: no; 2: yes */
  unsigned known = __atomic_load_n(&answer, __ATOMIC_RELAXED);

  if (UNLIKELY(known == 0)) {
    unsigned a, b, c, d;
    known = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2) != 0 ? 2 : 1;
    __atomic_store_n(&answer, known, __ATOMIC_RELAXED);
  }
  return known == 2;
}

#endif

uint32_t Crc32c(uint32_t crc, const void *data, Size size)
{
  if (LIKELY(crcHasInstruction()))
    return crcByInstruction(crc, data, size);
  return Crc32cByTable(crc, data, size);
}

#else

uint32_t Crc32c(uint32_t crc, const void *data, Size size)
{
  return Crc32cByTable(crc, data, size);
}

#endif
