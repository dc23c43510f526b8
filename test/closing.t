#!/usr/bin/env perl
# closing.t -- no room for the last words of a recording: what lacks of them is in memory, or counted, and --clean adds it
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};

# All that is in /dev/shm is this test's: it has one of its own.
if (!$ENV{CLOSING_WITHIN}) {
    my $mount = 'mount -t tmpfs -o size=64m none /dev/shm';
    plan skip_all => 'no mount is permitted here' if system("unshare -rm sh -c '$mount' >/dev/null 2>&1") != 0;
    local $ENV{CLOSING_WITHIN} = 1;
    exec 'unshare', '-rm', 'sh', '-c', "$mount; exec \"\$@\"", 'sh', $^X, abs_path($0) or die;
}

my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my ($rec, $cnv) = ("$B/bin/eventrec", "$B/bin/eventcnv");
chdir $dir or die;
mkdir 'disk';
my $log = "$dir/disk/a.paw";
my $record = "$rec -k Object,System -o $log perl -e 'my \@a = map { q(x) x 1000 } 1 .. 2000' 2>&1";

# wrong($said) -- what is wrong with the log, after eventrec has said that
sub wrong {
    my ($said) = @_;
    my ($discarded) = $said =~ /^eventrec: \d+ events \((\d+) discarded\)/m;
    return "no line: $said" if !defined $discarded;
    my $added = `$rec --clean $log 2>&1`;
    my $check = `$cnv --check $log 2>&1`;
    my $status = $? >> 8;
    my $counted = 0;
    my $wrong = '';
    $counted += $1 while $check =~ /^eventcnv: (\d+) events? w(?:as|ere) discarded/mg;
    $counted += $1 while $check =~ /: block cut off; (\d+) events? lost/g;
    $wrong .= " --check is $status." if $status != ($discarded ? 1 : 0);
    $wrong .= " $counted are counted." if $counted != $discarded;
    $wrong .= " It lacks its end." if $check =~ /is not in the log/;
    $wrong .= " The reason is none." if $said =~ /Success/;
    $wrong .= " Left: @{[glob '/dev/shm/*']}." if glob '/dev/shm/*';
    $wrong .= " It says $1." if $said =~ /(written to its end)/ && !$discarded;
    unlink glob '/dev/shm/*';
    return $wrong eq '' ? () : "$wrong $said$added$check";
}

# A full disk, in pages.
SKIP: {
    skip 'a disk cannot be made here', 3 if system("mount -t tmpfs -o size=32k none disk && umount disk") != 0;
    my ($tries, $clean, @wrong) = (0, 0);
    for my $pages (3 .. 18) {
        system('mount', '-t', 'tmpfs', '-o', 'size=' . 4 * $pages . 'k', 'none', 'disk') == 0 or die;
        my $said = `$record`;
        ++$clean if $said =~ /; eventrec --clean adds it$/m && $said !~ / stays, with /;
        system('mount', '-o', 'remount,size=16m', 'disk') == 0 or die;
        push @wrong, map { "$pages pages: $_" } wrong($said);
        ++$tries;
        system 'umount', 'disk';
    }
    is $tries, 16, 'the disk is full at each place';
    cmp_ok $clean, '>', 0, 'sometimes only when the recording is closed';
    is_deeply \@wrong, [], 'and when there is room --clean closes the recording, and the log and eventrec count the same';
}

# Writes to the log fail: one, two, or all from there on.
SKIP: {
    skip 'strace is not to be had here', 2 if system('strace -o /dev/null -e trace=write -e inject=write:error=EIO:when=1000 true >/dev/null 2>&1') != 0;
    my ($runs, @wrong) = (0);
    for my $error ('EIO', 'ENOSPC') {
        for my $to (0, 1, '') {
            for (my $n = 1; $n <= 12; ++$n) {
                my $when = $to eq '' ? "$n+" : "$n.." . ($n + $to);
                unlink $log;
                my $said = `strace -o trace -P $log -e trace=write -e inject=write:error=$error:when=$when $record`;
                open my $trace, '<', 'trace' or die;
                last if !grep { /\(INJECTED\)/ } <$trace>;
                ++$runs;
                push @wrong, map { "$error $when: $_" } wrong($said);
            }
        }
    }
    cmp_ok $runs, '>', 10, 'writes fail';
    is_deeply \@wrong, [], 'and the same is true, and the reason is told';
}

chdir '/';
done_testing;
