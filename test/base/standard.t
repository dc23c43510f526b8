#!/usr/bin/env perl
# standard.t -- where standard descriptors are closed, no message goes into a log or into a program's file, and no tool
# reads or writes what is not meant
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};
chdir $dir or die;

# shell($words) -- the status of a command
sub shell { return system('sh', '-c', $_[0]) >> 8 }

my $shut = '<&- >&- 2>&-';

# What is open of 0, 1 and 2, as a program finds it.
my $open = 'for n in 0 1 2; do test -h /proc/self/fd/$n && echo $n; done >&3';
for my $closed ('', '<&-', '>&- 2>&-', $shut) {
    shell("sh -c '$open' 3>bare </dev/null >/dev/null 2>&1 $closed");
    is shell("$B/bin/eventrec --force -o m.paw -- sh -c '$open; exit 3' 3>found </dev/null >/dev/null 2>&1 $closed"), 3, "'$closed': recorded";
    is slurp('found'), slurp('bare'), 'the program finds open what it would have found';
    is shell("$B/bin/eventcnv --check m.paw 2>check"), 0, 'and the log is whole' or diag slurp('check');
    unlike slurp('m.paw'), qr/eventrec: \d+ events/, 'without a message in it';
}

# Tools: what they write goes to no file of theirs, and that it went nowhere is a failure.
my $log = slurp('m.paw');
for my $tool ('eventcnv', 'eventview', 'replay') {
    is shell("$B/bin/$tool m.paw $shut"), 1, "$tool says by its status that it could not write";
    ok slurp('m.paw') eq $log, 'and leaves the log alone';
}
open my $bad, '>', 'cut.paw' or die;
print $bad substr $log, 0, length($log) - 100;
close $bad;
shell("$B/bin/eventcnv -o good.txt cut.paw 2>said");
like slurp('said'), qr/^eventcnv: /, 'a log that is cut off is told of';
shell("$B/bin/eventcnv -o shut.txt cut.paw $shut");
is slurp('shut.txt'), slurp('good.txt'), 'and not in the output';

# The library: it has something to say at the end, when there is no room for its log.
my $use = 'use POSIX; sub own { my $fd = POSIX::open("own", O_CREAT | O_WRONLY | O_TRUNC); POSIX::write($fd, "own\n", 4); return $fd } ';
my $many = 'my @all = map { "x" x ($_ % 999) } 1 .. 50000;';
my $limited = "ulimit -f 100; PAWPRINT_LOG=w.paw LD_PRELOAD=$B/lib/libpawprint.so exec perl -e";
# (perl may itself have opened something under the number.)
my %ways = (
    'began without one' => ["POSIX::close(2); my \$fd = own(); $many exit(\$fd != 2)", '2>&-', qr/\A\z/],
    'closed its own' => ["POSIX::close(2); my \$fd = own(); $many exit(\$fd != 2)", '2>said', qr/\A/],
    'has its own' => ["$many exit(own() == 2)", '2>said', qr/\Apawprint: .*(?:w\.paw|could not be written)/],
    'has put another in its place' => ['POSIX::dup2(POSIX::open("said", O_CREAT | O_WRONLY | O_APPEND), 2); ' . "$many exit(own() == 2)", '2>/dev/null', qr/\Apawprint: /],
);
for my $way (sort keys %ways) {
    my ($does, $where, $says) = @{$ways{$way}};
    unlink qw(said own w.paw);
    is shell("$limited '$use $does' $where"), 0, "a program that $way" or next;
    is slurp('own'), "own\n", 'its file has what it wrote';
    like slurp('said'), $says, 'and its standard error what it is to have';
}

chdir '/';
done_testing;
