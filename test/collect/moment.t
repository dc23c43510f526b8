#!/usr/bin/env perl
# moment.t -- eventrec is killed behind each thing that it does to files, one after the other: whatever the moment, --check
# gives 0 only if all is there, and where all is there it gives 0, also of a log whose recording was about to end
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(regions_of slurp spew until_);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);

my $B = abs_path($ENV{B} // 'build/cool');
my $CC = $ENV{CC} // 'gcc';
my ($rec, $cnv) = ("$B/bin/eventrec", "$B/bin/eventcnv");
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};

sub links { return grep { (readlink // '') =~ /^\Q$dir\E/ } glob '/dev/shm/pawprint-*.log' }
END { local $?; system "$rec --clean $dir/moment.paw >/dev/null 2>&1" if $dir }

# What is preloaded into eventrec counts its writes to files, and the files that it makes and removes; behind the number in
# SLAIN it is killed.  It says in a file what that was.
my $source = spew("$dir/slayer.c", <<'END');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static int on, number, count, said;
__attribute__((constructor)) static void begin(void)
{
  char path[4096] = "";
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 9 || strcmp(path + strlen(path) - 9, "/eventrec") != 0)
    return;
  on = getpid();
  number = atoi(getenv("SLAIN"));
  said = open(getenv("SLAIN_SAID"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}
static void done(const char *what, const char *of, long bytes)
{
  if (on != getpid())
    return;
  ++count;
  dprintf(said, "%d %s %s %ld\n", count, what, of, bytes);
  if (count == number)
    (void)kill(on, SIGKILL);
}
ssize_t write(int fd, const void *bytes, size_t size)
{
  ssize_t (*next)(int, const void *, size_t) = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
  ssize_t n = next(fd, bytes, size);
  struct stat status;
  if (fd > 2 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
    done("write", "", (long)n);
  return n;
}
int unlinkat(int folder, const char *name, int flags)
{
  int (*next)(int, const char *, int) = (int (*)(int, const char *, int))dlsym(RTLD_NEXT, "unlinkat");
  int res = next(folder, name, flags);
  if (res == 0)
    done("remove", name, res);
  return res;
}
int symlinkat(const char *to, int folder, const char *name)
{
  int (*next)(const char *, int, const char *) = (int (*)(const char *, int, const char *))dlsym(RTLD_NEXT, "symlinkat");
  int res = next(to, folder, name);
  done("make", name, res);
  return res;
}
END
my $slayer = "$dir/slayer.so";
plan skip_all => 'no compiler' if system("$CC -w -shared -fPIC -o $slayer $source -ldl 2>/dev/null") != 0;

my $log = "$dir/moment.paw";
my $each = 300;
spew("$dir/in", "$each\n");

sub check { my $said = `$cnv --check $log 2>&1`; return ($? >> 8, $said) }
sub told { return map { [split / /] } split /\n/, slurp("$dir/said") }

# record($number, $events, @command) -- eventrec is killed behind that, if it comes so far: TRUE.  Then all has ended.
sub record {
    my ($number, $events, @command) = @_;

    `$rec --clean $log 2>&1` if -e $log;
    unlink $log, "$dir/said";
    my $pid = fork // die;
    if ($pid == 0) {
        open STDIN, '<', "$dir/in";
        open STDOUT, '>', "$dir/out";
        open STDERR, '>', "$dir/err";
        @ENV{qw(LD_PRELOAD SLAIN SLAIN_SAID)} = ($slayer, $number, "$dir/said");
        { no warnings; exec $rec, '-o', $log, '-k', 'User,System', '--', @command }
        POSIX::_exit(99);
    }
    waitpid $pid, 0;
    my $slain = $? == 9;
    spew("$dir/fifo", "$each\n") if "@command" =~ /fifo/;
    # Events first: before a process has begun it does not run, either.
    until_(sub { events() >= $events && (check())[1] !~ /still running|about to write|still records/ }, 60)
        or diag "killed behind $number, @command: it does not end: ", (check())[1], slurp("$dir/err"),
            `ls -l /dev/shm; ps -eo pid,ppid,stat,wchan:30,args | grep '[s]teady'`;
    return $slain;
}

sub events { my $n = () = `$cnv -E UserWord $log 2>/dev/null` =~ /\n/g; return $n }

# faults($what, $number, $events) -- what is not as it should be, as it was left and when it is cleaned
sub faults {
    my ($what, $number, $events) = @_;
    my @told = told();
    my @faults;
    # Before somebody has a region nothing tells that eventrec was killed.
    my $early = !grep { $told[$_][1] eq 'make' } 0 .. $#told - 1;

    for my $when ('as it was left', 'cleaned') {
        my $seen = events();
        my ($status, $said) = check();
        push @faults, "$when: $seen events of $events" if $seen != $events;
        push @faults, "$when: --check gives $status: $said" if $status != 0 && !$early;
        `$rec --clean $log 2>&1`;
    }
    push @faults, "something stays: " . join ' ', regions_of($dir), links() if regions_of($dir) || links();
    return map { "$what, killed behind $number, @{$told[-1]}[1, 2]: $_" } @faults;
}

# sweep($what, $events, $from, @command) -- killed behind each thing from that one on; how often it was
sub sweep {
    my ($what, $events, $from, @command) = @_;
    my ($slain, @faults) = (0);

    for my $number ($from .. $from + 200) {
        my $is = record($number, $events, @command);
        push @faults, faults($what, $number, $events);
        last if !$is;
        ++$slain;
    }
    is_deeply \@faults, [], "$what: --check gives 0 whenever eventrec is killed ($slain times)"
        or diag join "\n", @faults;
    return $slain;
}

cmp_ok sweep('one process', $each, 1, "$B/prog/steady"), '>', 8, 'a program is recorded';

# The recording's processes are not there all the time: their parent does not load the library.
SKIP: {
    my $main = spew("$dir/main.c", <<'END');
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  int i;
  (void)argc;
  for (i = 0; i < 2; ++i) {
    if (fork() == 0) {
      (void)!freopen(argv[2], "r", stdin);
      execl(argv[1], argv[1], (char *)NULL);
      _exit(99);
    }
    (void)wait(NULL);
    (void)usleep(250000);
  }
  return 0;
}
END
    skip 'no static libc here', 2 if system("$CC -w -static -o $dir/main $main 2>/dev/null") != 0;
    cmp_ok sweep('a parent that is not seen', 2 * $each, 1, "$dir/main", "$B/prog/steady", "$dir/in"), '>', 12, 'it has its children recorded';
}

# Somebody of the family lives on, when the recording is over.
{
    my @command = ('sh', '-c', "$B/prog/steady <$dir/fifo >/dev/null &");
    POSIX::mkfifo("$dir/fifo", 0600) or die;
    record(0, $each, @command);
    my $all = told();
    my $from = $all > 8 ? $all - 8 : 1;
    sweep('a process that stays', $each, $from, @command);
}

# Where the log is cut besides it is not whole, whatever it is cut to.
{
    record(0, $each, "$B/prog/steady");
    for my $number (reverse 1 .. told()) {
        record($number, $each, "$B/prog/steady");
        last if `$cnv --header $log` !~ /^role: "collector"\n(?:.+\n)*end:/m;
    }
    my ($status, $said) = check();
    is $said, '', 'killed before the last word of the log, which is whole';
    is scalar(regions_of($dir)), 1, 'by a region that is left';
    my @at = map { $_->[3] } grep { $_->[1] eq 'write' } told();
    my $size = 0;
    @at = map { $size += $_ } @at;
    is $at[-1], -s $log, '(the log is what was written)';
    pop @at;
    my $whole = slurp($log);
    my ($known, @wrong) = (0);
    for my $at (@at, $size - 1) {
        truncate $log, $at;
        ($status, $said) = check();
        my $missing = $said =~ /^\S+ \Q$log\E: it was cut: (\d+) bytes that eventrec has written are missing$/m ? $1 : 0;
        $known += $missing > 0;
        # What is cut off may be in memory yet; what eventrec itself had to say nobody else can tell.
        push @wrong, "$at of $size bytes, status $status: $said" if ($status == 0 && events() != $each) || $missing > $size - $at;
        spew("$dir/moment.paw", $whole);
    }
    is_deeply \@wrong, [], 'cut anywhere it is not, unless nothing is missing';
    cmp_ok $known, '>', 2, 'how much of it is gone is said';
    truncate $log, $at[0];
    `$rec --clean $log`;
    ($status) = check();
    is $status, 1, 'nor is it when that has been cleaned';
    is_deeply [regions_of($dir), links()], [], 'and nothing is left';
}
done_testing;
