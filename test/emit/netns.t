#!/usr/bin/env perl
# netns.t -- a family some of which is in another network namespace, where nobody has eventrec's name, is recorded as any other
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(regions_of slurp until_);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);

my $B = abs_path($ENV{B} // 'build/cool');
my ($rec, $cnv, $program) = map { "$B/$_" } qw(bin/eventrec bin/eventcnv prog/netns);
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};
plan skip_all => 'no network namespace can be made here' if system("$program 0 unshare >/dev/null 2>&1") != 0;

END { local $?; unlink map { ($_, "$_.log") } regions_of($dir) if $dir }

# recorded(@options_and_command) -- the status, and what eventrec says
sub recorded {
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        open STDERR, '>', "$dir/err";
        open STDOUT, '>', "$dir/out";
        { no warnings; exec $rec, @_ }
        POSIX::_exit(98);
    }
    waitpid $pid, 0;
    return ($?, slurp("$dir/err"));
}

# holds($log, $n, $steps) -- are the words of so many steps, N of each, there once, and an object for each?  "" if so.
sub holds {
    my ($log, $n, $steps) = @_;
    my (%words, %objects);

    for (`$cnv -E UserWord,PoolAlloc $log 2>&1`) {
        ++$words{"$1 $2"} if /UserWord.* id=(\d+) .*value=(\d+)/;
        ++$objects{$1} if / size=(1000\d\d)\b/;
    }
    for my $step (0 .. $steps) {
        my @wrong = grep { ($words{"$step $_"} // 0) != 1 } 0 .. $n - 1;
        return "of step $step " . @wrong . ' words are not there once' if @wrong;
        return "of step $step there are " . ($objects{100000 + $step} // 0) . ' objects' if ($objects{100000 + $step} // 0) != 1;
    }
    return keys %words == $n * ($steps + 1) ? '' : 'there are others';
}

# whole($what, $said, $log, $n, $steps) -- nobody is named, nothing is missing, and nothing is left
sub whole {
    my ($what, $said, $log, $n, $steps) = @_;
    is holds($log, $n, $steps), '', "$what: all is there" or diag $said;
    unlike $said, qr/not seen|still run/, 'nobody is named';
    is `$cnv --check $log 2>&1` . $?, '0', 'nothing is missing';
    is_deeply [regions_of($dir)], [], 'nothing is left';
}

my ($status, $said);
my $N = 2000;
for my $way ('unshare', 'unshare fork', 'clone', 'clone fork exec', 'unshare exec', 'unshare exec exec fork exec',
             'unshare vfork', 'unshare spawn', 'unshare system', 'unshare popen', 'clone spawn system fork vfork',
             'spawn system unshare spawn system', 'unshare exec unshare exec') {
    my @steps = split / /, $way;
    ($status, $said) = recorded('--force', '-o', "$dir/log", '--', $program, $N, @steps);
    is $status, 0, $way;
    whole($way, $said, "$dir/log", $N, scalar @steps);
}

# A program that has no library in it tells what it was left, and lets another one follow.
SKIP: {
    open my $out, '>', "$dir/left.c" or die;
    print $out <<'END';
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  int fd, left = 0;
  for (fd = 48; fd < 2000; ++fd)
    left += fcntl(fd, F_GETFD) >= 0;
  printf("%d\n", left);
  fflush(stdout);
  if (argc > 1)
    execv(argv[1], argv + 1);
  return 0;
}
END
    close $out;
    skip 'nothing can be linked statically here', 12 if system("gcc -static -o $dir/left $dir/left.c >/dev/null 2>&1") != 0;
    skip 'no unshare', 12 if system('unshare -n true >/dev/null 2>&1') != 0;
    my @recorded = ('--force', '-o', "$dir/log", '--');
    my $before = `$dir/left`;
    for my $case (['where the name can be found a program', 0, 'sh', '-c', "exec $dir/left"],
                  ['also one that a shell starts', 0, 'sh', '-c', "$dir/left; :"],
                  ['where it cannot', 1, 'unshare', '-n', "$dir/left"], ['and is started', 1, 'unshare', '-n', 'sh', '-c', "$dir/left; :"],
                  ['but not the library', 0, 'unshare', '-n', 'env', '-i', "$dir/left"],
                  ['or the variable', 0, 'unshare', '-n', 'env', '-u', 'PAWPRINT_RECORDING', "$dir/left"],
                  ['nor one after another', 0, 'unshare', '-n', 'sh', '-c', "/bin/true; exec env -i $dir/left"]) {
        my ($what, $left, @command) = @$case;
        recorded(@recorded, @command);
        is slurp("$dir/out") - $before, $left, "$what: $left descriptors";
    }
    ($status, $said) = recorded(@recorded, 'unshare', '-n', "$dir/left", $program, $N, 'fork', 'exec');
    is $status, 0, 'a static program passes on what it was left';
    is holds("$dir/log", $N, 2), '', 'so that the next one is recorded';
    is_deeply [$said =~ /not seen: (.*)/g], ["$dir/left: static: nothing can be loaded into it"], 'and only itself is not';
    is `$cnv --check $dir/log 2>&1` . $?, '0', 'nothing is missing';
    is_deeply [regions_of($dir)], [], 'nothing is left';
}

# Another place, or two of them.
my $listener = fork // die "fork: $!";
if ($listener == 0) {
    open STDERR, '>', "$dir/listens";
    { no warnings; exec $rec, '--listen', 'tcp:0', '-o', "$dir/got" }
    POSIX::_exit(98);
}
my $where;
until_(sub { ($where) = slurp("$dir/listens") =~ /listens on (\S+)/ }) or diag slurp("$dir/listens");
for my $case (['--to'], ['-o and --to', '-o', "$dir/beside"]) {
    my ($what, @options) = @$case;
    my @steps = qw(unshare exec fork exec);
    ($status, $said) = recorded(@options, '--to', $where, '--', $program, $N, @steps);
    is $status, 0, $what;
    whole($what, $said, "$dir/beside", $N, scalar @steps) if @options;
    my $got = "$dir/got." . (@options ? 2 : 1) . '.paw';
    until_(sub { -e $got && `$cnv --check $got 2>&1` eq '' });
    whole("$what, what is received", $said, $got, $N, scalar @steps);
}
kill TERM => $listener;
waitpid $listener, 0;

# What eventrec was asked for holds.
($status, $said) = recorded('--force', '-o', "$dir/log", '--process', 'nobody', '--', $program, $N, qw(unshare exec));
is $status, 0, '--process';
unlike `$cnv -E UserWord $dir/log`, qr/./, 'of others there is nothing';
is_deeply [regions_of($dir)], [], 'nor is anything left';
($status, $said) = recorded('--force', '-o', "$dir/log", '-t', '0.3', '--', $program, $N, qw(unshare exec sleep exec));
is $status, 0, '-t';
my %step = map { $_ => 1 } `$cnv -E UserWord $dir/log` =~ / id=(\d+)/g;
is join(' ', sort keys %step), '2 3 4', 'what comes later is not there';
is_deeply [regions_of($dir)], [], 'nor is anything left';

# Programs that make such a namespace for others.
for my $by ('unshare -n', 'unshare -rn', 'unshare -nmpf --mount-proc', 'bwrap --unshare-net --dev-bind / /',
            'bwrap --unshare-all --bind / / --dev /dev --proc /proc', 'bwrap --unshare-net --unshare-pid --as-pid-1 --dev-bind / /') {
    SKIP: {
        my @by = split / /, $by;
        skip "$by: not possible here", 5 if system("@by true >/dev/null 2>&1") != 0;
        ($status, $said) = recorded('--force', '-o', "$dir/log", '--', @by, $program, $N, 'exec');
        is $status, 0, $by;
        whole($by, $said, "$dir/log", $N, 1);
    }
}

done_testing;
