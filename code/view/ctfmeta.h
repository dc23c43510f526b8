/* ctfmeta.h -- a CTF trace's metadata: what its packets and events look like, in CTF 1.8's own language
 *
 * One stream class, with an event class for each type of each registry.  What CtfMetaWrite says and what ctf.c writes
 * belong together: the structures here are those of the packets, byte for byte.
 *
 * Design: design/view.md .ctf      Tests: test/formats.t
 */
#ifndef VIEW_CTFMETA_H
#define VIEW_CTFMETA_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/types.h"
#include "log/log.h"
#include "view/output.h"
#include "view/typeids.h"

#define CtfMAGIC 0xC1FC1FC1u

enum { CtfUuidSIZE = 16 };

/* What each packet begins with; packed, in our byte order. */
typedef struct CtfPacketStruct {
  uint32_t magic;
  uint8_t uuid[CtfUuidSIZE];
  uint32_t stream;
  uint64_t begin, end;   /* ns since the trace's time 0: of its first and its last event */
  uint64_t content, size; /* bits, this header included; equal: there is no padding */
  uint64_t number;
  uint64_t discarded;    /* events, from the beginning to this packet's end */
} __attribute__((packed)) CtfPacketStruct, *CtfPacket;

/* CtfIdWidth -- bytes of the number of its class in an event */
static inline Size CtfIdWidth(const TypeIdsStruct *ids)
{
  return ids->count <= 0x10000 ? sizeof(uint16_t) : sizeof(uint32_t);
}

/* CtfMetaWrite -- the metadata; `start` is the wall time (ns since 1970) of the trace's time 0 */
extern void CtfMetaWrite(Output output, TypeIds ids, Log log, const uint8_t uuid[CtfUuidSIZE], uint64_t start);

#endif /* VIEW_CTFMETA_H */
