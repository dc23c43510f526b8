# refused.t -- a receiver that takes nothing holds no process of the family up, and little is said in the end
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw($Dir run);
use Test::More;

my $B = $ENV{B} || 'build/cool';

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};

# It starts many programs, one after the other, and prints how many microseconds each took.
my $program = 'use Time::HiRes qw(time); $| = 1; for (1 .. 80) {'
    . ' my $begin = time; system "/bin/true"; print int(1e6 * (time - $begin)), "\n" }';

# remove($said) -- the regions of a recording, by what eventrec said; how many there were
sub remove {
    my %recording = map { $_ => 1 } $_[0] =~ m{(/dev/shm/pawprint-[0-9a-f]{16}-)}g;
    my @left = map { glob "$_*" } keys %recording;

    unlink @left;
    return scalar grep { !/\.log$/ } @left;
}

# soon(@options) -- the microseconds in which a tenth of the later programs began and ended, when they are recorded so; and
# what eventrec says.  Most take longer where others have the processors; but each does if it waits.
sub soon {
    my ($status, $out, $err) = run("$B/bin/eventrec", @_, '--', $ENV{PERL} || 'perl', '-e', $program);
    my @took = split /\n/, $out;

    is scalar(@took), 80, "@_: the program comes to its end" or diag $err;
    my @late = sort { $a <=> $b } @took[40 .. $#took];
    return ($late[4] // 0, $err);
}

# A receiver of 256 KiB has no room for the header blocks of forty processes.
my ($file) = soon('-o', "$Dir/file.paw");
my ($nobody, $said) = soon('--to', "unix:$Dir/nobody,keep=256K");
my $left = remove($said);
note "with a file $file us, with nobody $nobody us; $left regions";
my ($processes, $more) = $said =~ m{^eventrec: the memory of (\d+) processes stays, with [1-9]\d* events that could not be written: \S+, \S+, \S+ and (\d+) more; eventrec --clean removes it}m;
is $processes // 0, $left, 'one line says how many regions stay, which have events';
is $more // 0, $left - 3, 'and names three' or diag $said;
is scalar(() = $said =~ / stays, with /g), 1, 'no other line does';
like $said, qr/^eventrec: the log cannot be sent: No such file or directory;/m, 'there is no receiver, and no room';
cmp_ok $nobody, '<', 5 * $file, 'a process begins as soon as where a file takes all';

done_testing;
