/* impostor.c -- a program of root's with a child that takes a dead collector's name
 *
 *   impostor VICTIM WHAT [USER [space]]
 *
 * The child becomes USER and waits for the name; it answers everybody who asks for a region: it may be removed by the
 * name VICTIM, and then, if WHAT is `unlink`, there is no collector; if it is `cut`, no memory.  It tells what it
 * hears. Whoever closes our input lets another child begin, which, with `space` in a user namespace that maps nobody,
 * allocates and frees 4444 bytes 20000 times, becomes a program that does the same, has a child that becomes a third
 * one, and ends.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/region.h"

enum { blocks = 20000, blockSIZE = 4444, nap = 5000, later = 100000 };

static void say(const char *word)
{
  (void)!write(STDOUT_FILENO, word, strlen(word));
}

static void work(void)
{
  void *volatile block;
  int i;

  for (i = 0; i < blocks; ++i) {
    block = malloc(blockSIZE);
    free(block);
    if (i % (blocks / 10) == 0)
      (void)usleep(nap * 8); /* so it is at work when the impostor strikes */
  }
}

/* take -- the name, as soon as it is free */
static int take(void)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const char *name = strstr(getenv(RegionVARIABLE), "collector=") + sizeof "collector=" - 1;
  size_t length = strcspn(name, ":");
  int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

  memcpy(address.sun_path + 1, name, length);
  say("ready\n");
  while (bind(fd, (struct sockaddr *)&address,
              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) != 0)
    (void)usleep(nap);
  say("bound\n");
  return fd;
}

/* recording -- the identity of the one that we are in */
static uint64_t recording(void)
{
  return strtoull(strstr(getenv(RegionVARIABLE), "recording=") + sizeof "recording=" - 1, NULL, 0);
}

/* region -- one that seems to be a collector's */
static RegionHeader region(int *fdReturn, RegionMeet meet)
{
  int fd = memfd_create("impostor", 0);
  RegionHeader header;

  if (fd < 0 || ftruncate(fd, (off_t)RegionSize(meet->slots)) != 0)
    exit(1);
  header = mmap(NULL, RegionFIRST, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  memcpy(header->magic, RegionMAGIC, BlockMagicSIZE);
  header->order = BlockORDER;
  header->major = BlockMAJOR;
  header->pid = meet->pid;
  header->slots = meet->slots;
  header->identity = meet->identity;
  header->hand.collector = (uint32_t)syscall(SYS_gettid);
  *fdReturn = fd;
  return header;
}

static void grant(int to, RegionMeet meet, int fd, const char *victim)
{
  RegionGrantStruct answer = {
      .magic = RegionMAGIC, .version = RegionMeetVERSION, .slots = meet->slots, .recording = recording()};
  int fds[2] = {fd, fd};
  union {
    char room[CMSG_SPACE(sizeof fds)];
    struct cmsghdr header;
  } control = {{0}};
  struct iovec part = {&answer, sizeof answer};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                           .msg_controllen = sizeof control};

  (void)snprintf(answer.path, sizeof answer.path, "%s", victim);
  control.header = (struct cmsghdr){CMSG_LEN(sizeof fds), SOL_SOCKET, SCM_RIGHTS};
  memcpy(CMSG_DATA(&control.header), fds, sizeof fds);
  (void)sendmsg(to, &message, MSG_NOSIGNAL);
}

/* hear -- one datagram */
static void hear(int from, const char *victim, const char *what)
{
  RegionMeetStruct meet;
  union {
    char room[CMSG_SPACE(4 * sizeof(int))];
    struct cmsghdr header;
  } control;
  struct iovec part = {&meet, sizeof meet};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                           .msg_controllen = sizeof control};
  RegionHeader header;
  int to, fd;

  if (recvmsg(from, &message, 0) != (ssize_t)sizeof meet)
    return;
  say(meet.pid != 0 ? "asked\n" : meet.note != RegionNoteNONE ? "told\n" : "woken\n");
  if (CMSG_FIRSTHDR(&message) == NULL)
    return;
  memcpy(&to, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof to);
  header = region(&fd, &meet);
  grant(to, &meet, fd, victim);
  (void)close(to);
  (void)usleep(later);
  if (strcmp(what, "unlink") == 0)
    __atomic_store_n(&header->hand.collector, 0, __ATOMIC_SEQ_CST);
  else
    (void)!ftruncate(fd, 0);
  (void)close(fd);
}

static void impose(const char *victim, const char *what, const char *user)
{
  int from;

  if (user != NULL && (setgroups(0, NULL) != 0 || setgid((gid_t)atoi(user)) != 0 || setuid((uid_t)atoi(user)) != 0))
    exit(1);
  from = take();
  for (;;)
    hear(from, victim, what);
}

int main(int argc, char **argv)
{
  pid_t hostile, honest;
  char byte, line[32];
  int status = -1;

  if (argc == 2) { /* the program that follows */
    work();
    if (fork() == 0) {
      (void)execl("/bin/true", "true", (char *)NULL);
      _exit(1);
    }
    (void)wait(&status);
    return status;
  }
  hostile = fork();
  if (hostile == 0)
    impose(argv[1], argv[2], argv[3]);
  while (read(STDIN_FILENO, &byte, 1) > 0)
    ;
  honest = fork();
  if (honest == 0) {
    if (argc > 4 && unshare(CLONE_NEWUSER) != 0)
      _exit(1);
    work();
    (void)execl("/proc/self/exe", argv[0], "again", (char *)NULL);
    _exit(1);
  }
  (void)waitpid(honest, &status, 0);
  (void)kill(hostile, SIGKILL);
  (void)waitpid(hostile, NULL, 0);
  (void)snprintf(line, sizeof line, "end %d\n", status);
  say(line);
  return 0;
}
