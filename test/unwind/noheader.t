#!/usr/bin/perl
# noheader.t -- stacks go through a module that has no .eh_frame_hdr, and an executable with holes between its segments;
# stacks that lack callers are counted
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw($Dir run);
use File::Copy qw(copy);
use JSON::PP qw(decode_json);
use Test::More;

my $B = $ENV{B} // 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
plan skip_all => 'stacks are walked on x86-64 only' if `uname -m` !~ /x86_64/;

my $program = "$B/prog/noheader";
unlike `readelf -lW $program 2>/dev/null`, qr/GNU_EH_FRAME/, 'the program has no .eh_frame_hdr';

# The folded stacks of a recording: bytes by functions, from main on.
sub folded {
    my ($command) = @_;
    my $log = "$Dir/noheader.paw";
    my %bytes;

    my $said = `$B/bin/eventrec --force -s 16 -o $log -- $command 2>&1 >/dev/null`;
    is $?, 0, "$command: recorded" or diag $said;
    my ($status, $out) = run("$B/bin/eventcnv", '-f', 'folded', '--symbols', $log);
    for (split /\n/, $out) { $bytes{$1} += $2 if /;(main;.*) (\d+)$/ }
    return \%bytes;
}

my $got = folded("$program 8");
my %wanted;
for my $depth (0 .. 3) { # each of them twice
    $wanted{join ';', 'main', ('deeper') x ($depth + 1), qw(unknown array inner)} = 2 * 1000;
    $wanted{join ';', 'main', ('deeper') x ($_ + 1), 'inner'} += 2 * 1001 for 0 .. $depth;
}
is_deeply $got, \%wanted, 'all stacks are as the program calls' or diag explain $got;

# How many allocations have stacks that lack callers: in JSON, and in text, where there are any.
sub lacks {
    my $sites = decode_json((run("$B/bin/eventview", 'sites', '--json', "$Dir/noheader.paw"))[1]);
    my (undef, $text) = run("$B/bin/eventview", 'leaks', "$Dir/noheader.paw");
    my %said = map { $_ => $text =~ /^$_ stacks +(\d+) allocation/m ? $1 : 0 } qw(broken short lost);
    is_deeply \%said, {map { $_ => $sites->{"stacks_$_"} } keys %said}, 'sites and leaks say the same';
    my ($status, $tree) = run("$B/bin/eventview", 'sites', '--json', '--tree', 'down', "$Dir/noheader.paw");
    my ($broken) = grep { ($_->{none} // '') eq 'broken' } @{decode_json($tree)->{tree}};
    is $sites->{stacks_broken}, $broken ? $broken->{allocated_objects} + $broken->{resizes} : 0, 'and so does the tree';
    return $sites;
}
is_deeply [@{lacks()}{qw(stacks_broken stacks_short stacks_lost)}], [0, 0, 0], 'no stack lacks a caller';

# Where segments lie apart the dynamic linker knows only the one that has an address, and the file's header is in another.
for my $more ('', '-Wl,--no-eh-frame-hdr', '-no-pie') {
    my $holes = "$Dir/holes";
    my $cc = $ENV{CC} // 'cc';
    my @flags = split ' ', "-O2 -g -fno-builtin -Wl,-z,max-page-size=0x200000 -Wl,-z,separate-code $more";
    SKIP: {
        skip "cannot link with @flags", 2 if system("$cc @flags -o $holes test/prog/noheader.c 2>$Dir/errors") != 0;
        is_deeply folded("$holes 8"), \%wanted, join ' ', 'with holes between segments', $more;
    }
}

# A file without section headers does not say where its descriptions are: the stack ends at its first frame.
{
    my $bare = "$Dir/bare";
    copy($program, $bare) or die "$bare: $!";
    chmod 0755, $bare;
    open my $out, '+<', $bare or die "$bare: $!";
    seek($out, 40, 0) && print $out "\0" x 8 or die; # e_shoff
    seek($out, 60, 0) && print $out "\0" x 4 or die; # e_shnum, e_shstrndx
    close $out or die;
    is_deeply folded("$bare 8"), {}, 'without section headers no stack reaches main';
    cmp_ok lacks()->{stacks_broken}, '>=', 8, 'which is counted';
}

# More frames than a process has numbers for: stacks are cut at their inner end, and counted.
{
    my ($count, $log) = (560_000, "$Dir/frames.paw");
    my ($status, undef, $err) = run("$B/bin/eventrec", '-s', 32, '-p', 'block', '-k', 'Object', '-o', $log, "$B/prog/frames", $count);
    is $status, 0, 'it is recorded' or diag $err;
    my ($sites, $events) = @{decode_json((run("$B/bin/eventview", 'sites,events', '--json', $log))[1])}{qw(sites events)};
    cmp_ok $sites->{stacks_short}, '>', 0, 'those for which no number is left are counted';
    cmp_ok $sites->{stacks_short}, '<', 60_000, 'and only these';
    my %of = map { ($_->{function} // '' => $_->{allocated_objects}) } @{$sites->{sites}};
    is $of{left} + $of{right}, $count, 'and belong to the callers that are known';
    my ($frames) = grep { $_->{name} eq 'StackFrame' } @{$events->{types}};
    cmp_ok abs($frames->{events} - 2 ** 20), '<', 10, 'a million frames are told';
}

done_testing;
