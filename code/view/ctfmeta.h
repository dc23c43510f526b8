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

/* The numbers of event classes. */
typedef struct CtfIdsStruct {
  uint32_t *first;       /* by process number: the class of the process's first type; the others follow */
  uint64_t count;
  Size width;            /* bytes of a number in an event: 2 or 4 */
} CtfIdsStruct, *CtfIds;

/* CtfIdsMake -- number the types of all processes; equal registries share their numbers.  ResMEMORY. */
extern Res CtfIdsMake(CtfIds ids, Log log);
extern void CtfIdsFree(CtfIds ids);

/* CtfMetaWrite -- the metadata; `start` is the wall time (ns since 1970) of the trace's time 0 */
extern void CtfMetaWrite(Output output, CtfIds ids, Log log, const uint8_t uuid[CtfUuidSIZE], uint64_t start);

#endif /* VIEW_CTFMETA_H */
