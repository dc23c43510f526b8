/* sound.h -- what stands at a place of a file, and where the next sound thing does
 *
 * Blocks and header blocks are sound if their checksums are right.  A sound block header may have bytes behind it that
 * are not its own: SoundPayload tells, for which it reads the block.  All functions look at the file of a scan, and
 * none of them changes the table or the index.
 *
 * Design: design/log.md .scan .torn      Tests: test/log/logbadtest.c, test/log/hostiletest.c
 */
#ifndef LOG_SOUND_H
#define LOG_SOUND_H

/* SPDX-License-Identifier: BSD-2-Clause */

#include "log/scan.h"

/* Inside a damaged block another one may begin, where the file was overwritten or cut.  So many places that look like a
 * beginning are examined. */
enum { SoundTriesMAX = 16 };

/* SoundThingAt -- what stands at `offset`: ResOK and *thing; ResFORMAT, ResVERSION; ResEND: the file ends within it;
 * ResIO */
extern Res SoundThingAt(Scan scan, ScanThing thing, uint64_t offset);

/* SoundNext -- the next place from `offset` on, before `end`, with something sound; `end`: none
 *
 * In a file that grows, *waitReturn is the first place where something may begin that the file's end cuts off; or
 * `end`. */
extern uint64_t SoundNext(uint64_t *waitReturn, Scan scan, uint64_t offset, uint64_t end);

/* SoundPayload -- are the bytes behind a sound block header its own?
 * SoundBlock -- are there a sound block header, and behind it the bytes that belong to it?  Both read the block. */
extern Bool SoundPayload(File file, BlockHeader header, uint64_t offset);
extern Bool SoundBlock(File file, uint64_t offset);

/* SoundTorn -- are there nothing but writes that were cut short, one or several, between two places?
 * SoundTornHeader -- is that the beginning of one header block?  Then the identity of its process, if that is there
 *   and where our own tools write it; else 0
 * SoundTornFrom -- the first place from `offset` on, before `end`, from which on there are nothing but those up to
 * `next`, the next sound thing; `end`: none
 * SoundZeros -- are there nothing but zeros between two places?  Holes are not read. */
extern Bool SoundTorn(Scan scan, uint64_t offset, uint64_t end);
extern uint64_t SoundTornHeader(Scan scan, uint64_t offset, uint64_t end);
extern uint64_t SoundTornFrom(Scan scan, uint64_t offset, uint64_t end, uint64_t next);
extern Bool SoundZeros(Scan scan, uint64_t offset, uint64_t end);

/* SoundDamage -- describe the damage at `offset`, where `res` was found instead of something sound */
extern void SoundDamage(Scan scan, DamagedRange region, uint64_t offset, Res res);

/* SoundProgress -- tell now and then how far the file is scanned */
extern void SoundProgress(Scan scan, uint64_t offset);

#endif /* LOG_SOUND_H */
