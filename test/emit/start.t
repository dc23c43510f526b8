#!/usr/bin/env perl
# start.t -- a process that does nothing pays little for the library: counts that do not depend on time, and how long it takes
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my ($rec, $cnv, $so) = ("$B/bin/eventrec", "$B/bin/eventcnv", "$B/lib/libpawprint.so");
my $dir = tempdir(CLEANUP => 1);

plan skip_all => 'no telemetry in this variety' unless ($ENV{VARIETY} // 'cool') eq 'cool';
plan skip_all => 'a sanitizer makes calls of its own' if $ENV{SAN};
plan skip_all => 'strace is not to be had here' if system("strace -o $dir/try true 2>/dev/null") != 0;

# calls($prefix, $environment) -- the system calls of `true`, its own and those of the libraries in it: lines of strace
sub calls {
    my ($prefix, @environment) = @_;
    unlink glob "$dir/calls.*";
    system("$prefix strace -ff -o $dir/calls " . join(' ', map { "-E $_" } @environment) . " true 2>$dir/err") == 0 or return;
    my ($file) = glob "$dir/calls.*";
    open my $in, '<', $file or die "$file: $!\n";
    return grep { /^\w+\(/ } <$in>;
}

my @plain = calls('');
my @idle = calls('', "LD_PRELOAD=$so");
cmp_ok scalar(@plain), '>', 0, 'a program makes calls';
cmp_ok @idle - @plain, '<=', 36, 'the library alone makes no more than thirty-six more';
# Where the processor promises no even counter, the system is asked for the clock that it uses itself.
is_deeply [grep { m{"/(?:proc|sys)/(?!.*/current_clocksource)} } @idle], [grep { m{"/(?:proc|sys)/} } @plain],
    'it reads nothing of the system';

# Recorded, it meets its collector.
my @recorded = calls("$rec -o $dir/calls.paw --");
cmp_ok scalar(@recorded), '>', scalar(@idle), 'a recorded program makes more';
cmp_ok @recorded - @plain, '<=', 72, 'but no more than seventy-two';
is_deeply [grep { m{"/(?:proc|sys)/} } @recorded], [grep { m{"/(?:proc|sys)/} } @plain], 'it reads nothing of the system, either';

# Without a collector a program that is executed finds the log's descriptor where the one before it has left it.
{
    unlink glob "$dir/own.*";
    system("strace -f -e trace=fcntl -o $dir/own.calls -E LD_PRELOAD=$so -E PAWPRINT_LOG=$dir/own.paw sh -c 'exec true' 2>$dir/err") == 0
        or diag `cat $dir/err`;
    open my $in, '<', "$dir/own.calls" or die;
    my $looks = grep { /fcntl\(/ } <$in>;
    cmp_ok $looks, '>', 0, 'the log has a descriptor';
    cmp_ok $looks, '<', 100, 'which is found by a few looks';
}

# What it is called it says itself; which file that is the collector finds out, once for each name and file.
{
    my ($true, $echo) = map { my $name = $_; abs_path((grep { -x } map { "$_/$name" } split /:/, $ENV{PATH})[0]) } qw(true echo);
    open my $script, '>', "$dir/script" or die;
    print $script "#!$true\n";
    close $script;
    chmod 0755, "$dir/script";
    my $run = "ln -s $true $dir/link; $dir/link; $dir/link; rm $dir/link; ln -s $echo $dir/link; $dir/link; "
            . "$dir/script; $dir/script; cd $dir; ./link; true";
    system("$rec -o $dir/names.paw -- sh -c '$run' >/dev/null 2>$dir/err") == 0 or diag `cat $dir/err`;
    my %ran;
    ++$ran{$_} for `$cnv --header $dir/names.paw` =~ /^program: "(\Q$true\E|\Q$echo\E|\Q$dir\E.*)"$/mg;
    is_deeply \%ran, {$true => 4, $echo => 2}, 'links and scripts are told as the files that run, whatever they were before';
}

# The recording's first process finds out what the machine's clock is; the others are told: a shell, two programs that it starts,
# and the four children of each, of which one becomes the program once more.
is system("$rec -o $dir/a.paw -- sh -c '$B/prog/ends && $B/prog/ends' >/dev/null 2>$dir/err"), 0, 'a family runs' or diag `cat $dir/err`;
my @said = `$cnv --header $dir/a.paw 2>/dev/null`;
for my $key (qw(boot clock frequency)) {
    my @values = map { /^\W*$key: (\S+)/ ? $1 : () } @said;
    my %value = map { $_ => 1 } @values;
    cmp_ok scalar(@values), '>=', 1 + 1 + 2 + 2 * 5, "$key: all processes and the collector say it";
    is scalar(keys %value), 1, "$key: the same for all processes of a recording";
    ok !grep({ /^("")?$/ } keys %value), "$key: and known";
}
# The region of a process has memory for what it needs, which is little of its size, and more when it has more to keep.
{
    my $look = 'sub look { my ($region) = grep { !/log$/ } glob "/dev/shm/pawprint-*-$$-*"; print join(" ", (stat $region)[7, 12]), "\n" } '
        . 'look(); my @list = map { [$_] } 1 .. 100000; look()';
    my @looks = map { [split] } `$rec -p overwrite -k Object -n 64 -o $dir/region.paw -- perl -e '$look' 2>$dir/err`;
    is scalar(@looks), 2, 'a program looks at its region' or diag `cat $dir/err`;
    my ($size, $short, $long) = ($looks[0][0] // 0, map { 512 * ($_->[1] // 0) } @looks);
    cmp_ok $short, '<', $size / 500, 'of a process that has done little the region takes little of its size';
    cmp_ok $long, '>', 1.5 * $short, 'it grows with what is kept there';
    cmp_ok $long, '<', $size / 50, 'and by no more';
    note "$short, $long of $size bytes";
}
# What it takes, as parts of what plain takes in the same round: CPU time of all that takes part, which the system tells in steps of
# a hundredth of a second, so that a round needs hundreds of programs.  The median of several rounds counts.  Other work on the
# machine makes a round longer: the limits are above what is to be reached, and where three rounds do not keep to them there are more.
{
    my $loop = "sh -c 'i=0; while [ \$i -lt 600 ]; do " . (grep { -x } map { "$_/true" } split /:/, $ENV{PATH})[0] . '; i=$((i + 1)); done\'';
    my %command = (plain => $loop, idle => "env LD_PRELOAD=$so $loop", recorded => "$rec --force -o $dir/many.paw -- $loop");
    my %limit = (idle => 2, recorded => 3.5);
    my (%ratios, %median, @failed);

    for my $round (1 .. 9) {
        my %took;
        for my $how (qw(plain idle recorded)) {
            my $before = (times)[2] + (times)[3];
            push @failed, $how if system("$command{$how} >/dev/null 2>$dir/err") != 0;
            $took{$how} = (times)[2] + (times)[3] - $before;
        }
        for my $how (keys %limit) {
            push @{$ratios{$how}}, $took{$how} / $took{plain};
            $median{$how} = (sort { $a <=> $b } @{$ratios{$how}})[$#{$ratios{$how}} / 2];
        }
        last if $round >= 3 && !grep { $median{$_} >= $limit{$_} } keys %limit;
    }
    is "@failed", '', 'six hundred short programs, plain, with the idle library, and recorded';
    note "$_: " . join(' ', map { sprintf '%.2f', $_ } @{$ratios{$_}}) . " of plain's CPU time" for sort keys %limit;
    cmp_ok $median{idle}, '<', $limit{idle}, 'the idle library costs a part of it';
    cmp_ok $median{recorded}, '<', $limit{recorded}, 'a recording little more than twice as much';
}
done_testing;
