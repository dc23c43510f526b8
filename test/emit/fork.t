#!/usr/bin/perl
# fork.t -- processes of a family: what a child of fork has from its parent, what ends with a process, and what many
# processes, and frees of what nobody saw, cost
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Cwd 'abs_path';
use File::Temp 'tempdir';
use JSON::PP;
use Test::More;

my $B = $ENV{B} // 'build/cool';
my $Dir = tempdir(CLEANUP => 1);

plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};

sub run {
    my (@command) = @_;
    my $command = join ' ', map { quotemeta } @command;
    my $out = `$command 2>$Dir/err`;
    my $status = $?;
    open my $in, '<', "$Dir/err" or die $!;
    return ($status, $out, join '', <$in>);
}

sub record {
    my ($name, $options, @program) = @_;
    my ($status, undef, $err) = run("$B/bin/eventrec", '-p', 'block', @$options, '-o', "$Dir/$name.paw", @program);
    is($status, 0, "$name is recorded") or diag $err;
    return "$Dir/$name.paw";
}

sub summary { return decode_json((run("$B/bin/eventview", '--json', @_))[1]) }
sub live { return decode_json((run("$B/bin/eventview", 'live', '--json', '--top', 1_000_000, @_))[1]) }

# When the event is that `pattern` matches.
sub when {
    my ($log, $pattern) = @_;
    my ($line) = grep { /$pattern/ } split /\n/, (run("$B/bin/eventcnv", $log))[1];
    return (split ' ', $line // '')[0];
}

for (['many children that wait', 150, 1000, 1000, 0], ['too many, with too much', 90, 100_000, 10, 1]) {
    my ($name, $children, $objects, $frees, $forgets) = @$_;
    subtest $name => sub {
        my $log = "$Dir/waits.paw";
        my ($status, $err, $sum);
        # On a busy machine the children may not all wait: then nothing need be forgotten, and it is done again.
        for my $try (1 .. 4) {
            ($status, undef, $err) = run("$B/bin/eventrec", '-k', 'Object,System', '-p', 'block', '-o', $log, '--',
                                         "$B/prog/waits", $children, $objects, $frees);
            plan skip_all => 'nobody may run first here' if $status == 77 << 8;
            $sum = summary($log);
            last if !$forgets || $sum->{forgotten} > 0;
        }
        is($status, 0, 'is recorded') or diag $err;
        is($sum->{frees} + $sum->{unmatched}, $children * $frees, 'all frees are there');
        my ($forgotten) = (run("$B/bin/eventview", $log))[1] =~ /^forgotten +what (\d+) /m;
        is($forgotten // 0, $sum->{forgotten}, 'what was forgotten is said');
        cmp_ok($sum->{forgotten}, $forgets ? '>' : '==', 0, $forgets ? 'something is' : 'nothing is');
        is($sum->{unmatched}, $sum->{forgotten} * $frees, 'and only what is forgotten is unmatched');
        unlink $log;
    };
}

subtest 'a child frees and resizes what it has from its parent' => sub {
    my $log = record('inherits', [], "$B/prog/inherits", 4000, 'free');
    my $sum = summary($log);
    is($sum->{unmatched}, 0, 'nothing is unmatched');
    is($sum->{repairs} + $sum->{overlaps} + $sum->{unfinished}, 0, 'nor put right');
    is($sum->{allocations}, 4001, 'what is inherited is no allocation');
    is($sum->{inherited_objects}, 4001, 'and is said');
    is($sum->{frees}, 4000, 'every free');
    is($sum->{resizes}, 400, 'and resize');
    is($sum->{peak_objects}, 8002, 'the peak is that of both');
    is($sum->{live_objects}, 4001 + 1, 'and at its end each had what it had not freed');
    is((run("$B/bin/eventcnv", '-f', 'paw', '-o', "$Dir/copy.paw", $log))[0], 0, 'is written again');
    is_deeply([@{summary("$Dir/copy.paw")}{qw(inherited_objects unmatched live_objects peak_bytes)}],
              [@$sum{qw(inherited_objects unmatched live_objects peak_bytes)}], 'and inherits');
    my %pids = map { $_->{pid} => 1 } @{$sum->{processes}};
    my ($child) = grep { $pids{$_->{parent}} } @{$sum->{processes}};
    my $own = summary('--process', $child->{pid}, $log);
    is_deeply([map { $_->{pid} } @{$own->{processes}}], [$child->{pid}], 'the child is chosen alone');
    is($own->{events}, $child->{events} + grep({ /\bpid=$child->{pid}\b/ } split /\n/, (run("$B/bin/eventcnv", $log))[1]),
       'no event of its parent is counted');
    is_deeply([@$own{qw(unmatched inherited_objects allocations frees resizes)}], [0, 4001, 0, 4000, 400],
              'and it has all that it inherited');
    is($own->{peak_objects}, 4001, 'at its peak, too');
    my ($status, undef, $err) = run("$B/bin/replay", '-a', 'libc', '--verify', '--process', $child->{pid}, $log);
    is($status, 0, 'the child is replayed');
    unlike($err, qr/allocation is not in the log/, 'with all its objects');
    ($status, undef, $err) = run("$B/bin/replay", '-a', 'libc', '--process', 'inherits', $log);
    like($err, qr/^replay: process $child->{pid} \(inherits\): the one with the most operations of 2$/m,
         'by its name the one of two with the most operations is meant, and said');
    ($status, undef, $err) = run("$B/bin/replay", '-a', 'libc', '--process', 'nobody', $log);
    like("$status $err", qr/^256 replay: \Q$log\E: no process is called 'nobody'/, 'a name that nobody has');
};

# family -- of a log of one that forks: its number and its child's
sub family {
    my ($log) = @_;
    my %pids = map { $_->{pid} => 1 } @{summary($log)->{processes}};
    my ($child) = grep { $pids{$_->{parent}} } @{summary($log)->{processes}};
    return @$child{qw(parent pid)};
}

subtest 'a child alone, so many events of it' => sub {
    my $log = record('some', [], "$B/prog/inherits", 1000, 'free');
    my ($parent, $child) = family($log);
    for my $n (0, 1, 500) {
        my @lines = split /\n/, (run("$B/bin/eventcnv", '--process', $child, '-n', $n, $log))[1];
        is(scalar(grep { m{^\S+ $child/} } @lines), $n, "-n $n: its own events");
        my $sum = summary('--process', $child, '-n', $n, $log);
        my $inherits = $n > 0 ? 1001 : 0; # a process is known from its first event on
        my $lives = $inherits - grep { / PoolFree / } @lines;
        is_deeply([@$sum{qw(events inherited_objects unmatched peak_objects live_objects)}], [$n, $inherits, 0, $inherits, $lives],
                  'count, beside what it inherited');
        my @live = @{live('--process', $child, '-n', $n, $log)->{processes}};
        is_deeply([map { "$_->{pid} $_->{objects}" } @live], [$n > 0 ? "$child $lives" : ()], 'and live shows that');
    }
    my $window = ['--process', $child, '--from', when($log, 'PoolResizeBegin')];
    my @lines = split /\n/, (run("$B/bin/eventcnv", @$window, '-n', 20, $log))[1];
    is(summary(@$window, '-n', 20, $log)->{last}, (split ' ', $lines[-1])[0] + 0, 'from a time on: the same twenty');
    is(summary('--process', $child, '-n', 1e6, $log)->{live_objects}, 1, 'more than there are: all');
};

subtest 'pictures of a child alone' => sub {
    my $log = record('drawn', [], "$B/prog/inherits", 1000, 'free');
    my ($parent, $child) = family($log);
    my @draw = ("$B/bin/eventcnv", '--process', $child, '-f');
    my @events = @{decode_json((run(@draw, 'chrome', '--thin', 0, $log))[1])->{traceEvents}};
    is(scalar(grep { $_->{pid} == $parent } @events), 0, 'chrome: nothing of its parent');
    my @objects = map { $_->{args}{value} } grep { $_->{ph} eq 'C' && $_->{name} eq 'live objects' } @events;
    my ($most) = sort { $b <=> $a } @objects;
    is("$most $objects[-1]", '1001 0', 'and what it inherited is drawn, until it ends');
    my ($last) = sort { $b <=> $a } map { $_->{ts} // 0 } @events;
    my @lines = split /\n/, (run("$B/bin/eventcnv", '--process', $child, $log))[1];
    is(sprintf('%.9f', $last / 1e6), (split ' ', $lines[-1])[0], 'the picture ends with the last event that tells of it');
    @objects = map { $_->{args}{value} } grep { $_->{ph} eq 'C' && $_->{name} eq 'live objects' }
        @{decode_json((run(@draw, 'chrome', '--thin', 0, '--from', when($log, 'PoolResizeEnd'), $log))[1])->{traceEvents}};
    is($objects[0], 1001 - 10 + 1, 'from a time on: what was left then') or diag $objects[0];
    my $paje = (run(@draw, 'paje', '--thin', 0, $log))[1];
    unlike($paje, qr/\b[pt]${parent}(?:_\d+)?\b/, 'paje: nothing of its parent');
    like($paje, qr/^10 \S+ v\d+ p$child 1001$/m, 'and what it inherited');

    my @all = split /\n/, (run("$B/bin/eventcnv", '-f', 'folded', $log))[1];
    my @own = split /\n/, (run(@draw, 'folded', $log))[1];
    is_deeply(\@own, [grep { /^inherits $child;/ } @all], 'folded: what it has allocated itself');
    @own = split /\n/, (run(@draw, 'folded', '--value', 'live', $log))[1];
    is_deeply(\@own, ["inherits $child;main;pool 0 malloc;4K to 8K 8000"], 'and what it inherited and never freed is its own');
    my $sum = 0;
    $sum += (split)[-1] for split /\n/, (run("$B/bin/eventcnv", '-f', 'folded', '--value', 'live', $log))[1];
    is($sum, summary($log)->{live_bytes}, 'of both it is what the summary says');
};

subtest 'a log of a child alone' => sub {
    my $log = record('alone', [], "$B/prog/inherits", 1000, 'free');
    my ($parent, $child) = family($log);
    my ($i, $from) = (0, when($log, 'PoolResizeEnd'));
    for my $row ([[], 1001, 1], [['-n', 300], 1001], [['--from', $from], 1001 - 9, 1]) {
        my ($options, $first, $last) = @$row;
        my ($copy, @choose) = ("$Dir/alone.copy." . $i++ . '.paw', '--process', $child, @$options);
        my ($status, undef, $err) = run("$B/bin/eventcnv", '-f', 'paw', '-o', $copy, @choose, $log);
        is("$status $err", '0 ', "@choose: a log");
        is((run("$B/bin/eventcnv", '--check', $copy))[0], 0, 'which is whole');
        my $sum = summary($copy);
        $last //= summary(@choose, $log)->{live_objects};
        is_deeply([@$sum{qw(unmatched objects_at_first live_objects)}], [0, $first, $last], 'and has what it had');
        my %threads = map { $_->{pid} => $_->{threads} } @{$sum->{processes}};
        is($threads{$child}, 1, 'in one thread');
        my @own = grep { m{^\S+ $child/} && !/ (?:State|PoolLive)/ } split /\n/, (run("$B/bin/eventcnv", $copy))[1];
        my @all = grep { m{^\S+ $child/} } split /\n/, (run("$B/bin/eventcnv", @choose, $log))[1];
        s/^\S+ // for @own, @all;
        splice @own, 0, @own - @all; # what defines things comes before
        is_deeply(\@own, \@all, 'and its events');
        is(scalar grep({ m{^\S+ $parent/.* PoolAlloc} } split /\n/, (run("$B/bin/eventcnv", $copy))[1]), 0, 'and none of its parent');
        unlike((run("$B/bin/replay", '-a', 'libc', '--process', $child, $copy))[2], qr/allocation is not in the log/, 'and is replayed');
    }
};

subtest 'what lives in a child' => sub {
    my $log = record('keeps', [], "$B/prog/inherits", 1000, 'keep');
    my $time = when($log, 'size=7777\b'); # which the child allocates last
    my @processes = @{live('--at', $time, $log)->{processes}};
    is_deeply([map { $_->{objects} } @processes], [1001, 1001], 'all that its parent has');
    is(summary($log)->{live_objects}, 1 + 1002, 'until it ends');
    my %pids = map { $_->{pid} => 1 } @{summary($log)->{processes}};
    my ($child) = grep { $pids{$_->{parent}} } @{summary($log)->{processes}};
    for my $at ($time, 'peak', 'end') {
        my @own = @{live('--at', $at, '--process', $child->{pid}, $log)->{processes}};
        is_deeply([map { "$_->{pid} $_->{objects}" } @own], ["$child->{pid} " . ($at eq $time ? 1001 : 1002)],
                  "at $at, when it is chosen alone");
    }
    is_deeply([map { $_->{objects} } @{live($log)->{processes}}], [1], 'of what has ended nothing lives but the last');
};

subtest 'handlers of the program' => sub {
    for my $mode (qw(observe manage)) {
        for my $when (qw(late early)) {
            my $log = record("handlers.$mode.$when", ['-m', $mode], "$B/prog/handlers", $when);
            my $sum = summary($log);
            is_deeply([@$sum{qw(unmatched overlaps repairs unfinished early)}], [0, 0, 0, 0, 0], "$mode, $when: all fits together");
            is("@$sum{qw(threads allocations inherited_objects)}", '4 307 306', 'each has one thread, and what was there at the fork');
            is($sum->{frees}, 6 * 100 + 3 * 2, 'each handler frees what the one before the fork allocated');
            is_deeply([map { $_->{threads} } @{$sum->{processes}}], [1, 1, 1, 1], 'no thread twice');
            is_deeply([sort { $a <=> $b } map { $_->{peak_bytes} } @{$sum->{processes}}],
                      [map { 7777 + 104_950 + $_ * 5555 } 0, 1, 2, 2], 'nor is anything inherited too early') if $mode eq 'observe';
        }
    }
};

subtest 'forked while other threads are at it' => sub {
    for my $mode (qw(observe manage)) {
        for my $round (1 .. 5) {
            my $log = record("churn.$mode.$round", ['-m', $mode], "$B/prog/churn", 4, 3000);
            my $sum = summary($log);
            cmp_ok($sum->{allocations}, '>=', 4 * 3000, "$mode: threads are at it");
            cmp_ok($sum->{inherited_objects}, '>', 0, 'and children have objects of theirs');
            # The parent's threads may crowd a busy machine; what two of them did within a microsecond is not told apart.
            cmp_ok($sum->{unmatched} + $sum->{overlaps}, '<=', $sum->{repairs}, "$mode: everything has its match");
            cmp_ok($sum->{repairs}, '<=', $sum->{allocations} / 100, "$mode: few events are put right");
        }
    }
};

# The other count is that of living.so, which counts a call when it is done, as we count a free when it begins.
subtest 'forked in the midst of calls' => sub {
    for my $row ([0, 3], [1, 5], [3, 10]) {
        my ($threads, $children) = @$row;
        my $log = "$Dir/midst.$threads.paw";
        my ($status, $out, $err) = run("$B/bin/eventrec", '-p', 'block', '-o', $log, 'sh', '-c',
            "LD_PRELOAD=\$LD_PRELOAD:" . abs_path("$B/prog/living.so") . " exec $B/prog/midst $threads $children");
        is($status, 0, "with $threads threads it is recorded") or diag $err;
        my %counted = $out =~ /^(\d+) (\d+)$/mg;
        is(scalar keys %counted, $children, 'each child tells how many objects it has');
        my ($sum, $wrong) = (0, 0);
        for my $child (sort keys %counted) {
            my ($own) = @{live('--process', $child, $log)->{processes}};
            my $doubt = $own->{in_doubt} // 0;
            ++$wrong, diag "counted $counted{$child}, live $own->{objects}, in doubt $doubt"
                if abs($counted{$child} - $own->{objects}) > $doubt;
            $sum += $doubt;
            my $text = (run("$B/bin/eventview", 'live', '--process', $child, $log))[1];
            my ($said) = $text =~ /^  in doubt +(\d+) at most/m;
            is($said // 0, $doubt, 'in words, too');
        }
        is($wrong, 0, 'as live says, give or take what it says is in doubt');
        is(summary($log)->{inherited_in_doubt}, $sum, 'the summary says it of all');
        cmp_ok($sum, $threads == 0 ? '==' : '>=', $children * $threads, 'a call of each other thread');
    }
};

subtest 'forked when all other threads have ended' => sub {
    my $log = record('tail', [], "$B/prog/tail", 40);
    my $sum = summary($log);
    is($sum->{threads}, 42, 'what destructors do behind the end is the same thread');
    cmp_ok($sum->{inherited_objects}, '>=', 5, 'the child has what its parent had');
    is($sum->{inherited_in_doubt}, 0, 'and nobody was at work meanwhile');
};

subtest 'made by the system call itself' => sub {
    my $log = record('clones', [], "$B/prog/clones", 3);
    my $sum = summary($log);
    is_deeply([@$sum{qw(unmatched inherited_objects inherited_in_doubt inherited_by_clone)}], [0, 300, 0, 3],
              'without other threads nothing is in doubt for what these did, but the children are counted');
    my $text = (run("$B/bin/eventview", 'summary,live', $log))[1];
    unlike($text, qr/^ *in doubt/m, 'nor does it say so');
    like($text, qr/^by clone +3 of these children/m, 'but how these were made');
    my @late = map { $_->{by_clone} ? 1 : 0 } map { @{live('--process', $_->{pid}, $log)->{processes}} } @{$sum->{processes}};
    is_deeply([sort @late], [0, 1, 1, 1], 'also of each');
    is(summary(record('forked', [], "$B/prog/inherits", 1000, 'free'))->{inherited_by_clone}, 0, 'and not of those of fork');
};

subtest 'one after the other' => sub {
    my $log = record('row', [], 'sh', '-c', "for i in 1 2 3 4 5 6 7 8; do perl -e 'my \$x = \"y\" x 5_000_000' || exit 1; done");
    my $sum = summary($log);
    my ($most) = sort { $b <=> $a } map { $_->{peak_bytes} } @{$sum->{processes}};
    cmp_ok($sum->{peak_bytes}, '<', 1.5 * $most, 'the peak of a family is what lived at one time');
    cmp_ok($sum->{peak_bytes}, '>=', $most, 'and not less than the largest process had');
    is($sum->{processes_without_end}, 0, 'how each ended is known');
    cmp_ok($most, '>', 5_000_000, 'which is large');
    my @names = map { $_->{program} } @{live($log)->{processes}};
    is(scalar @names, 1, 'one process is the last that lived') or diag "@names";
    my @large = map { (split)[0] } grep { /size=(\d+)/ && $1 >= 5_000_000 }
        split /\n/, (run("$B/bin/eventcnv", '-E', 'PoolAlloc,PoolResizeEnd', $log))[1];
    cmp_ok(scalar @large, '>=', 8, 'each allocates much');
    my ($crowd) = sort { $b <=> $a } map { scalar @{live('--at', $_, $log)->{processes}} } @large;
    cmp_ok($crowd, '<=', 2, 'and at no such time does more than the shell and its child live');
    is((run("$B/bin/eventcnv", '-f', 'paw', '-o', "$Dir/row.copy.paw", '-e', 'name != "ProcessExit"', $log))[0], 0,
       'is written again without the events of their ends');
    is(summary("$Dir/row.copy.paw")->{peak_bytes}, $sum->{peak_bytes}, 'which changes nothing');
};

# alone -- a program that records by the library alone
sub alone {
    my ($log, @program) = @_;
    local @ENV{qw(LD_PRELOAD PAWPRINT_LOG)} = (abs_path("$B/lib/libpawprint.so"), $log);
    return system(@program);
}

# A process that has ended has nothing, however soon another one allocates.
{
    my $log = record('ends', [], abs_path("$B/prog/ends"));
    my $sum = summary($log);
    cmp_ok($sum->{peak_bytes}, '<', 51_000_000, 'whoever allocates when another process has ended has not that one\'s memory, too');
    cmp_ok($sum->{peak_bytes}, '>=', 50_000_000, 'but each has its own');
    my ($mapped) = map { /^mapped .*, peak (\d+)/ ? $1 : () } split /\n/, (run("$B/bin/eventview", $log))[1];
    cmp_ok($mapped, '<', 51_000_000, 'nor what it had mapped');
}

subtest 'without eventrec' => sub {
    my @perl = ('perl', '-e', 'my $x = "y" x 5_000_000');
    is(alone("$Dir/alone.$_.paw", @perl), 0, 'runs') for 1 .. 3;
    my @logs = map { "$Dir/alone.$_.paw" } 1 .. 3;
    my $most = summary($logs[0])->{peak_bytes};
    my $sum = summary(@logs);
    cmp_ok($sum->{peak_bytes}, '<', 1.5 * $most, 'several logs: each process ends by its own last header block');
    is($sum->{processes_without_end}, 0, 'all of them');
    alone("$Dir/family.paw", 'sh', '-c', 'for i in 1 2 3; do perl -e \'my $x = "y" x 5_000_000\' || exit 1; done; exit 0');
    cmp_ok(summary("$Dir/family.paw")->{peak_bytes}, '<', 1.5 * $most, 'one log');
    alone("$Dir/killed.paw", 'sh', '-c', 'exec 2>/dev/null; perl -e "kill 9, \$\$"; true; perl -e 1; exit 0');
    is((run("$B/bin/eventrec", '--clean', "$Dir/killed.paw"))[0], 0, 'one is killed');
    is(summary("$Dir/killed.paw")->{processes_without_end}, 1, 'of which the log does not have the end');
    like((run("$B/bin/eventview", "$Dir/killed.paw"))[1], qr/^no end +1 process: the log does not say that it has ended/m,
         'and that is said');
};

subtest 'threads' => sub {
    my $log = record('keys', [], "$B/prog/inherits", 20, 'threads');
    my $sum = summary($log);
    is($sum->{threads}, 21, 'a thread whose data a destructor frees is one thread');
    is($sum->{unmatched}, 0, 'and its objects are its own');
    cmp_ok($sum->{frees}, '>=', 20, 'of which it frees one each');
    $sum = summary(record('exec', [], 'sh', '-c', "exec sh -c 'exec perl -e 1'"));
    is(scalar @{$sum->{processes}}, 3, 'one program after the other by exec');
    is($sum->{threads}, 1, 'is one thread');
    $sum = summary(record('execs', [], 'sh', '-c', 'for i in 1 2; do perl -e "exec q(true)" || exit 1; done; exit 0'));
    is($sum->{threads}, 3, 'and each child another');
};

# cheapest($rounds, @commands) -- the processor time that each of them takes at least, of so many runs by turns
sub cheapest {
    my ($rounds, @commands) = @_;
    my @best;
    for my $round (1 .. $rounds) {
        for my $i (0 .. $#commands) {
            my @before = times;
            run(@{$commands[$i]});
            my @after = times;
            my $took = $after[2] + $after[3] - $before[2] - $before[3];
            $best[$i] = $took if !defined $best[$i] || $took < $best[$i];
        }
    }
    return @best;
}

# The time is proportional to the number of processes: a log of 4000 costs as much as four of 1000, or somewhat more.
subtest 'what many processes cost' => sub {
    my ($few, $many) = map {
        record("many.$_", [], 'sh', '-c', "i=0; while [ \$i -lt $_ ]; do (exit 0); i=\$((i + 1)); done; exit 0")
    } 1000, 4000;
    is(scalar @{summary($many)->{processes}}, 4001, 'all are there');
    for my $view ('summary', 'live') {
        my ($four, $one) = cheapest(4, map { ['sh', '-c', join '; ', map { "$B/bin/eventview $view $_" } @$_] }
                                    [($few) x 4], [$many]);
        cmp_ok($one, '<=', 2 * $four, "$view: four times as many, not more than twice as much for each") or diag $four;
    }
    my ($four, $one) = cheapest(4, map { ['sh', '-c', join '; ', map { "$B/bin/eventcnv --process sh -k System $_" } @$_] }
                                [($few) x 4], [$many]);
    cmp_ok($one, '<=', 1.5 * $four, "eventcnv --process: four times as many, hardly more for each") or diag $four;
};

# A free of what nobody saw costs at most twice a matched one: n of them, of a log that all are read of, no more than n
# allocations and their frees do.  What else a tool does is the same for both, and no part of the difference.
subtest 'what frees of what nobody saw cost' => sub {
    my ($n, $rounds) = (700_000, 5);
    my @both = ('-E', 'PoolAlloc,PoolFree');
    for my $how ('free', 'beside') { # where the process has one thread, and where an event might wait for another's
        my $log = record("cost.$how", ['-k', 'Object'], "$B/prog/inherits", $n, $how);
        my $from = $how eq 'beside' ? when($log, 'PoolAlloc .*size=7777\b') : undef;
        my @unseen = (['-E', 'PoolFree'], defined $from ? ['--from', $from, '-E', 'PoolFree'] : ());
        for my $filter (@unseen) {
            my $sum = summary(@$filter, $log);
            cmp_ok($sum->{unmatched}, '>=', $n, "$how, @$filter: the free of each object is of one that nobody saw");
            is($sum->{repairs}, 0, 'and nothing is put right');
        }
        my $sum = summary(@both, $log);
        cmp_ok($sum->{frees}, '>=', $n * 0.9, "$how, @both: they are matched");
        for my $tool (["$B/bin/eventview"], ["$B/bin/eventview", 'live'], ["$B/bin/eventcnv", '-f', 'chrome']) {
            # What chrome draws from some time on begins with what lived then, so that nothing is unseen.
            my @filters = grep { $$tool[-1] ne 'chrome' || $$_[0] ne '--from' } @unseen;
            my ($matched, @cost) = cheapest($rounds, map { [@$tool, @$_, $log] } \@both, @filters);
            my $name = "$how: " . join ' ', map { s{.*/}{}r } @$tool;
            cmp_ok($cost[$_], '<=', $matched, "$name @{$filters[$_]}: no more than twice a matched free") for 0 .. $#filters;
        }
        my $i = 0;
        my @parts = map { "$Dir/part.$how.$_.paw" } 0 .. @unseen;
        run("$B/bin/eventcnv", '-f', 'paw', '--no-state', '-o', $parts[$i++], @$_, $log) for \@both, @unseen;
        my ($matched, @cost) = cheapest($rounds, map { ["$B/bin/replay", '-a', 'none', $_] } @parts);
        for my $part (@parts[1 .. $#parts]) {
            my ($missing) = (run("$B/bin/replay", '-a', 'none', $part))[2] =~ /^replay: not exact: (\d+) frees and resizes of objects/m;
            cmp_ok($missing // 0, '>=', $n, "$how: replay knows no object that is freed");
        }
        cmp_ok($cost[$_], '<=', $matched, "$how: replay of @{$unseen[$_]}: no more than twice a matched free") for 0 .. $#unseen;
    }
};

subtest 'frees of what nobody saw' => sub {
    my $log = record('unseen', [], "$B/prog/inherits", 100_000, 'free');
    my $sum = summary('-E', 'PoolFree', $log);
    is("$sum->{unmatched} $sum->{repairs} $sum->{allocations}", '100000 0 0', 'and are counted once');
    $sum = summary('-E', 'PoolResizeEnd', $log);
    is("$sum->{unmatched} $sum->{repairs} $sum->{allocations} $sum->{resizes}", '10000 0 0 10000',
       'ends of resizes are resizes');

    # Where there is another thread whose events they might wait for.
    $log = record('beside', [], "$B/prog/inherits", 10_000, 'beside');
    $sum = summary('--from', when($log, 'PoolAlloc .*size=7777\b'), $log);
    is("$sum->{threads} $sum->{unmatched} $sum->{repairs} $sum->{resizes}", '2 10000 0 1000',
       'a resize of what nobody saw, and the free of what it brought, are not put right');
};

done_testing();
