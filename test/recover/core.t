#!/usr/bin/env perl
# core.t -- events out of core files: real ones, ones made by hand, and ones made to hurt
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use lib 'test/lib';
use Fcntl qw(SEEK_SET);
use File::Temp qw(tempdir);
use IPC::Open2;
use POSIX ();
use EndToEnd qw(run slurp spew);
use Test::More;
use Time::HiRes qw(sleep);

my $B = abs_path($ENV{B} // 'build/cool');
my $cnv = "$B/bin/eventcnv";
my $dir = tempdir(CLEANUP => 1);
my $seed = $ENV{SEED} // time;
my @started;

plan skip_all => 'no telemetry in this variety' if ($ENV{VARIETY} // '') eq 'rash';
srand $seed;
note "SEED=$seed";
$ENV{TMPDIR} = $dir;

END { kill 'KILL', @started; unlink map { glob "/dev/shm/pawprint-*-$_-*" } @started }

# start($n, %environment) -- a program that has emitted $n events, and sleeps; in a folder of its own
sub start {
    my ($n, %environment) = @_;
    my ($out, $in);
    my $folder = tempdir(DIR => $dir);

    delete local @ENV{grep { /^PAWPRINT/ } keys %ENV};
    local @ENV{keys %environment} = values %environment;
    my $pid = open2($out, $in, 'sh', '-c', 'cd "$0" && ulimit -c unlimited 2>/dev/null; exec "$1" 2>>/dev/null', $folder, "$B/prog/steady");
    push @started, $pid;
    print $in "$n\n";
    $in->flush;
    <$out>;
    return {pid => $pid, folder => $folder, in => $in, region => scalar((glob "/dev/shm/pawprint-*-$pid-*[0-9]")[0])};
}

sub values_of { return map { / UserWord id=\d+ value=(\d+)$/ ? $1 : () } split /\n/, $_[0] }

# events($name, $file, \@wanted, @notes) -- the file has these events, and is told of so
sub events {
    my ($name, $file, $wanted, @notes) = @_;
    my ($status, $out, $err) = run($cnv, $file);

    is $status, 0, "$name: read" or diag $err;
    is_deeply [values_of($out)], $wanted, "$name: has the events";
    like $err, $_, "$name: " . ($_ =~ s/^\(\?\^:|\)$//gr) for @notes;
}

# The bytes that are there of a file with holes: [offset, bytes] ...
sub extents {
    my ($path) = @_;
    my ($at, @extents) = (0);

    open my $in, '<:raw', $path or die "$path: $!";
    while (defined(my $from = sysseek $in, $at, 3)) {
        my $to = sysseek($in, $from, 4) // last;
        sysseek $in, $from, SEEK_SET;
        sysread $in, my $bytes, $to - $from;
        push @extents, [$from + 0, $bytes];
        $at = $to + 0;
    }
    return @extents;
}

# elf($wide, [type, address, bytes] ...) -- a core file
sub elf {
    my ($wide, @segments) = @_;
    my ($head, $entry) = $wide ? (64, 56) : (52, 32);
    my $at = $head + $entry * @segments;
    my $word = $wide ? 'Q' : 'L';
    my ($table, $memory) = ('', '');

    for (@segments) {
        my ($type, $address, $bytes) = @$_;
        my $size = length $bytes;
        $table .= $wide ? pack 'L L Q6', $type, 6, $at, $address, 0, $size, $size, 4096
                        : pack 'L8', $type, $at, $address, 0, $size, $size, 6, 4096;
        $memory .= $bytes;
        $at += $size;
    }
    return "\x7fELF" . pack('C3 x9 S S L', $wide ? 2 : 1, 1, 1, 4, $wide ? 62 : 3, 1)
        . pack("$word$word$word L S6", 0, $head, 0, 0, $head, $entry, scalar @segments, 0, 0, 0) . $table . $memory;
}

# A note that says which files were mapped.
sub files {
    my @paths = @_;
    my $words = pack 'Q*', scalar @paths, 4096, map { (0x10000, 0x20000, 0) } @paths;
    my $desc = $words . join '', map { "$_\0" } @paths;

    return pack('L3', 5, length $desc, 0x46494c45) . "CORE\0\0\0\0" . $desc . "\0" x (-length($desc) % 4);
}

# What the system writes.
my @all = (1 .. 49); # the last is of a thread that has ended, and sent it
{
    my $program = start(50, PAWPRINT_LOG => "$dir/real.paw");
    kill 'SEGV', $program->{pid};
    waitpid $program->{pid}, 0;
    my ($core) = glob "$program->{folder}/core*";
    SKIP: {
        skip 'the system writes no core here (ulimit -c, core_pattern)', 10 unless $core && -s $core;
        events('a core', $core, \@all, qr/: a core: took \d+ events of process $program->{pid} from its buffers$/m);
        my ($status, $out, $err) = run($cnv, $core, "$dir/real.paw");
        is_deeply [values_of($out)], [1 .. 50], 'a core and its log together: each event once' or diag $err;
        unlink $program->{region} if $program->{region};
        events('without the shared memory', $core, \@all);
        ($status, $out) = run("$B/bin/eventview", 'summary', $core);
        is $status, 0, 'the other tools read cores, too';
        ($status, $out) = run($cnv, '--header', $core);
        like $out, qr/^program: ".*steady"$/m, 'the header is in it';
        like $out, qr/^region: "\Q$program->{region}\E"$/m, 'and says where the blocks were';
        is scalar(glob "$dir/pawprint*"), undef, 'no temporary file stays';
    }
}

# The flight recorder of a program that records nowhere.
{
    my $program = start(30);
    kill 'SEGV', $program->{pid};
    waitpid $program->{pid}, 0;
    my ($core) = glob "$program->{folder}/core*";
    SKIP: {
        skip 'the system writes no core here (ulimit -c, core_pattern)', 2 unless $core && -s $core;
        events('a flight recorder', $core, [1 .. 30]);
    }
}

# What gdb writes, of a process that lives on.
SKIP: {
    skip 'a sanitizer maps terabytes', 4 if $ENV{SAN}; # and gcore writes them all
    skip 'a sanitizer takes terabytes of address space', 4 if $ENV{SAN};
    skip 'gcore is not here', 4 unless `gcore --help 2>&1` =~ /core/;
    my $program = start(50, PAWPRINT_LOG => "$dir/gcore.paw");
    my $said = `gcore -o $dir/live $program->{pid} 2>&1`;
    skip "gcore can write none here: $said", 4 unless -s "$dir/live.$program->{pid}";
    events('a core of a process that lives', "$dir/live.$program->{pid}", \@all);
    like `$B/bin/eventcnv --follow $dir/live.$program->{pid} 2>&1`, qr/a core does not grow/, 'which cannot be followed';
    ok kill(0, $program->{pid}), 'the process goes on';
    unlink "$dir/live.$program->{pid}";
}

# By hand: the region of a live process, as a core would have it.
SKIP: {
    my $program = start(50, PAWPRINT_LOG => "$dir/hand.paw");
    skip 'the region is not in /dev/shm', 20 unless $program->{region};
    skip 'cores are made for one byte order here', 20 if unpack('C', pack 'S', 1) != 1;
    my @memory = extents($program->{region});
    my $base = 0x7f00 << 32;
    my @wide = map { [1, $base + $_->[0], $_->[1]] } @memory;
    my @narrow = map { [1, 0x40000000 + $_->[0], $_->[1]] } @memory;
    my @half = map { [1, $base + 4096 + $_->[0], $_->[1]] } @memory;
    my @blocks = grep { $_->[0] >= 1 << 20 } @memory;
    my @told = map { [1, $base + $_->[0], $_->[1]] } @blocks;

    events('made by hand', spew("$dir/hand", elf(1, @wide)), \@all);
    events('32 bits wide', spew("$dir/hand", elf(0, @narrow)), \@all);
    events('segments that begin anywhere', spew("$dir/hand", elf(1, map { [1, $_->[1] - 72, "x" x 72 . $_->[2]] } @wide)), \@all);
    events('no header block', spew("$dir/hand", elf(1, @told)), \@all, qr/process $program->{pid} is not in the core; they are read/);

    # The file that the core says was mapped.
    link $program->{region}, "$dir/x.region-00000000000000aa-1-0" or system 'cp', '--sparse=always', $program->{region}, "$dir/x.region-00000000000000aa-1-0";
    my @note = [4, 0, files('/etc/passwd', "$dir/nothing.region-00000000000000aa-2-0", "$dir/x.region-00000000000000aa-1-0", "$dir/x.region-00000000000000aa-1-0")];
    events('a region that is a file', spew("$dir/hand", elf(1, @note, [1, $base, "\0" x 4096])), \@all,
           qr/the memory that it shared is not in the core; took it from \Q$dir\E\/x\.region-00000000000000aa-1-0$/m);
    events('shared memory that is gone', spew("$dir/hand", elf(1, [4, 0, files("$dir/gone.region-00000000000000aa-1-0") x 2], @told)), \@all,
           qr/shared is not in the core, and the file that it was, \Q$dir\E\/gone\.region-00000000000000aa-1-0, cannot be read/);
    events('a region that is there twice', spew("$dir/hand", elf(1, @note, @wide)), \@all);

    # What is no core of ours.
    for (['blocks where none can be', elf(1, @half[1 .. $#half]), 'a core without events of Pawprint'],
         ['an empty core', elf(1), 'a core without events of Pawprint'],
         ['a program', slurp($cnv), 'a program, not a log or a core'],
         ['the other byte order', "\x7fELF\x02\x02" . substr(elf(1, @wide), 6), 'a program or core of a machine with the other byte order'],
         ['a head alone', substr(elf(1, @wide), 0, 60), 'a program, not a log or a core']) {
        my ($name, $bytes, $message) = @$_;
        my ($status, $out, $err) = run($cnv, spew("$dir/hand", $bytes));
        is "$status $out$err", "1 eventcnv: $dir/hand: $message\n", $name;
    }
    my $core = elf(1, @note, @wide);
    my ($status, $out, $err) = run($cnv, spew("$dir/hand", substr $core, 0, length($core) - 3000));
    like $err, qr/the core is cut off; events may be missing/, 'cut off, and told';

    # Nobody knows what stood in the page that is cut: a check is 1, though all events are there.
    my $page = elf(1, @wide, [1, $base + (1 << 40), "\0" x 4096]);
    ($status, $out, $err) = run($cnv, '--check', spew("$dir/hand", $page));
    is "$status $out", '0 ', 'a whole core lacks nothing, says --check' or diag $err;
    ($status, $out, $err) = run($cnv, '--check', spew("$dir/hand", substr $page, 0, length($page) - 1));
    is "$status $out", '1 ', 'one that lacks a byte lacks something' or diag $err;
    like $err, qr/^eventcnv: \Q$dir\E\/hand: the core is cut off; events may be missing$/m, 'which is told';

    # Whatever stands in it: an answer, and soon.
    my ($worst, $bad) = (0, 0);
    for my $round (1 .. 60) {
        my $bytes = $core;
        substr $bytes, (rand 3) < 1 ? rand length $bytes : rand 600, 1, chr rand 256 for 1 .. 1 + rand 20;
        substr $bytes, (rand 2) < 1 ? 54 : 64 + 8 * int rand 40, 8, pack 'Q', (rand 2) < 1 ? ~0 : 2 ** rand 63 if $round % 3 == 0;
        $bytes = substr $bytes, 0, rand length $bytes if $round % 7 == 0;
        ($status) = run('timeout', 20, $cnv, spew("$dir/hand", $bytes));
        ++$bad, diag "round $round: status $status" if $status != 0 && $status != 1;
    }
    is $bad, 0, 'sixty spoilt cores';
    my @over = map { [1, $base, ''] } 1 .. 500;
    my $huge = elf(1, @over);
    substr($huge, 64 + 56 * $_ + 8, 8) = pack 'Q', 0 for 0 .. 499;
    substr($huge, 64 + 56 * $_ + 32, 8) = pack 'Q', 1 << 40 for 0 .. 499;
    ($status, undef, $err) = run('timeout', 20, $cnv, spew("$dir/hand", $huge));
    is $status, 1, 'segments that are all the whole file';
}
done_testing;
