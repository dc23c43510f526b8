/* fuzz.h -- a fuzzing target: what it is called with, and how bytes become a log
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A target is a file with one function, as libFuzzer calls it.  Where there is no libFuzzer mutator.c calls it, and a
 * file that crashed is tried again by giving its name to either.  A target keeps nothing between calls but what each
 * call would make anew.
 */
#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/crc.h"
#include "format/block.h"
#include "format/header.h"

extern int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* FuzzFail -- the target itself cannot go on, or found what must not be */
__attribute__((unused)) static void FuzzFail(const char *why)
{
  fprintf(stderr, "fuzz: %s\n", why);
  abort();
}

/* fuzzSealHeader -- the right checksum for the header block that `bytes` begin, if they do; returns its length, or 0 */
static Size fuzzSealHeader(unsigned char *bytes, Size size)
{
  enum { prefix = BlockMagicSIZE + HeaderLineSIZE };
  unsigned version[3];
  Size length;

  if (size < prefix || HeaderLength(&length, version, bytes, size) != ResOK || length > size || length < prefix)
    return 0;
  HeaderSeal((char *)bytes, length);
  return length;
}

/* fuzzSealBlock -- the right checksums for the block that `bytes` begin, if they do */
static void fuzzSealBlock(unsigned char *bytes, Size size)
{
  BlockHeaderStruct header;
  Bool swapped;
  uint32_t rest;

  if (size < sizeof header)
    return;
  memcpy(&header, bytes, sizeof header);
  swapped = header.order == __builtin_bswap32(BlockORDER);
  rest = swapped ? __builtin_bswap32(header.rest) : header.rest;
  if (rest <= size - sizeof header) {
    header.restCrc = Crc32c(0, bytes + sizeof header, rest);
    if (swapped)
      header.restCrc = __builtin_bswap32(header.restCrc);
  }
  BlockHeaderSeal(&header);
  if (swapped)
    header.headerCrc = __builtin_bswap32(header.headerCrc);
  memcpy(bytes, &header, sizeof header);
}

/* FuzzSeal -- make every checksum right, so that what lies behind is met */
__attribute__((unused)) static void FuzzSeal(unsigned char *bytes, Size size)
{
  Size at = 0;

  while (at + BlockMagicSIZE <= size) {
    if (memcmp(bytes + at, HeaderMAGIC, BlockMagicSIZE) == 0) {
      Size length = fuzzSealHeader(bytes + at, size - at);
      at += length > 0 ? length : 1;
    } else {
      if (memcmp(bytes + at, BlockMAGIC, BlockMagicSIZE) == 0)
        fuzzSealBlock(bytes + at, size - at);
      ++at;
    }
  }
}

/* FuzzFile -- the bytes as a file without a name; `path`, of at least 32 bytes, gets one by which it can be opened */
__attribute__((unused)) static int FuzzFile(char *path, const unsigned char *bytes, Size size)
{
  int fd = memfd_create("fuzz", MFD_CLOEXEC);

  if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
    FuzzFail("no file in memory");
  (void)snprintf(path, 32, "/proc/self/fd/%d", fd);
  return fd;
}

#endif /* TEST_FUZZ_FUZZ_H */
