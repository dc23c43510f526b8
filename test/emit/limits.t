#!/usr/bin/env perl
# limits.t -- limits on file sizes, address space and descriptors: the program does what it does without us, and every
# event is in the log, or it is said that some are missing
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'a sanitizer has limits of its own' if $ENV{SAN};
plan skip_all => 'no prlimit is here' if system('prlimit --version >/dev/null 2>&1') != 0;
chdir $dir or die;

# A program that says how many descriptors it can have, and fills a file as far as it may.
my $loops = 60;
my @program = ('perl', '-e', '
    $SIG{XFSZ} = "IGNORE" if @ARGV > 1;
    my (@a, @f);
    for (1 .. $ARGV[0]) { @a = map { "x" x ($_ % 300) } 1 .. 3000 }
    while (open my $f, "<", "/dev/null") { push @f, $f; last if @f == 50 }
    $| = 1;
    print "done ", scalar(@a), " ", scalar(@f), "\n";
    exit 7', $loops);

# Whoever started us may have left files open; what is limited does not get them.
my @inherited = do {
    local $^F = 100;
    map { open my $file, '<', '/dev/null' or die; $file } 1 .. 20;
};

# run(@command) -- status, output and what is said; through pipes, because files may be limited.  The command has no other files.
sub run {
    my @command = @_;
    pipe my $out, my $outEnd or die;
    pipe my $err, my $errEnd or die;
    my $pid = fork // die "fork: $!";

    if ($pid == 0) {
        open STDOUT, '>&', $outEnd or die;
        open STDERR, '>&', $errEnd or die;
        open STDIN, '<', '/dev/null' or die;
        close $_ for $out, $outEnd, $err, $errEnd;
        POSIX::close($_) for grep { $_ > 2 } map { m{(\d+)$} } glob '/proc/self/fd/*';
        exec @command or POSIX::_exit(99);
    }
    close $_ for $outEnd, $errEnd;
    my ($printed, $said) = map { my $from = $_; join '', <$from> } $out, $err;
    waitpid $pid, 0;
    return ($?, $printed, $said);
}

sub regions { return map { s/\.log$//r } glob '/dev/shm/pawprint-*' }

# check($what, $most) -- the log, if there is any: whole, or it is said what is missing; what is left is taken away
sub check {
    my ($what, $whole, $said) = @_;
    my ($status, $out, $err) = run("$B/bin/eventcnv", '--check', 'l.paw');
    my ($all) = run("$B/bin/eventcnv", '-f', 'csv', '-n', '1', 'l.paw');

    if ($whole) {
        is "$status: $err", '0: ', "$what: nothing is missing";
    } else {
        ok $status == 256 && $err ne '', "$what: what is missing is told" or diag "$status: $err";
    }
    run("$B/bin/eventcnv", '-f', 'paw', '-o', 'whole.paw', 'l.paw');
    my ($identity) = `$B/bin/eventcnv --header l.paw 2>/dev/null` =~ /^recording: (?:0x)?([0-9a-f]+)/m;
    unlink 'l.paw', 'whole.paw', glob 'l.paw*';
    unlink glob sprintf '/dev/shm/pawprint-%016s-*', $identity if defined $identity;
    return;
}

# Each limit, with what is to be whole: with a collector that is not limited, with one that is, and without one.
for my $row (['--fsize=0', 1, 0, 0], ['--fsize=3000', 1, 0, 0], ['--fsize=100000', 1, 0, 0], ['--fsize=1500000', 1, 0, 0],
             ['--as=60000000', undef, undef, 1], ['--as=30000000', undef, undef, 1],
             ['--nofile=8', 1, 1, 1], ['--nofile=20', 1, 1, 1], ['--nofile=70', 1, 1, 1]) {
    my ($limit, @whole) = @$row;
    my ($plainStatus, $plainOut) = run('prlimit', $limit, @program);
    my @ways = (['with a collector', "$B/bin/eventrec", '-o', 'l.paw', 'prlimit', $limit, @program],
                ['with a collector that is limited, too', 'prlimit', $limit, "$B/bin/eventrec", '-o', 'l.paw', @program],
                ['without one', 'prlimit', $limit, 'env', "LD_PRELOAD=$B/lib/libpawprint.so", 'PAWPRINT_LOG=l.paw', @program]);

    for my $i (0 .. 2) {
        my ($way, @command) = @{$ways[$i]};
        my ($status, $out, $said) = run(@command);
        my $what = "$limit, $way";
        my $whole = $whole[$i] // ($said =~ /\(0 discarded\)/);
        # One of the 70 may be ours.
        s/(?<= )(4[789]|50)$/many/m for my $mine = $out, my $plain = $plainOut;
        is "$status: $mine", "$plainStatus: $plain", "$what: the program does what it does" or diag $said;
        cmp_ok scalar(() = $said =~ /\n/g), '<', 8, "$what: and little is said" or diag substr $said, 0, 900;
        is scalar(() = $said =~ /stays there/g), scalar(() = $said =~ m{/dev/shm/pawprint-[-0-9a-f]+: the rest stays}g),
            "$what: what is said to stay has a name";
        $i == 1 && !-s 'l.paw' && $limit eq '--fsize=0' ? unlink 'l.paw' : check($what, $whole, $said);
    }
}

# The idle library itself takes little address space: what a program can do with N MB it can do with N + 6 MB and the library.
{
    my @maps = ('perl', '-e', 'print scalar(map { "x" x 70 } 1 .. 20000)');
    # Without memory perl may wait for itself for ever.
    my ($least) = grep { (run('timeout', 20, 'prlimit', "--as=${_}000", @maps))[0] == 0 } map { 500 * $_ } 12 .. 200;
    is join(': ', (run('prlimit', '--as=' . ($least + 6000) * 1000, 'env', "LD_PRELOAD=$B/lib/libpawprint.so", @maps))[0, 1]), '0: 20000',
        'a program with little address space has room beside the library' or diag "without it: $least kB";
}

# Where one or two descriptors are left nobody can answer, and whoever records itself is there all the same; one is enough for that.
for my $limit (4 .. 7) {
    for my $collected (1, 0) {
        my ($status, $out, $said) = run($collected ? ("$B/bin/eventrec", '-o', 'l.paw') : ('env', "LD_PRELOAD=$B/lib/libpawprint.so", 'PAWPRINT_LOG=l.paw'),
                                        'prlimit', "--nofile=$limit", 'sh', '-c', 'exit 3');
        my $what = "--nofile=$limit, " . ($collected ? 'with a collector' : 'without one');
        is $status, 3 << 8, "$what: the program does what it does";
        is $said =~ s/^eventrec: \d+ events \(0 discarded\).*\n//r, '', 'nothing is said, and nobody is named as unseen';
        is scalar(() = (run("$B/bin/eventcnv", 'l.paw'))[1] =~ / ThreadStart /g), 2, 'the log has each program';
        check($what, 1, $said);
    }
}

# One count: what is in the log and what is told are together what the program has emitted, whoever tells it.
my $emitted = 300_000;
my @steady = ('sh', '-c', "echo $emitted | exec $B/prog/steady 0");
my ($all) = (run("$B/bin/eventrec", '-k', 'User', '-o', 'l.paw', @steady))[2] =~ /^eventrec: (\d+) events \(0 discarded\)/m;
cmp_ok $all // 0, '>=', $emitted, 'without a limit all is in the log' or BAIL_OUT('there is nothing to compare with');
unlink 'l.paw';

for my $size (0, 3000, 20_000, 60_000, 300_000, 2_200_000) {
    for my $collected (1, 0) {
        my @command = $collected ? ("$B/bin/eventrec", '-k', 'User', '-o', 'l.paw', @steady)
                                 : ('env', 'PAWPRINT_LOG=l.paw', 'PAWPRINT_KINDS=User', @steady);
        my $what = "--fsize=$size, " . ($collected ? 'eventrec' : 'the program alone');
        my ($status, $out, $said) = run('prlimit', "--fsize=$size", @command);
        my ($events, $told) = $said =~ /^eventrec: (\d+) events \((\d+) discarded\)/m;
        my ($lost) = $said =~ /: (\d+) events are lost$/m;
        my ($check, $text) = (run("$B/bin/eventcnv", '--check', 'l.paw'))[0, 2];
        my $summary = join '', (run("$B/bin/eventview", 'summary', 'l.paw'))[1];
        my $has = () = (run("$B/bin/eventcnv", 'l.paw'))[1] =~ /\n/g;

        is "$out", "$emitted\n", "$what: the program does what it does";
        is $events + $told, $all, "$what: eventrec's line" or diag $said if $collected;
        is $events, $has, "$what: and the log's events" if $collected;
        is $has + $lost, $all, "$what: what the library says" or diag $said if defined $lost;
        isnt $check, 0, "$what: something is missing" if $has < $all;
        if ($has < $all && -s 'l.paw') {
            my ($discarded) = $summary =~ /^discarded +(\d+)/m;
            my ($checked) = $text =~ /(\d+) events were discarded/;
            is join(' ', map { $has + ($_ // 0) } $discarded, $checked), "$all $all", "$what: eventview and eventcnv --check" or diag $said, $text;
        }
        unlink 'l.paw', glob 'l.paw*';
        unlink map { ($_, "$_.log") } $said =~ m{(/dev/shm/pawprint-[-0-9a-f]+)}g;
    }
}

# What is said of a log that is not whole: that something waits, or can be added, only if there is memory that stays; and a
# soft limit of eventrec's, beyond which the program writes, leaves one count, too.
my @lists = ('perl', '-e', 'for (1 .. 300_000) { my @a = (1, q(x) x 100) }');
for my $row ((map { [$_, $_, @lists] } 100, 300, 1000), ['unlimited', 300, 'sh', '-c', 'ulimit -S -f unlimited; exec "$0" "$@"', @lists]) {
    my ($hard, $soft, @command) = @$row;
    my $what = "a limit of $soft" . ($hard eq $soft ? '' : ', which the program raises');
    my (undef, undef, $said) = run('bash', '-c', "ulimit -S -f $soft && ulimit -H -f $hard && exec \"\$0\" \"\$@\"", "$B/bin/eventrec", '-o', 'l.paw', @command);
    my ($events, $discarded) = $said =~ /^eventrec: (\d+) events \((\d+) discarded\)/m;
    my $size = -s 'l.paw';

    cmp_ok $discarded // 0, '>', 0, "$what: eventrec says what is lost" or diag $said;
    unlike $said, qr{--clean|wait in memory|/dev/shm|events that eventrec itself}, "$what: and not that it could be had yet";
    like $said, qr/^eventrec: \S+: the log could not be written to its end: File too large; what is lost counts as discarded$/m, "$what: why";
    for my $when ('before', 'after') {
        my ($check, $text) = (run("$B/bin/eventcnv", '--check', 'l.paw'))[0, 2];
        is $text =~ qr{^eventcnv: l\.paw: the end of process \d+ is not in the log, which is cut off, or could not be written to its end, or the process was killed$}m ? 1 : 0,
            $hard eq $soft ? 1 : 0, "$what: readers know that the log may be at its limit, $when --clean" or diag $text;
        unlike $text, qr/end of the recording/, "$what: and that the recording is over";
        like $text, qr/^eventcnv: $discarded events were discarded while recording/m, "$what: and count the same" or diag $said;
        is scalar(() = (run("$B/bin/eventcnv", 'l.paw'))[1] =~ /\n/g), $events, "$what: the others are there";
        is join(' ', run("$B/bin/eventrec", '--clean', 'l.paw')), '0  ', "$what: --clean finds nothing" if $when eq 'before';
    }
    is -s 'l.paw', $size, "$what: and adds nothing";
    unlink 'l.paw', glob 'l.paw*';
}

# A program that has opened all that it may, or has all the address space that it may, and forks: its children are recorded all the same, however
# they end and whoever lives by then, and so is what they become.  Each emits as many events as it was told to.
my $starved = "$B/prog/starved";
for my $row ([8, '3 1000 kill', 1000, 1000, 1000], [24, '3 1000 exit', 1000, 1000, 1000], [24, '2 20000 kill', 20_000, 20_000],
             [100, '3 1000 kill', 1000, 1000, 1000], [100, '2 1000 _exit', 1000, 1000], [4096, '2 1000 kill', 1000, 1000],
             [24, '2 1000 kill room=0', 1000, 1000], [100, '2 1000 exit room=0', 1000, 1000],
             [24, '3 1000 kill orphan | cat', 1000, 1000, 1000], [24, '3 1000 kill orphan', 1000, 1000, 1000],
             [24, "1 1000 kill $starved 2 500 kill", 1500, 500], [100, "1 1000 exit $starved 2 500 exit", 1500, 500]) {
    my ($limit, $arguments, @emitted) = @$row;
    my @program = ('sh', '-c', "ulimit -n $limit; $starved $arguments");

    for my $collected (1, 0) {
        my @command = $collected ? ("$B/bin/eventrec", '-p', 'block', '-o', 'l.paw', @program)
                                 : ('env', "LD_PRELOAD=$B/lib/libpawprint.so", 'PAWPRINT_LOG=l.paw', @program);
        my $what = "starved $arguments, of $limit, " . ($collected ? 'eventrec' : 'the program alone');
        my ($status, undef, $said) = run(@command);

        is $status, 0, "$what: runs" or diag $said;
        like $said, qr/ \(0 discarded\)/, "$what: nothing is discarded" if $collected;
        run("$B/bin/eventrec", '--clean', 'l.paw');
        is_deeply [map { my $size = 7000 + $_; scalar(() = (run("$B/bin/eventcnv", '-E', 'PoolAlloc', '-e', "size == $size", 'l.paw'))[1] =~ /\n/g) }
                   1 .. @emitted], \@emitted, "$what: all is there" or diag $said;
        is join(': ', (run("$B/bin/eventcnv", '--check', 'l.paw'))[0, 2]), '0: ', "$what: and nothing is missing";
        unlink 'l.paw', glob 'l.paw*';
    }
}

# Children of fork that have little address space become another program: what they had is in the log, or counted.
for my $size (map { 1000 * $_ } 16 .. 24) {
    my $program = 'for (1 .. 3) { if (!fork) { my @some = map { "x" x 70 } 1 .. 200; syswrite STDOUT, "all\n"; exec "true" } wait }';
    my ($status, $out, $said) = run("$B/bin/eventrec", '-k', 'Object', '-o', 'l.paw', 'sh', '-c', 'ulimit -v $1; exec perl -e "$2"', 'sh', $size, $program);
    my $emitted = 200 * (() = $out =~ /^all$/mg);
    my $has = () = (run("$B/bin/eventcnv", '-E', 'PoolAlloc', '-e', 'size > 70 && size < 75', 'l.paw'))[1] =~ /\n/g;
    my ($check, $told) = (run("$B/bin/eventcnv", '--check', 'l.paw'))[0, 2];
    my ($discarded) = $told =~ /(\d+) events? w(?:as|ere) discarded/;
    ok $has + ($discarded // 0) >= $emitted && ($check != 0 || !$discarded), "$size KiB of address space: all that children emit before exec is in the log, or counted"
        or diag "$has of $emitted: $check $told $said";
    unlink 'l.paw', glob 'l.paw*';
}

# A program has all the address space that there is, limits it, and becomes another one, which has room for what was used of the first one's
# memory, and not for all of it: what was there is in the log, and the memory is gone.
for my $size (30_000, 100_000) {
    my (undef, undef, $said) = run('env', "LD_PRELOAD=$B/lib/libpawprint.so", 'PAWPRINT_KINDS=Object', 'PAWPRINT_LOG=l.paw',
                                   'sh', '-c', 'ulimit -v $1; shift; exec "$@"', 'sh', $size, "$B/prog/leaves", qw(emit exec emit));
    my $what = "exec with $size KiB of address space";
    is_deeply [grep { (readlink "$_.log" // '') =~ m{^\Q$dir\E/} } regions()], [], "$what: no memory stays" or diag $said;
    is scalar(() = (run("$B/bin/eventcnv", '-E', 'PoolAlloc', '-e', 'size == 7001', 'l.paw'))[1] =~ /\n/g), 100, "$what: all is in the log";
    is join(': ', (run("$B/bin/eventcnv", '--check', 'l.paw'))[0, 2]), '0: ', "$what: and nothing is missing";
    run("$B/bin/eventrec", '--clean', 'l.paw');
    unlink 'l.paw', glob 'l.paw*';
}

# Where files may not be large enough memory has no name, and nobody finds it behind exec, or behind an end by which other threads, who sleep,
# end, too: all of it is in the log.  Where no program can be executed the process goes on.
for my $row ([9, 'emit fork emit exec emit'], [3, 'emit emit exec emit'], [9, 'emit threads'], [10, 'emit threads exec emit'],
             [4, 'emit failed emit failed emit exec emit'], [18, 'emit threads failed emit fork emit exec emit'],
             [9, 'emit orphan fork emit exec emit'], [10, 'emit orphan threads exec emit']) {
    my ($emits, $words) = @$row;
    for my $collected (1, 0) {
        next if !$collected && $words =~ /orphan/;
        my @command = $collected ? ("$B/bin/eventrec", '--force', '-k', 'Object', '-o', 'l.paw')
                                 : ('env', "LD_PRELOAD=$B/lib/libpawprint.so", 'PAWPRINT_KINDS=Object', 'PAWPRINT_LOG=l.paw');
        my (undef, undef, $said) = run('bash', '-c', 'ulimit -f 900; "$@"; true', 'bash', @command, "$B/prog/leaves", split ' ', $words);
        my $what = "$words, without a name, " . ($collected ? 'eventrec' : 'the program alone');
        is scalar(() = (run("$B/bin/eventcnv", '-E', 'PoolAlloc', '-e', 'size == 7001', 'l.paw'))[1] =~ /\n/g), 50 * $emits,
            "$what: all is in the log" or diag $said;
        my $check = (run("$B/bin/eventcnv", '--check', 'l.paw'))[2] =~ s/^[^\n]*: the end of the recording is not in the log[^\n]*\n//r;
        is $check, '', "$what: nothing is missing, but for the end of a recording whose eventrec was killed";
        unlink 'l.paw', glob 'l.paw*';
    }
}

# Where it makes its memory itself, by descriptors that its other threads do not see, the files that they have by these numbers stay as they
# are.
for my $bytes (1_000_000, 0) {
    open my $data, '>', 'data' or die;
    print $data 'd' x $bytes;
    close $data;
    my ($status, undef, $said) = run('sh', '-c', "ulimit -n 40; PAWPRINT_LOG=l.paw LD_PRELOAD=$B/lib/libpawprint.so exec $^X -e '"
        . 'while (open my $f, "+<", "data") { push @f, $f } if (!fork) { @x = map { "x" x ($_ * 10) } 1 .. 5000; exit } wait; exit $?' . "'");
    open $data, '<:raw', 'data' or die;
    read $data, my $bytesThere, 2_000_000;
    is $status, 0, "a child without descriptors, whose parent has a file of $bytes bytes by all of them, runs" or diag $said;
    ok $bytesThere eq 'd' x $bytes, 'and the file stays as it is';
    unlink 'data', glob 'l.paw*';
}

# Where the child can have no thread, either, by which it would be recorded, its events are lost, and its parent's memory counts them,
# whatever it dies of.  A thread is refused only to whom root is not.
SKIP: {
    my @nobody = $> != 0 ? () : ($^X, '-e', 'require POSIX; POSIX::setgid(65534); POSIX::setuid(65534); exec @ARGV');
    chmod 0755, $dir;
    mkdir 'lone';
    chmod 0777, 'lone';
    skip 'nobody may execute what is tested', 6 if (run(@nobody, "$B/bin/eventrec", '--version'))[0] != 0;
    for my $end (qw(exit kill)) {
        my (undef, undef, $said) = run(@nobody, "$B/bin/eventrec", '-k', 'Object', '-o', 'lone/l.paw', 'sh', '-c',
                                       "ulimit -n 24; exec $starved 1 1000 $end lone");
        my ($status, undef, $check) = run("$B/bin/eventcnv", '--check', 'lone/l.paw');
        like $said, qr/^eventrec: \d+ events \(2000 discarded\)/m, "no descriptor and no thread, $end: eventrec tells what is lost";
        is "$status $check", "256 eventcnv: 2000 events were discarded while recording, for want of room\n", '--check knows it';
        like +(run("$B/bin/eventview", 'summary', 'lone/l.paw'))[1], qr/^discarded +2000\b/m, 'and the summary';
        unlink 'lone/l.paw';
    }
}

# What we say may itself go to a file at its limit.
my ($status, $out) = run('sh', '-c', "exec 2>err; prlimit --fsize=10 env LD_PRELOAD=$B/lib/libpawprint.so PAWPRINT_LOG=l.paw @program[0..1] "
                                     . "'for (1 .. 100) { \@a = map { \"x\" x \$_ } 1 .. 300 } print qq(done\\n); exit 7'");
is "$status: $out", "1792: done\n", 'a message that finds no room kills nobody';
unlink 'l.paw';

# The program's own signal is its own.
($status) = run("$B/bin/eventrec", '-o', 'l.paw', 'prlimit', '--fsize=10', 'perl', '-e', 'open F, ">", "own"; print F "x" x 100; close F');
is $status >> 8, 128 + POSIX::SIGUSR1() - POSIX::SIGUSR1() + 25, 'a program that passes the limit dies of it, as without us';

# Where the system gives no memory, and lets nobody wait, whoever would rather wait than lose events does not wait for ever.
for my $policy (qw(discard block)) {
    my ($status, undef, $err) = run('timeout', 100, "$B/bin/eventrec", '--force', '-k', 'User', '-p', $policy, '-o', 'denied.paw', '--',
                                    "$B/prog/denied", 300_000);
    SKIP: {
        skip 'no filter may be installed here', 2 if $status == 77;
        is($status, 0, "$policy, and no memory: the program ends") or diag $err;
        my ($events, $discarded) = $err =~ /^eventrec: (\d+) events \((\d+) discarded\)/m;
        my $there = () = `$B/bin/eventcnv -E UserWord denied.paw 2>&1` =~ / UserWord id=1 value=\d+$/mg;
        is($there + ($discarded // 0), 300_000, 'and all is there, or counted') or diag $err;
    }
}

done_testing;
