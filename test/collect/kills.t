#!/usr/bin/env perl
# kills.t -- program, family and collector are killed at random moments, in either order: what they had emitted is in the
# log, or counted, and --check gives 0 only where all of it is there
#
# SPDX-License-Identifier: BSD-2-Clause
#
# KILLS=N kills so often; SOAK=1 about 200 times.  SEED=N, which is printed, has the same kills again, at about the same
# moments (but those within a write: `torn`).  KILLS_ONLY="mode=family,policy=block" makes all cases such; KILLS_KEEP=FOLDER keeps what there is of those that fail.
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(can_mount slurp until_ with_shm);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

my $B = abs_path($ENV{B} // 'build/cool');
my $prog = "$B/prog/slain";
my $seed = $ENV{SEED} // int time;
my $kills = $ENV{KILLS} // ($ENV{SOAK} ? 200 : 16);

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library is not preloaded in a sanitized build' if $ENV{SAN};

# As test/prog/slain.c has them.
my ($SIZE, $ROWS, $OBJECT, $TURN) = (4096, 120, 2048, 512);
my $BLOCK = 8192; # no block has so many events

# ---- Everything is done within a /dev/shm of some size, which a process of ours has ----------------------------------

if (!defined $ENV{KILLS_WITHIN}) {
    my @sizes = ('4g', '64m', '2m');
    diag "SEED=$seed";
    for my $i (0 .. $#sizes) {
        local %ENV = (%ENV, KILLS_WITHIN => $sizes[$i], SEED => $seed + $i, KILLS => POSIX::ceil($kills / @sizes));
      SKIP: {
            skip 'no file system can be mounted here', 1 if !can_mount();
            is system(with_shm($sizes[$i], $^X, $0)), 0, "$sizes[$i] in /dev/shm: $ENV{KILLS} times, nothing is lost that is not counted";
        }
    }
    done_testing;
    exit;
}

# ---- What there is ---------------------------------------------------------------------------------------------------

my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $log = "$dir/kills.paw";
my %tally;
# What is told where it cannot be counted.
my $Lacks = qr/newest events|the ends? of .* not in the log/;
my $Untraced = system("$B/prog/short $dir/none 9 true 2>/dev/null") >> 8 == 77;

chmod 0755, $dir;
mkdir "$dir/folder";
Test::More->builder->output(\my $unused); # the test is who has started us

sub oneOf { return $_[rand @_] }

# rows() -- of each thread: the process, and how many events of each kind it says that it has emitted
sub rows {
    my @words = unpack 'Q*', slurp("$dir/counts");
    my $rows = $words[0] // 0;

    $rows = $ROWS - 1 if $rows >= $ROWS;
    return map { {pid => $words[4 * $_], UserWord => $words[4 * $_ + 1], PoolAlloc => $words[4 * $_ + 2]} } 1 .. $rows;
}

# family() -- processes of the program that live
sub family {
    my @found;

    for my $exe (glob '/proc/[0-9]*/exe') {
        next if (readlink $exe // '') ne $prog;
        my ($pid) = $exe =~ m{(\d+)};
        my $called = slurp("/proc/$pid/cmdline"); # who is about to be the program has none yet
        push @found, $pid if $called eq '' || index($called, "\0$dir/folder\0") >= 0;
    }
    return @found;
}

# All that a recording leaves behind are children of ours, in the end: so it is known when they are gone, and nobody goes on in
# the next round.
sub adopt {
    my %prctl = (x86_64 => 157, aarch64 => 167);
    my $number = $prctl{(POSIX::uname())[4]};

    return defined $number && syscall($number, 36, 1, 0, 0, 0) == 0; # PR_SET_CHILD_SUBREAPER
}

sub regions { return grep { !/\.log$/ } glob("/dev/shm/pawprint-* $dir/*.region-*") }

# ---- One recording, and how it ends ----------------------------------------------------------------------------------

# plan_($first) -- one of the many things that can happen
sub plan_ {
    my ($first) = @_;
    my %plan = (
        mode => oneOf('threads', 'threads', 'family', 'family', 'nobody', 'chroot', 'mount'),
        policy => oneOf('discard', 'block', 'overwrite', 'stop'),
        threads => oneOf(1 .. 5, 1 .. 5, 50),
        kinds => oneOf('User', 'User,Object', '+Sync'),
        room => oneOf([], ['-b', '4K', '-n', 4 + int rand 30], ['-b', '4K', '-n', 200]),
        who => oneOf('program', 'collector', 'both', 'collector first', 'program first', 'some', 'some, collector'),
        when => oneOf(0.004, 0.02, 0.05, 0.1),
        stall => oneOf(0, 0, 0.02),
        ends => oneOf(0, 1),
        torn => oneOf(0, 0, 0, 40), # N: one of N writes to the log is cut short, and its process killed within it
    );
    # More threads than there are blocks, and the newest are to be kept: once each time, as chance seldom has it.
    @plan{qw(mode policy threads kinds room who when stall torn)} = ('threads', 'overwrite', 50, '+Sync', ['-b', '4K', '-n', 4], 'program first', 0.05, 0, 0)
        if $first && !$ENV{KILLS_ONLY};
    $plan{$1} = $2 while ($ENV{KILLS_ONLY} // '') =~ /(\w+)=([^,]*)/g;
    $plan{torn} = 0 if $Untraced;
    $plan{mode} = 'family' if $> != 0 && $plan{mode} =~ /nobody|chroot|mount/;
    return \%plan;
}

sub told { my ($plan) = @_; return join ' ', map { my $v = $plan->{$_}; "$_=" . (ref $v ? "@$v" : $v) } sort keys %$plan }

# begin($plan) -- the number of eventrec's process
sub begin {
    my ($plan) = @_;

    unlink $log, "$dir/err", map { ($_, "$_.log") } regions();
    open my $counts, '>', "$dir/counts" or die;
    truncate $counts, $SIZE;
    close $counts;
    my $pid = fork // die "fork: $!";
    my @torn = $plan->{torn} ? ("$B/prog/short", $log, $plan->{torn}) : ();
    if ($pid == 0) {
        open STDERR, '>', "$dir/err";
        open STDOUT, '>', "$dir/out";
        open STDIN, '<', '/dev/null';
        { no warnings; exec @torn, "$B/bin/eventrec", '-o', $log, '-k', $plan->{kinds}, '-p', $plan->{policy}, @{$plan->{room}}, '--',
            $prog, "$dir/counts", $plan->{mode}, $plan->{threads}, "$dir/folder" }
        POSIX::_exit(99);
    }
    until_(sub { slurp("$dir/err") =~ /^short: (\d+)\n/ && ($pid = $1) }) or die 'it does not begin' if @torn;
    return $pid;
}

# happen($plan, $rec) -- what the plan says happens; all who live in the end are killed, or told to end
sub happen {
    my ($plan, $rec) = @_;
    my $kill = sub { $tally{kills} += kill KILL => @_ };
    my $all = sub { while (my @live = family()) { $kill->(@live) } };

    sleep rand $plan->{when};
    if ($plan->{stall}) {
        kill STOP => $rec;
        sleep rand $plan->{stall};
        kill CONT => $rec if rand() < 0.7;
    }
    $kill->($rec) if $plan->{who} =~ /collector$|collector first|both/ && $plan->{who} ne 'some, collector';
    $kill->(grep { rand() < 0.5 } family()) if $plan->{who} =~ /some/;
    $kill->($rec) if $plan->{who} eq 'some, collector';
    sleep rand 0.03 if $plan->{who} =~ /first|some|collector/;
    $all->() if $plan->{who} =~ /program|both/;
    sleep rand 0.02 if $plan->{who} eq 'program first';
    $kill->($rec) if $plan->{who} =~ /program first/;
    kill CONT => $rec;
    if ($plan->{ends}) {
        open my $counts, '+<:raw', "$dir/counts" or die;
        sysseek $counts, 8, 0;
        syswrite $counts, pack 'Q', 1;
        until_(sub { !family() }) or return 'the program does not come to its end';
    }
    my ($gone, %died);
    until_(sub {
        $kill->(family());
        while (($gone = waitpid -1, POSIX::WNOHANG) > 0) {
            my $signal = $? & 127 || ($? >> 8) - 128; # eventrec's status says of what the program died
            ++$died{$signal} if $signal > 0 && $signal != POSIX::SIGKILL;
        }
        return $gone < 0;
    }) and return map { "somebody died of signal $_" } sort keys %died;
    kill KILL => $rec;
    waitpid $rec, 0;
    return 'eventrec does not come to its end';
}

# ---- What the log has, and what it should have -------------------------------------------------------------------------

# seen() -- of each thread and kind the numbers of its events, as ranges; and what eventcnv says
sub seen {
    my %seen;

    open my $in, '-|', "$B/bin/eventcnv -E UserWord,PoolAlloc $log 2>$dir/said" or die "eventcnv: $!";
    while (<$in>) {
        my ($kind, $row, $value);
        if (/ UserWord id=(\d+) value=(\d+)$/) {
            ($kind, $row, $value) = ('UserWord', $1, $2);
        } elsif (/ PoolAlloc .* size=(\d+)$/ && $1 >= $OBJECT + $TURN) {
            ($kind, $row, $value) = ('PoolAlloc', int(($1 - $OBJECT) / $TURN), ($1 - $OBJECT) % $TURN);
        } else {
            next;
        }
        my $ranges = $seen{$kind}[$row - 1] //= [];
        if (@$ranges && ($kind eq 'UserWord' ? $ranges->[-1][1] + 1 == $value : ($ranges->[-1][1] + 1) % $TURN == $value)) {
            ++$ranges->[-1][1];
        } else {
            push @$ranges, [$value, $value];
        }
    }
    close $in;
    return (\%seen, slurp("$dir/said"));
}

sub check {
    my $said = `$B/bin/eventcnv --check $log 2>&1`;

    return ($? >> 8, $said, $said =~ /(\d+) events? w(?:as|ere) discarded/ ? $1 : 0);
}

# lost($told) -- how many events were in damaged places: as it says, at most, and those of which it says so exactly
sub lost {
    my ($told) = @_;
    my ($lost, $most, $exactly) = (0, 0, 0);

    while ($told =~ /(?:(\d+) blocks? of.*)?; (about |at least )?(\d+) events? lost$/mg) {
        $lost += $3;
        $most += defined $2 ? $3 + $BLOCK * ($1 // 1) : $3;
        $exactly += $3 if !defined $2;
    }
    return ($lost, $most, $exactly);
}

# away($plan) -- do processes of the program go where what was shared is not: another user, root folder, file systems?
sub away { my ($plan) = @_; return $plan->{mode} =~ /nobody|chroot|mount/ }

# spared($plan) -- does nobody kill eventrec, neither as planned nor within a write?
sub spared { my ($plan) = @_; return !$plan->{torn} && $plan->{who} =~ /^(?:program|some)$/ }

# torn($plan) -- may a piece of what somebody wrote be in the log?  Who writes is eventrec, and, where that is away or
# there is no room in shared memory, a process; it has been killed.
sub torn { my ($plan) = @_; return !spared($plan) || away($plan) || $ENV{KILLS_WITHIN} eq '2m' }

# private($plan, $told) -- may blocks have been in memory of a process's own, which is gone when it is killed while
# it writes?
# Where there is no room in shared memory, and where its own user, root folder or file systems keep it from what was shared.
# eventrec has what it sees itself there, which is of no kind User.
sub private {
    my ($plan, $told) = @_;

    return 1 if $plan->{kinds} ne 'User' && $told =~ /the end of the recording is not in the log/;
    # Nor is the end of the recording told where a process says that eventrec was killed.  It was within one write, then.
    return 1 if $plan->{kinds} ne 'User' && $plan->{torn} && (() = $told =~ /events? lost$/mg) == 1;
    # A process that finds no room for a region has all in memory of its own, and says nothing of it.
    return 1 if $plan->{torn} && $ENV{KILLS_WITHIN} eq '2m';
    return slurp("$dir/err") =~ /no more room for blocks/ || away($plan)
        || ($plan->{room}[3] // 1000) < $plan->{threads};
}

# count(\@ranges) -- how many events that is
sub count { my $n = 0; $n += $_->[1] - $_->[0] + 1 for @{$_[0] // []}; return $n }

# inner($plan, \@ranges) -- how many events of UserWord are not there though a later one of their thread is
sub inner {
    my ($plan, $ranges) = @_;

    return 0 if !@{$ranges // []};
    return $ranges->[-1][1] + 1 - count($ranges) - ($plan->{policy} eq 'overwrite' ? $ranges->[0][0] : 0);
}

# missing($plan, $row, $kind, $emitted, \@ranges, \@faults) -- how many are not there that should be
sub missing {
    my ($plan, $row, $kind, $emitted, $ranges, $faults) = @_;
    my $n = count($ranges);
    my ($first, $last) = @$ranges ? ($ranges->[0][0], $ranges->[-1][1]) : (0, -1);
    my $what = "$kind $row: " . join(' ', map { "$_->[0]-$_->[1]" } @$ranges[0 .. ($#$ranges < 8 ? $#$ranges : 8)]) . " of $emitted";

    if ($kind eq 'UserWord') {
        push @$faults, "$what: not in order, or twice" if grep { $ranges->[$_][0] <= $ranges->[$_ - 1][1] } 1 .. $#$ranges;
        push @$faults, "$what: events that never were" if $last > $emitted;
    }
    push @$faults, "$what: $n events are more than were emitted" if $n > $emitted + 1;
    if ($plan->{policy} eq 'stop') { # what was emitted until then is there
        push @$faults, "$what: a gap in what was recorded" if (@$ranges > 1 || $first != 0) && $plan->{lost} == 0;
        return $kind eq 'UserWord' ? $last + 1 - $n : 0;
    }
    if ($plan->{policy} eq 'overwrite') { # the newest are
        return 0 if !@$ranges; # all of it was older
        return $kind eq 'UserWord' ? $last + 1 - $first - $n + ($emitted > $last + 1 ? $emitted - $last - 1 : 0) : $#$ranges;
    }
    push @$faults, "$what: a gap" if $kind eq 'PoolAlloc' && $n >= $emitted && @$ranges > 1;
    return $n < $emitted ? $emitted - $n : 0;
}

# unborn($told) -- does --check only say that processes are missing, and no more of them than eventrec said that still run?
# One that is killed before its first event is counted, and never writes its header block (design/log.md .census).
sub unborn {
    my ($told) = @_;
    my ($missing) = $told =~ /\A[^\n]*: (\d+) of its \d+ processes (?:is|are) not in the log\n\z/;
    my ($running) = slurp("$dir/err") =~ /eventrec: (\d+) of its processes still runs?, and writes? to the log/;

    return defined $missing && defined $running && $missing <= $running;
}

# faults($plan, $when) -- what of the log is not as it should be, and how many events it lacks
sub faults {
    my ($plan, $when) = @_;
    my @rows = rows();
    my (@faults, $lacks, $inner);
    my ($seen, $said) = seen();
    my ($status, $told, $discarded) = check();
    my ($lost, $most, $exactly) = lost($told);
    my $absent = 0; # of what was emitted, and of one more of each thread, which may be about to count it

    $lacks = $inner = 0;
    $plan->{lost} = $lost;
    for my $row (1 .. @rows) {
        for my $kind ($plan->{kinds} eq 'User' ? 'UserWord' : ('UserWord', 'PoolAlloc')) {
            my @these;
            my $n = missing($plan, $row, $kind, $rows[$row - 1]{$kind}, $seen->{$kind}[$row - 1] // [], \@these);
            $lacks += $n;
            $inner += inner($plan, $seen->{$kind}[$row - 1]) if $kind eq 'UserWord';
            $absent += $rows[$row - 1]{$kind} + 1 - count($seen->{$kind}[$row - 1]);
            $plan->{detail} .= "\n    $kind $row lacks $n of $rows[$row - 1]{$kind}: "
                . join ' ', map { "$_->[0]-$_->[1]" } @{$seen->{$kind}[$row - 1] // []} if $n > 0 && length($plan->{detail} // '') < 600;
            push @faults, @these;
        }
    }
    push @faults, 'events of threads that never were' if grep { @{$seen->{$_} // []} > @rows } keys %$seen;
    push @faults, "$lacks events are missing, and --check says 0: $told" if $lacks > 0 && $status == 0;
    my $unknown = $told =~ /$Lacks/;
    my $unreadable = $when ne 'cleaned' && $told =~ /nothing of it can be read/ && torn($plan);
    push @faults, "nobody killed eventrec, and its end is not there: $told"
        if $told =~ /the end of the recording is not/ && spared($plan);
    # What was being written out of private memory when its process was killed is missed by the numbers of its blocks: each
    # missing event is counted, or in such a place.  How many the newest are that nobody could take is not known, but
    # only of processes that went away from shared memory; of a gap before something newer it is.
    push @faults, "$lacks events are missing, $discarded were counted, $lost lost: $told"
        if $lacks > $discarded + $most && !($unknown && away($plan)) && !$unreadable;
    push @faults, "$inner events are missing before others, $discarded were counted, $lost lost: $told"
        if $inner > $discarded + $most;
    push @faults, "damaged: $told" if $lost > 0 && !private($plan, $told) && !$unreadable;
    push @faults, "$exactly events are said to be lost, and $absent are not there: $told" if $plan->{kinds} eq 'User' && $exactly > $absent;
    # A torn place that lost nothing is told where nobody has closed yet the part of eventrec, which was killed; and where what
    # was being written was only in memory of a process's own, which is gone.  Where nobody was killed who writes there is none.
    push @faults, "torn: $told" if $told =~ /damaged|0 events lost/ && $lost == 0 && (grep { $_->{UserWord} } @rows)
        && !(torn($plan) && ($when ne 'cleaned' || ($unknown && (away($plan) || $ENV{KILLS_WITHIN} eq '2m'))));
    # What is counted is missing: but where the process was killed behind a write, before it could take it back.
    my $counted = $lacks + 3 * @rows + ($plan->{mode} eq 'threads' ? 0 : 100);
    push @faults, "$discarded events were counted, and $lacks are missing: $told" if $plan->{kinds} eq 'User' && $plan->{policy} =~ /discard|block/ && $discarded > $counted;
    return ($lacks, $status, $told, $discarded, map { "$when: $_" } @faults);
}

# keep($number) -- the log of a case that failed, and what is in memory
sub keep {
    my ($number) = @_;
    my $folder = "$ENV{KILLS_KEEP}/$ENV{KILLS_WITHIN}-$number";

    mkdir $folder;
    system 'cp', '--sparse=always', '-a', $log, regions(), $folder;
}

# ---- Again and again ---------------------------------------------------------------------------------------------------

my $bad = 0;
adopt() or die "what it leaves cannot be adopted: $!";
srand $seed;
for my $i (1 .. $ENV{KILLS}) {
    my $plan = plan_($i == 1);
    my $rec = begin($plan);
    my @faults = happen($plan, $rec);
    my ($lacks, $status, $told, $discarded, @more) = (0, 0, '', 0);
    my $there = -s $log;
    ($lacks, $status, $told, $discarded, @more) = faults($plan, 'as it was left') if $there;
    push @faults, @more;
    keep($i) if @faults && $ENV{KILLS_KEEP};
    my $clean = `$B/bin/eventrec --clean $log 2>&1`;
    # What children leave that begin as another user when the collector is dead is not read; that is told.
    my @left = grep { $plan->{mode} ne 'nobody' || (stat)[4] == $> } regions();
    push @faults, "something is left in memory: @left" if @left;
    if (-s $log) {
        my @after = faults($plan, 'cleaned');
        push @faults, splice @after, 4;
        # Nobody knows what a collector that was killed would have written, nor what a child that begins in another root folder
        # or as another user, when the collector has gone, had in memory of its own.
        push @faults, "cleaned: nothing is missing, but --check says: $after[2]"
            if $after[0] == 0 && $after[3] == 0 && $after[1] != 0 && $plan->{lost} == 0 && !unborn($after[2])
                && ((spared($plan) && !away($plan)) || $after[2] !~ /$Lacks|nothing of it can be read/);
        ($lacks, $status, $told, $discarded) = @after;
    } elsif (my @emitted = grep { $_->{UserWord} } rows()) {
        push @faults, 'events were emitted, and there is no log';
    }
    $tally{rounds}++;
    $tally{emitted} += $_->{UserWord} + $_->{PoolAlloc} for rows();
    $tally{processes} += keys %{{map { $_->{pid} => 1 } rows()}};
    $tally{discarded} += $discarded;
    next if !@faults;
    ++$bad;
    diag "$ENV{KILLS_WITHIN} $i (SEED=$seed): ", told($plan);
    diag "  $_" for map { s/\n(?=.)/\n    /gr } @faults;
    diag '  eventrec: ', slurp("$dir/err") =~ s/\n(?=.)/\n    /gr if -s "$dir/err";
    diag "  --clean: $clean" if $clean ne '';
    system "cp $log $ENV{KILLS_KEEP}/$ENV{KILLS_WITHIN}-$i-after.paw" if $ENV{KILLS_KEEP};
}
diag "$ENV{KILLS_WITHIN}: ", join ', ', map { "$tally{$_} $_" } sort keys %tally if $ENV{SOAK} || $bad;
exit($bad != 0);
