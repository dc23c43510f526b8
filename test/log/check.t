#!/usr/bin/env perl
# check.t -- eventcnv --check gives 0 for a log that has all that was recorded, and for no other
#
# Takes long.
#
# SPDX-License-Identifier: BSD-2-Clause
#
# Each kind of log (design/log.md .check) is recorded, found whole, and then cut behind its blocks, and within.
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp spew);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);

my $B = $ENV{B} // 'build/cool';
my ($rec, $cnv) = ("$B/bin/eventrec", "$B/bin/eventcnv");
my $library = abs_path("$B/lib/libpawprint.so");
my $seed = $ENV{SEED} // time;
my $dir = tempdir('/tmp/pawprint-XXXXXX', CLEANUP => 1);
my $cuts = $ENV{SAN} ? 10 : 30; # of each log; a sanitized tool takes long for each

plan skip_all => 'no telemetry in this variety' if ($ENV{VARIETY} // '') eq 'rash';
diag "SEED=$seed";
srand $seed;

# check(@logs) -- the status, and what is said
sub check {
    my $said = `$cnv --check @_ 2>&1`;
    return ($? >> 8, $said);
}

# whole($name, $log) -- nothing is missing
sub whole {
    my ($name, $log) = @_;
    my ($status, $said) = check($log);
    is $status, 0, "$name: 0" or diag $said;
    return;
}

# ends($name, $log) -- wherever it is cut something is
sub ends {
    my ($name, $log) = @_;
    my $bytes = slurp($log);
    my (@at, @silent, @again);

    push @at, pos($bytes) - 4 while $bytes =~ /\x8fPAW/g;
    shift @at;
    splice @at, rand @at, 1 while @at > $cuts;
    for my $at (@at, $at[-1] + 1, length($bytes) - 1, map { 1 + int rand length($bytes) - 1 } 1 .. $cuts / 2) {
        my ($status) = check(spew("$dir/cut.paw", substr $bytes, 0, $at));
        push @silent, $at if $status == 0;
        next if rand > 0.3;
        unlink "$dir/again.paw";
        `$cnv -f paw -o $dir/again.paw $dir/cut.paw 2>&1`;
        push @again, $at if -e "$dir/again.paw" && (check("$dir/again.paw"))[0] == 0;
    }
    is "@silent", '', "$name: cut behind a block or within: never 0" or diag length $bytes;
    is "@again", '', "$name: nor when it is written again";
    return;
}

# holes($name, $log) -- whatever block is not there, or of which block only the beginning is, something is missing.  How
# many blocks of its own eventrec wrote before it was killed nobody says.
sub holes {
    my ($name, $log) = @_;
    my $bytes = slurp($log);
    my ($killed) = $name =~ /killed/ ? map { /\A\x8fPAWhdr\n(?=.*?^role: "collector"$).*?^identity: 0x([0-9a-f]+)$/ms } split /(?=\x8fPAW)/, $bytes : ();
    my $own = defined $killed ? reverse pack 'H16', substr '0' x 16 . $killed, -16 : '';
    my (@at, @silent);

    push @at, pos($bytes) - 4 while $bytes =~ /\x8fPAW/g;
    push @at, length $bytes;
    my @blocks = grep { substr($bytes, $at[$_], 8) eq "\x8fPAWblk\n" && substr($bytes, $at[$_] + 48, 8) ne $own } 0 .. $#at - 1;
    splice @blocks, rand @blocks, 1 while $ENV{SAN} && @blocks > 2 * $cuts;
    for my $i (@blocks) {
        for my $kept (0, 8, 100) {
            my ($status, $said) = check(spew("$dir/hole.paw", substr($bytes, 0, $at[$i] + $kept) . substr $bytes, $at[$i + 1]));
            push @silent, "$at[$i]+$kept" if $status != 1 || $said !~ /lost/;
        }
    }
    is "@silent", '', "$name: a block is cut out, or cut short, and that is told";
    return;
}

# processes($log) -- how many processes have a header block, besides eventrec, and their identities
sub processes {
    my ($log) = @_;
    my (%seen, @identity);
    for my $part (split /(?=\x8fPAW)/, slurp($log)) {
        my ($identity) = $part =~ /\A\x8fPAWhdr\n.*?^identity: 0x([0-9a-f]+)$/ms or next;
        push @identity, $identity if $part !~ /^role: /m && !$seen{$identity}++;
    }
    return (scalar @identity, @identity);
}

# without($log, $i) -- the log without anything of a process
sub without {
    my ($log, $i) = @_;
    my $identity = (processes($log))[1 + $i];
    my $bytes = reverse pack 'H16', substr '0' x 16 . $identity, -16;
    return spew("$dir/without.paw", join '', grep {
        /\A\x8fPAWhdr\n/ ? !/^identity: 0x$identity$/m : index(substr($_, 0, 128), $bytes) < 0
    } split /(?=\x8fPAW)/, slurp($log));
}

# record($log, @options) -- of a family of three
sub record {
    my ($log, @options) = @_;
    my $status = system "$rec @options -o $dir/$log --force -- sh $dir/family 2>$dir/said";
    is $status, 0, "$log is recorded" or diag slurp("$dir/said");
    return "$dir/$log";
}

spew("$dir/family", "for i in 1 2; do perl -e 'my \@a = map {[\$_]} 1 .. 4000'; sleep 0.2; done\n");
my %kind = (packed => [], raw => ['--raw'], overwrite => ['-p', 'overwrite', '-n', 8], time => ['-t', '0.3'],
            stop => ['-p', 'stop', '-n', 8]);
for my $kind (sort keys %kind) {
    my $log = record("$kind.paw", @{$kind{$kind}});
    next if $kind eq 'stop' && slurp("$dir/said") !~ /\(0 discarded\)/; # it did stop, of which more below
    whole($kind, $log);
    ends($kind, $log);
    holes($kind, $log) if $kind =~ /\A(?:packed|overwrite)\z/;
}
{
    my $log = "$dir/packed.paw";
    is system("$cnv -f paw -k Object -o $dir/filtered.paw $log"), 0, 'a log is filtered';
    whole('filtered', "$dir/filtered.paw");
    ends('filtered', "$dir/filtered.paw");
    is system("$cnv -f paw -o $dir/merged.paw $log $dir/raw.paw"), 0, 'two are merged';
    whole('merged', "$dir/merged.paw");
    ends('merged', "$dir/merged.paw");
    spew("$dir/both.paw", slurp($log) . slurp("$dir/raw.paw"));
    whole('one behind the other', "$dir/both.paw");
    my $bytes = slurp($log);
    spew("$dir/cut.paw", substr $bytes, 0, rindex $bytes, "\x8fPAW");
    my ($status) = check("$dir/cut.paw", "$dir/raw.paw");
    is $status, 1, 'one of two that is cut: 1';
    ($status) = check("$dir/cut.paw", $log);
    is $status, 0, 'what another log has whole is not missing';
}
{
    # Only the newest are kept, and the process sends them by itself.
    my $program = 'my @a = map {[$_]} 1 .. 20000; kill KILL => my $rec = getppid; 1 while getppid == $rec; @a = map {[$_]} 1 .. 4000';
    my $log = "$dir/left.paw";
    system "$rec -p overwrite -n 8 -o $log -- perl -e '$program' 2>$dir/said";
    for (1 .. 100) {
        last if (check($log))[1] !~ /runs|running|about to/;
        sleep 0.1;
    }
    whole('overwrite, and eventrec was killed', $log);
    holes('overwrite, and eventrec was killed', $log);
}
SKIP: {
    # Perl's objects are what makes a log large.
    skip 'no events of objects in this variety', 3 if ($ENV{VARIETY} // 'cool') ne 'cool';
    my $said = `$rec --max-size 1m -o $dir/small.paw -- perl -e 'for (1 .. 6) { my \@a = map {[\$_]} 1 .. 100000 }' 2>&1`;
    skip 'the file system makes no holes', 3 if $? != 0 && $said =~ /hole/;
    my ($status, $note) = check("$dir/small.paw");
    is $status, 0, '--max-size: 0' or diag $said, $note;
    like $note, qr/dropped on purpose/, 'though something was dropped';
    ends('--max-size', "$dir/small.paw");
}
{
    # Without a collector.
    local $ENV{PAWPRINT_LOG} = "$dir/alone.paw";
    local $ENV{LD_PRELOAD} = "$B/lib/libpawprint.so";
    $ENV{LD_PRELOAD} = POSIX::getcwd() . "/$ENV{LD_PRELOAD}" if $ENV{LD_PRELOAD} !~ m{^/};
    is system('perl', '-e', 'my @a = map {[$_]} 1 .. 20000; system "true"; exec "perl", "-e", "1"'), 0, 'a program alone';
}
whole('alone, with a child, and become another program', "$dir/alone.paw");
ends('alone', "$dir/alone.paw");
{
    # While it runs, and killed.
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        open STDERR, '>', "$dir/said" or POSIX::_exit(127);
        { no warnings; exec $rec, '-o', "$dir/run.paw", 'perl', '-e', 'my @a = map {[$_]} 1 .. 100000; sleep 60' }
        POSIX::_exit(127);
    }
    my $tries = 0;
    sleep 0.02 until (-s "$dir/run.paw" // 0) > 100000 || $tries++ > 1000;
    my ($status, $said) = check("$dir/run.paw");
    is $status, 1, 'a program that runs: 1';
    like $said, qr/still running/, 'and why';
    my ($program) = slurp("/proc/$pid/task/$pid/children") =~ /(\d+)/;
    kill STOP => $pid;
    kill KILL => $program // 0;
    kill KILL => $pid;
    waitpid $pid, 0;
    $tries = 0;
    sleep 0.02 while $program && -e "/proc/$program/fd" && $tries++ < 500;
    ($status, $said) = check("$dir/run.paw");
    is $status, 0, 'it and eventrec are killed, and memory has what is missing: 0' or diag $said;
    like $said, qr/from shared memory/, 'which is told';
    is system("$rec --clean $dir/run.paw >/dev/null 2>&1"), 0, 'cleaned';
    ($status, $said) = check("$dir/run.paw");
    is "$status$said", '0', 'it is whole';
    ends('cleaned', "$dir/run.paw");
}
SKIP: {
    # A recording that stops for want of a block: the event that found none is missing.
    skip 'no events of objects in this variety', 3 if ($ENV{VARIETY} // 'cool') ne 'cool';
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        open STDERR, '>', "$dir/said" or POSIX::_exit(127);
        { no warnings; exec $rec, qw(-p stop -n 8 -o), "$dir/stopped.paw", 'perl', '-e', 'kill STOP => getppid; my @a = map {[$_]} 1 .. 100000; kill CONT => getppid' }
        POSIX::_exit(127);
    }
    waitpid $pid, 0;
    my ($discarded) = slurp("$dir/said") =~ /^eventrec: \d+ events \((\d+) discarded\)/m;
    like slurp("$dir/said"), qr/^eventrec: .*: recording stopped after \S+ s, because no block was free$/m, 'stop: it did';
    my ($status, $said) = check("$dir/stopped.paw");
    is $status, 1, 'stop, where it did: 1';
    is $said, "eventcnv: $discarded event" . ($discarded == 1 ? ' was' : 's were') . " discarded while recording, for want of room\n", 'and what was discarded is all';
}
SKIP: {
    # Events are discarded in streams of which the log has no block: eventrec, readers and copies give one count.
    skip 'no events of objects in this variety', 8 if ($ENV{VARIETY} // 'cool') ne 'cool';
    my $stopping = 'kill STOP => $p; my @a = map {[$_]} 1 .. 100000; kill CONT => $p; sleep 1';
    spew("$dir/early", "perl -e '\$p = \$ARGV[0]; $stopping' \$PPID\n" .
                       "perl -e 'for (1 .. 40) { my \@a = map {[\$_]} 1 .. 4000; select undef, undef, undef, 0.01 }'\n");
    for my $how (['dropped', qw(--max-size 1M -n 8)], ['no event is wanted', qw(-E PoolResizeBegin -n 4)]) {
        my ($name, @options) = @$how;
        system "$rec -b 4K @options -o $dir/unseen.paw --force -- sh $dir/early 2>$dir/said";
        my ($discarded) = slurp("$dir/said") =~ /^eventrec: \d+ events \((\d+) discarded\)/m;
        cmp_ok $discarded, '>', 0, "$name: eventrec says that events were discarded";
        my @logs = map { "$dir/$_.paw" } qw(unseen copy again);
        for my $i (0 .. 2) {
            my ($status, $said) = check($logs[$i]);
            like "$status\n$said", qr/\A1\n.*^eventcnv: $discarded events were discarded while recording, for want of room$/ms,
                "$name: so do readers, of " . ('the log', 'a copy', 'a copy of that')[$i];
            `$cnv -f paw --force -o $logs[$i + 1] $logs[$i] 2>&1` if $i < 2;
        }
    }
}
{
    # Processes of which nothing is there: the recording's end says how many have a header block.
    my $family = 'true; perl -e 1; perl -e "fork; wait"; (exec true); exec perl -e 1'; # who outlives eventrec is not counted
    my $log = "$dir/several.paw";
    is system("$rec -o $log -- sh -c '$family' 2>$dir/said"), 0, 'several processes, by fork and exec';
    whole('several', $log);
    my ($n) = processes($log);
    my (@silent, @again);
    cmp_ok $n, '>=', 6, 'each has a header block';
    for my $i (0 .. $n - 1) {
        my ($status, $said) = check(without($log, $i));
        push @silent, $i if $status != 1 || $said !~ /without.paw: 1 of its $n processes is not in the log$/m;
        `$cnv -f paw --force -o $dir/again.paw $dir/without.paw 2>&1`;
        push @again, $i if (check("$dir/again.paw"))[0] != 1;
    }
    is "@silent", '', 'whichever is cut out: 1, and that is told';
    is "@again", '', 'of a copy, too';
    my $said = `$B/bin/eventview summary $dir/without.paw 2>&1`;
    like $said, qr/of its $n processes is not in the log/, 'all who read it are told';
    is system("$cnv -f paw -o $dir/whole.paw $log"), 0, 'a copy of all';
    whole('a copy', "$dir/whole.paw");
    ($said) = (check(without("$dir/whole.paw", 1)))[1];
    like $said, qr/without.paw: 1 of its $n processes is not in the log$/m, 'and it tells what is cut out of it';
    spew("$dir/both.paw", slurp("$dir/whole.paw") . slurp($log) . slurp("$dir/merged.paw"));
    whole('a copy, the log, and another copy, one behind the other', "$dir/both.paw");
    my ($status) = check(without($log, 1), $log);
    is $status, 0, 'what another log has is not missing';
    spew("$dir/both.paw", slurp("$dir/raw.paw") . slurp("$dir/without.paw"));
    is((check("$dir/both.paw"))[0], 1, 'behind another recording: 1');
    spew("$dir/both.paw", slurp("$dir/raw.paw") . slurp($log));
    whole('two recordings in one log', "$dir/both.paw");
    my @twice = map { "$dir/twice$_.paw" } 1, 2;
    is system("$rec -o $_ -- sh -c '$family' 2>$dir/said"), 0, 'recorded, and again' or diag slurp("$dir/said") for @twice;
    whole('recorded twice', spew("$dir/twice.paw", join '', map { slurp($_) } @twice));
    for my $i (0, 1) {
        my @has = map { $_ == $i ? without($twice[$_], 0) && slurp("$dir/without.paw") : slurp($twice[$_]) } 0, 1;
        my $count = (processes($twice[$i]))[0];
        my ($status, $said) = check(spew("$dir/twice.paw", join '', @has));
        like "$status $said", qr/^1 .*twice.paw: 1 of its $count processes is not in the log$/ms, 'without a process of one of them: 1';
    }
    my ($pid) = map { !/^role: /m && /^pid: (\d+)/m ? $1 : () } split /(?=\x8fPAW)/, slurp($log);
    for my $part ("--process $pid", '--process perl', '-E PoolAlloc', '-E Intern', '--from 0.01', '--to 0.01', '-n 3') {
        `$cnv -f paw --force $part -o $dir/part.paw $log 2>&1`;
        whole("a copy with $part", "$dir/part.paw");
    }
    for my $options ('--process perl', '-E PoolResizeBegin', '-k none', '--paused', '-p overwrite -n 8', '-t 0.05') {
        system "$rec $options --force -o $dir/chosen.paw -- sh -c '$family' 2>$dir/said";
        whole("recorded with $options", "$dir/chosen.paw");
    }
}
SKIP: {
    # What goes on purpose, if only header blocks of whole processes, is not missing.
    my $said = `$rec --max-size 1m -E PoolResizeBegin -o $dir/short.paw -- sh -c 'for i in \$(seq 150); do env true; done' 2>&1`;
    skip 'the file system makes no holes', 3 if $? != 0 && $said =~ /hole/;
    cmp_ok((processes("$dir/short.paw"))[0], '<', 140, '--max-size: header blocks of processes without a block go');
    whole('--max-size, of processes without a block', "$dir/short.paw");
    `$rec --max-size 1m -k none --force -o $dir/short.paw -- sh -c 'for i in \$(seq 150); do env true; done' 2>&1`;
    whole('--max-size, where only header blocks go', "$dir/short.paw");
}
{
    # eventrec is killed: who comes next counts what there is.
    my $log = "$dir/killed.paw";
    system "$rec -o $log -- perl -e 'for (1 .. 3) { system q(true) } select undef, undef, undef, 0.3; kill KILL => getppid, \$\$' 2>$dir/said";
    for (1 .. 100) {
        last if (check($log))[1] !~ /running|about to/;
        sleep 0.1;
    }
    whole('eventrec was killed', $log);
    is system("$rec --clean $log >/dev/null 2>&1"), 0, 'it is cleaned';
    whole('cleaned after that', $log);
    my ($n) = processes($log);
    my ($status, $said) = check(without($log, $n - 1));
    is $status, 1, 'and then a process is cut out: 1';
    like $said, qr/: 1 of its $n processes is not in the log$/m, 'which is told';
}
{
    # Of a program that became another one the end is cut away: its number, which that one has, is none.
    system "$rec -o $dir/exec.paw -- sh -c 'exec perl -e 1' 2>$dir/said";
    whole('a program that becomes another one', "$dir/exec.paw");
    my $first = (processes("$dir/exec.paw"))[1];
    my $rest = join '', grep { !/\A\x8fPAWhdr\n.*?^identity: 0x$first\n.*?^end: /ms } split /(?=\x8fPAW)/, slurp("$dir/exec.paw");
    my ($status, $said) = check(spew("$dir/hole.paw", $rest));
    like "$status $said", qr/^1 .*: the end of process \d+ is (?:not in the log|missing)/, 'without its end: 1';
}
SKIP: {
    skip 'no events of objects in this variety', 8 if ($ENV{VARIETY} // 'cool') ne 'cool';
    # Where memory has no name nobody finds it behind exec.
    my $chain = q(sh -c 'x=1; exec sh -c "x=1; exec sh -c :"');
    for my $case (['eventrec', "$rec -o $dir/chain.paw -- $chain"],
                  ['the library alone', "env LD_PRELOAD=$library PAWPRINT_LOG=$dir/chain.paw $chain"]) {
        my ($name, $command) = @$case;
        my ($all, $limited) = map {
            unlink "$dir/chain.paw";
            system "$_ $command 2>$dir/said";
            whole("$name, programs that become others, $_", "$dir/chain.paw");
            scalar(() = `$cnv $dir/chain.paw 2>/dev/null` =~ / PoolAlloc /g)
        } ':;', 'ulimit -f 900;';
        cmp_ok $all, '>', 100, "$name: three programs allocate";
        cmp_ok abs($all - $limited), '<', 20, 'and nothing of that is lost where memory can have no name';
    }
}
SKIP: {
    skip 'no events of objects in this variety', 6 if ($ENV{VARIETY} // 'cool') ne 'cool';
    # The parts of a chain of programs that write their log themselves: each block is missed by itself, also where no wrapper sees
    # the exec, and the last block of a thread that has ended, which is in the log before.
    for my $case (['a chain of programs', "sh -c 'x=1; exec sh -c \"x=1; exec $^X -e 1\"'"],
                  # The library stays out of a program with a sanitizer of threads.
                  ($ENV{SAN} // '') =~ /thread/ ? () : (['a chain that no wrapper sees', "$B/prog/chain 3 500 raw"],
                                                        ['with threads that have ended', "$B/prog/chain 3 500 thread"])) {
        my ($name, $command) = @$case;
        my $log = "$dir/parts.paw";
        unlink $log;
        system "env LD_PRELOAD=$library PAWPRINT_LOG=$log $command 2>$dir/said";
        whole("$name that write themselves", $log);
        my @piece = split /(?=\x8fPAW)/, slurp($log);
        my @silent = grep { (check(spew("$dir/hole.paw", join '', @piece[0 .. $_ - 1, $_ + 1 .. $#piece])))[0] == 0 }
            grep { $piece[$_] !~ /\A\x8fPAWhdr\n/ } 0 .. $#piece;
        is_deeply \@silent, [], "of " . @piece . ' pieces each block is missed' or diag join "\n", map { length $piece[$_] } @silent;
    }
}
{
    # Version 1.0 does not tell.
    my ($status) = check('test/good/threads.paw');
    is $status, 0, 'of version 1.0: nothing is expected at the end';
}
done_testing;
