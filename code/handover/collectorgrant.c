/* collectorgrant.c -- the collector's answer to a process: shared memory (its region), and the log's descriptor
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "handover/collectorgrant.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/aver.h"
#include "emit/control.h"
#include "plinth/descriptor.h"
#include "plinth/lent.h"
#include "plinth/rawsyscall.h"

/* The log, for the time after the collector's death; as long as there is none its class is NULL.  It outlives fork. */
static PlinthStruct grantLog = {.fd = -1};

/* grantDescriptors -- those that came with the answer; what is too many is closed.  How many there are. */
static Count grantDescriptors(int fds[RegionGrantMAX], struct cmsghdr *control)
{
  Count count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int), i;

  for (i = 0; i < count; ++i) {
    int fd;
    memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
    LentNumber(fd);
    if (i < RegionGrantMAX)
      fds[i] = fd;
    else
      LentClose(fd);
  }
  return count < RegionGrantMAX ? count : RegionGrantMAX;
}

/* grantControl -- take the descriptors.  Is the answer from root, or from our own user?  When the collector is dead
 * any process can have its name, and what an answer brings could end us, or swallow what we record. */
static Bool grantControl(Grant grant, struct msghdr *message)
{
  struct cmsghdr *control;
  Bool believed = FALSE;

  for (control = CMSG_FIRSTHDR(message); control != NULL; control = CMSG_NXTHDR(message, control)) {
    if (control->cmsg_level != SOL_SOCKET)
      continue;
    if (control->cmsg_type == SCM_RIGHTS) {
      grant->count = grantDescriptors(grant->fd, control);
    } else if (control->cmsg_type == SCM_CREDENTIALS) {
      struct ucred sender;
      memcpy(&sender, CMSG_DATA(control), sizeof sender);
      believed = sender.uid == 0 || sender.uid == RawUser();
    }
  }
  return believed;
}

/* grantOurs -- is the answer of our own recording?  Whoever has the name of a collector that is dead can pass a request
 * on to another one, which is root's or our user's, and would have our events. */
static Bool grantOurs(const RegionGrantStruct *answer)
{
  return memcmp(answer->magic, RegionMAGIC, BlockMagicSIZE) == 0 && answer->version == RegionMeetVERSION &&
         (ControlSettings.recording == 0 || answer->recording == ControlSettings.recording);
}

Bool GrantCheck(const GrantStruct *grant)
{
  Index i, j;

  if (grant->count > RegionGrantMAX)
    return FALSE;
  for (i = 0; i < grant->count; ++i)
    for (j = 0; j < i; ++j)
      if (grant->fd[i] >= 0 && grant->fd[i] == grant->fd[j])
        return FALSE;
  return TRUE;
}

Bool GrantReceive(Grant grant, Bool *believedIO, int fd)
{
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(RegionGrantMAX * sizeof(int))];
  } control;
  struct iovec part = {&grant->answer, sizeof grant->answer};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                           .msg_controllen = sizeof control};
  RegionGrant answer = &grant->answer;
  long size;

  AVER(grant->count == 0 && fd >= 0);
  LentBegin();
  size = RawCall(SYS_recvmsg, fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size >= 0 && grantControl(grant, &message))
    *believedIO = TRUE;
  LentEnd();
  if (size < 0)
    return FALSE;
  *believedIO = *believedIO && size == (long)sizeof *answer && grantOurs(answer);
  return *believedIO && grant->count > RegionGrantCONTROL && answer->slots > 0 &&
         answer->slots <= RegionSlotsMAX && memchr(answer->path, '\0', sizeof answer->path) != NULL &&
         memchr(answer->program, '\0', sizeof answer->program) != NULL &&
         (answer->path[0] == '\0' || RegionPathNamed(answer->path, ControlSettings.log));
}

void GrantDrop(Grant grant)
{
  Index i;

  AVER(GrantCheck(grant));
  for (i = 0; i < grant->count; ++i)
    if (grant->fd[i] >= 0)
      LentClose(grant->fd[i]);
  grant->count = 0;
}

void GrantLogKeep(Grant grant)
{
  AVER(GrantCheck(grant));
  if (DescriptorIsApart())
    return; /* a parent's serves, if there is one */
  if (grantLog.fd >= 0)
    DescriptorClose(&grantLog); /* a parent's */
  if (grant->count <= RegionGrantLOG || !DescriptorMay())
    return;
  if (DescriptorTake(&grantLog, grant->fd[RegionGrantLOG]) != ResOK)
    return;
  grant->fd[RegionGrantLOG] = -1;
  (void)strcpy(grantLog.place, ControlSettings.log);
  __atomic_store_n(&grantLog.class, &PlinthClassFile, __ATOMIC_RELEASE);
}

Bool GrantLogTake(Plinth plinth, const char *place)
{
  struct stat status;
  int fd;

  if (strlen(place) >= sizeof plinth->place)
    return FALSE;
  if (DescriptorOurs(&grantLog, &status) < 0) {
    fd = ControlSettings.collector[0] != '\0' ? PlinthFileInherit(ControlSettings.family) : -1;
    if (fd < 0 || DescriptorTake(&grantLog, fd) != ResOK)
      return FALSE;
  }
  memset(plinth, 0, sizeof *plinth);
  (void)strcpy(plinth->place, place);
  DescriptorPass(plinth, &grantLog);
  __atomic_store_n(&plinth->class, &PlinthClassFile, __ATOMIC_RELEASE);
  return TRUE;
}

Plinth GrantLog(void)
{
  struct stat status;

  return grantLog.class != NULL && DescriptorOurs(&grantLog, &status) >= 0 ? &grantLog : NULL;
}

void GrantLogPass(Bool pass)
{
  Index i;

  PlinthFileLeave(&grantLog, ControlSettings.family, pass);
  for (i = 0; i < EmitterPlinthsMAX; ++i)
    PlinthFileLeave(&EmitterPlinths[i], ControlSettings.family, pass);
}
