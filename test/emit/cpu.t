#!/usr/bin/perl
# cpu.t -- events say on which processor they were emitted, where their block does
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;

my $B = $ENV{B} || 'build/cool';
my $Dir = tempdir(CLEANUP => 1);
my @cpus = do {
    open my $in, '<', '/proc/self/status';
    my ($list) = map { /^Cpus_allowed_list:\s*(\S+)/ } <$in>;
    map { /(\d+)-(\d+)/ ? $1 .. $2 : $_ } split /,/, $list;
};

plan skip_all => 'no events in this variety' if $B =~ m{/(?:hot|rash)};
plan skip_all => 'one processor' if @cpus < 2;
plan skip_all => 'the library stays out of a program with a sanitizer of threads' if ($ENV{SAN} // '') =~ /thread/;

# A program of libpawlog's: a line for each event of these sizes.
my $reads = "$Dir/reads";
open my $c, '>', "$reads.c" or die;
print $c <<'END';
#include <pawlog.h>
#include <stdio.h>
static int event(PawRequest *request, PawEvent e)
{
  uint64_t size;
  (void)request;
  if (PawTypeIs(PawEventType(e), "PoolAlloc") && PawEventGet(&size, e, "size") && (size == 1000 + ONE || size == 1000 + TWO))
    printf("%d %d\n", PawEventCpu(e), (int)size);
  return 0;
}
int main(int argc, char **argv)
{
  const char *path = argv[1];
  PawRequest request;
  PawLog log;
  if (argc != 2 || PawOpen(&log, &path, 1, NULL, NULL, 0) != PAW_OK)
    return 2;
  PawRequestInit(&request);
  request.event = event;
  return PawRead(log, &request) == PAW_OK ? 0 : 1;
}
END
close $c;

sub lines { my ($command) = @_; my @lines = `$command`; die "$command: $?" if $?; return @lines }

my ($one, $two) = @cpus[0, -1];
is system($ENV{CC} || 'gcc', "-DONE=$one", "-DTWO=$two", '-Icode/log', '-o', $reads, "$reads.c", "$B/lib/libpawlog.a"), 0,
    'a program with libpawlog';
my $program = "$B/prog/cpu $two $one $two";
for my $how ("$B/bin/eventrec -o %s -- $program", "$B/bin/eventrec --raw -o %s -- $program",
             "LD_PRELOAD=$B/lib/libpawprint.so PAWPRINT_LOG=%s $program") {
    my $log = "$Dir/" . ($how =~ tr/a-zA-Z//cdr) . '.paw';
    is system(sprintf "$how 2>$Dir/err", $log), 0, $how or diag `cat $Dir/err`;
    my (%events, @told);
    for (lines("$B/bin/eventcnv -f json -E PoolAlloc -e 'size in [1000, 2000]' $log")) {
        my ($cpu) = /"cpu":(\d+)/;
        my ($size) = /"size":(\d+)/;
        ++$events{$cpu // 'none'}{$size - 1000};
        push @told, ($cpu // -1) . " $size\n" if $size == 1000 + $one || $size == 1000 + $two;
    }
    is join('', lines("$reads $log")), join('', @told), 'PawEventCpu says the same, and -1 where none is known';
    cmp_ok scalar @told, '>=', 9000, 'of each event';
    for my $cpu ($one, $two) {
        is_deeply [keys %{$events{$cpu}}], [$cpu], "what has processor $cpu was emitted there";
        cmp_ok $events{$cpu}{$cpu}, '>', 1500, 'most of what was';
        is scalar(lines("$B/bin/eventcnv -E PoolAlloc -e 'size in [1000, 2000] && cpu == $cpu' $log")), $events{$cpu}{$cpu},
            'a filter finds these';
    }
    my $known = $events{$one}{$one} + $events{$two}{$two};
    is scalar(lines("$B/bin/eventcnv -e 'size in [1000, 2000] && (cpu == $one || cpu != $one)' $log")), $known,
        'an event whose block was given up elsewhere has none';
    is scalar(lines("$B/bin/eventcnv -e 'size in [1000, 2000] && !(cpu >= 0) || size in [1000, 2000] && cpu <= 65535' $log")),
        9000, 'which is said with !';

    my @blocks = grep { /^block: .* kind Object / } lines("$B/bin/eventcnv --header --verbose $log");
    cmp_ok scalar(grep { / cpu $two / } @blocks), '>', 1, '--header --verbose has the blocks, and where they were filled';
    ok 1 == (grep { / cpu $two to $one / } @blocks), 'and which was given up elsewhere';
    is scalar(grep { /^block:/ } lines("$B/bin/eventcnv --header $log")), 0, 'without --verbose it has none';

    is system("$B/bin/eventcnv -f paw -o $log.again $log"), 0, 'written again';
    is join('', lines("$B/bin/eventcnv -f json $log.again")), join('', lines("$B/bin/eventcnv -f json $log")),
        'all have the same processors';
}
is scalar(lines("$B/bin/eventcnv -e 'cpu >= 0' test/good/threads.paw")), 0, 'a log of version 1.0 does not say';

done_testing;
