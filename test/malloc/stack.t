#!/usr/bin/perl
# stack.t -- the stack of each allocation is the one that backtrace() finds at the same place, whatever the program does
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
no warnings 'portable'; # addresses have more than 32 bits
use lib 'test/lib';
use EndToEnd qw($Dir slurp run);
use File::Copy qw(copy);
use JSON::PP qw(decode_json);
use Test::More;

my $B = $ENV{B} // 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};
plan skip_all => 'stacks are walked on x86-64 only' if `uname -m` !~ /x86_64/;

my $seed = $ENV{SEED} // time;
my $steps = $ENV{SOAK} ? 20000 : 2000;
diag "SEED=$seed" if $ENV{SOAK};
print "# SEED=$seed\n";

my @plugins = map { "$Dir/plugin$_.so" } 'A', 'B';
for (@plugins) { copy("$B/prog/plugin.so", $_) or die "$_: $!" }

# What a log has: events as [name, pid, {parameters}, place].
sub events {
    my @events;

    open my $in, '-|', "$B/bin/eventcnv", @_ or die;
    while (<$in>) {
        my ($pid, $name, $rest) = m{^\S+ (\d+)/\d+ (\w+) ?(.*)} or next;
        push @events, [$name, $pid, {$rest =~ /(\w+)=("[^"]*"|\S+)/g}, $.];
    }
    close $in;
    return \@events;
}

# The stacks of a log by process and number, and the allocations by size.
sub decode {
    my ($events) = @_;
    my (%frame, %by);

    for (@$events) {
        my ($name, $pid, $of, $place) = @$_;
        $frame{"$pid $of->{stack}"} = [$of->{parent}, hex $of->{address}, $place] if $name eq 'StackFrame';
        push @{$by{$of->{size}}}, $_ if $name =~ /Stack$/ && defined $of->{size};
    }
    return (\%frame, \%by);
}

sub frames {
    my ($frame, $pid, $stack) = @_;
    my @at;

    for (; $stack >= 4; $stack = $frame->{"$pid $stack"}[0]) {
        return (undef, @at) unless exists $frame->{"$pid $stack"};
        push @at, $frame->{"$pid $stack"}[1] + 1;
    }
    return ($stack, @at);
}

my %event = (byMalloc => 'PoolAllocStack', byCalloc => 'PoolAllocZeroStack', byResize => 'PoolResizeEndStack',
             byAligned => 'PoolAllocAlignedStack', byMap => 'MemoryMapStack');

for my $case ([16, 25, 'observe'], [64, 12, 'observe'], [3, 10, 'observe'], [32, 20, 'manage'], [64, 20, 'observe', '--stack-frees']) {
    my ($depth, $recursion, $mode, @more) = @$case;
    my $log = "$Dir/stacks.paw";
    my $lines = "$Dir/lines";
    unlink $lines;
    my $said = `$B/bin/eventrec -s $depth @more -m $mode --force -o $log $B/prog/stacks $seed $steps $recursion @plugins 2>&1 >>$lines`;
    is $?, 0, "depth $depth, $mode @more: recorded" or diag $said;
    my $events = events($log);
    my ($frame, $by) = decode($events);
    my ($compared, $whole, @wrong, %how) = (0, 0);
    my ($main) = slurp($lines) =~ /^(\d+)/;

    for (split /\n/, slurp($lines)) {
        my ($pid, $how, $size, @expected) = split;
        my @with = grep { $_->[1] == $pid && $_->[0] eq $event{$how} } @{$by->{$size} // []};
        my ($root, @at) = @with == 1 ? frames($frame, $pid, $with[0][2]{stack}) : (9);
        my @wanted = map { hex } @expected;
        shift @at;
        ++$compared;
        ++$how{$how};
        ++$whole if defined $root && $root == 0;
        # A thread's begins in a function of the recorder, which is one of the frames that are walked and has no part in it.
        my $same = @with == 1 && defined $root && $root <= 1 && ($root == 0 ? @at == @wanted : @at <= @wanted && @at + 2 >= $depth)
            && !grep { $at[$_] != $wanted[$_] && $at[$_] - 1 != $wanted[$_] } 0 .. $#at; # one less: a signal interrupted it
        push @wrong, "$pid $how $size: root " . ($root // 'unknown') . ' ' . @with . ": @{[map { sprintf '%x', $_ } @at]} and @expected" unless $same;
    }
    ok @wrong == 0, "all of $compared stacks are backtrace()'s ($whole whole)" or diag join "\n", @wrong[0 .. ($#wrong < 2 ? $#wrong : 2)];
    ok $compared > $steps && keys %how == 5, 'they are many, of all kinds' or diag "$compared: ", explain \%how;
    ok $whole > $compared / 2, 'most are whole' if $depth == 64;
    ok $whole < $compared, 'not all are' if $depth < 32;
    is scalar(grep { $_->[0] =~ /^PoolFree(Stack)?$/ && !defined $1 == !!@more } @$events), 0,
        @more ? 'each free has a stack' : 'no free has one';

    # Modules: each plugin is told with its build id when code of it is met, and is gone before the next one.
    my @told = map { $_->[0] =~ /^Module/ ? [$_->[0], @{$_->[2]}{qw(base path id)}, $_->[3]] : () } grep { $_->[1] == $main } @$events;
    for my $path ($depth >= 16 ? @plugins : ()) {
        my ($load) = grep { $_->[0] eq 'ModuleLoad' && $_->[2] eq "\"$path\"" } @told;
        ok $load, "$path is told" or next;
        my ($build) = grep { $_->[0] eq 'ModuleBuild' && $_->[1] eq $load->[1] && $_->[4] > $load->[4] } @told;
        my ($gone) = grep { $_->[0] eq 'ModuleUnload' && $_->[1] eq $load->[1] && $_->[4] > $load->[4] } @told;
        my ($id) = (`readelf -n $path 2>&1` =~ /Build ID: (\w+)/);
        ok $build && (!defined $id || $build->[3] eq "\"$id\""), 'with its build id';
        ok $gone, 'and that it was unloaded';
        my @inside = grep { $_->[1] >= hex $load->[1] && $_->[1] < 0x1000 * 16 + hex $load->[1] && $_->[2] > $load->[4] && $_->[2] < $gone->[4] }
            values %$frame;
        ok @inside > 0, 'between the two it has frames';
    }
    # Both plugins were unloaded before the program ended, mostly from the same place: callers are of the one that was there.
    if ($depth == 64) {
        my %modules;
        my @nodes = @{decode_json((run("$B/bin/eventview", qw(sites --json --tree down), $log))[1])->{tree}};
        while (my $node = shift @nodes) {
            push @nodes, @{$node->{children}};
            ++$modules{$node->{module} =~ s{.*/}{}r} if ($node->{function} // '') eq 'pluginCall';
        }
        is_deeply [sort keys %modules], ['pluginA.so', 'pluginB.so'], 'readers find callers in each plugin';
    }
    my ($status, $out, $err) = run("$B/bin/eventcnv", '--check', $log);
    is $status, 0, 'the log lacks nothing' or diag $err;
}

# Folded stacks: they add up to what was allocated, and have the functions of the program, the outermost first.
{
    my $log = "$Dir/folded.paw";
    my $said = `$B/bin/eventrec -s 64 -o $log $B/prog/stacks $seed 500 12 2>&1 >/dev/null`;
    is $?, 0, 'recorded' or diag $said;
    my ($status, $out) = run("$B/bin/eventcnv", '-f', 'folded', '--symbols', $log);
    is $status, 0, 'folded';
    my ($total) = `$B/bin/eventview --json $log` =~ /"total_bytes": (\d+)/;
    my ($sum, $main, $thread) = (0, 0, 0);
    for (split /\n/, $out) {
        $sum += $1 if / (\d+)$/;
        ++$main if /^stacks[^;]*;_start;.*;main;program;act;(?:\w+;)*allocate;by(?:Malloc|Calloc|Resize|Aligned) \d+$/;
        ++$thread if /;(?:__)?clone3?;start_thread;.*thread;program;act;.*allocate;by\w+ \d+$/;
    }
    is $sum, $total, 'the stacks add up to all bytes allocated';
    cmp_ok $main, '>', 100, 'those of the main program go from its beginning to the call';
    cmp_ok $thread, '>', 100, 'those of threads, too' or diag join "\n", (split /\n/, $out)[0 .. 5];
}

# A log that begins in the middle has all frames of the stacks in it, also those that were met before.
{
    my $log = "$Dir/late.paw";
    my $busy = 'my @kept; for (1 .. 60) { push @kept, [map { {$_ => "x$_"} } 1 .. 200]; shift @kept if @kept > 3; select undef, undef, undef, 0.02 }';
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) { open STDERR, '>', '/dev/null'; exec "$B/bin/eventrec", '-s', 16, '--paused', '-o', $log, 'perl', '-e', $busy or exit 127 }
    select undef, undef, undef, 0.4;
    my ($child) = map { chomp; $_ } `ps -o pid= --ppid $pid`;
    my ($status, undef, $err) = run("$B/bin/eventctl", $child =~ s/\s//gr, 'start');
    waitpid $pid, 0;
    is $status, 0, 'a recording begins in the middle' or diag $err;
    my ($frame, $by) = decode(my $events = events($log));
    my %used = map { $_->[0] =~ /^Pool\w+Stack$/ ? ("$_->[1] $_->[2]{stack}" => 1) : () } @$events;
    cmp_ok scalar(keys %used), '>', 3, 'it has stacks';
    is scalar(grep { !defined((frames($frame, split))[0]) } keys %used), 0, 'and all their frames';
}

# What lives belongs to callers, whatever their stacks.
{
    my $log = "$Dir/live.paw";
    my %at;
    system("$B/bin/eventrec -s 16 -o $log perl -e 'my \@a = map {[\$_]} 1 .. 1000; kill 9, \$\$' 2>/dev/null");
    my ($live) = `$B/bin/eventview live --json --top 1000 $log` =~ /"sites": (\[.*?\])/s;
    my ($frame) = decode(my $events = events($log));
    ++$at{$frame->{"$_->[1] $_->[2]{stack}"}[1] + 1} for grep { $_->[0] =~ /^Pool\w+Stack$/ } @$events;
    my @sites = map { hex } $live =~ /"site": "(0x\w+)"/g;
    cmp_ok scalar(@sites), '>', 5, 'live objects have callers';
    is scalar(grep { !$at{$_} } @sites), 0, 'all of which allocate';
    my %seen;
    is scalar(grep { $seen{$_}++ } $live =~ /\{("function": .*?"offset": [^,]*)/g), 0, 'and each caller is named once';
    cmp_ok scalar(keys %seen), '>', 5, 'by function or place';
}

# Each way to change what is mapped has the stack of its caller.
{
    my $log = "$Dir/mapped.paw";
    my (%name, %calls);
    `$B/bin/eventrec -s 16 --sample 0 -o $log $B/prog/mapped 2>&1`;
    my ($frame) = decode(my $events = events($log));
    for (split /\n/, `$B/bin/eventcnv --symbols -E StackFrame $log`) {
        $name{"$1 $2"} = $3 if m{^\S+ (\d+)/\d+ StackFrame stack=(\d+) .*\["(\w+)};
    }
    for (grep { $_->[0] =~ /^Memory/ } @$events) {
        my ($event, $pid, $of) = @$_;
        my ($root, @at) = frames($frame, $pid, $of->{stack} // 0);
        my $who = $name{"$pid $of->{stack}"} // '';
        my $main = $name{"$pid " . ($who eq 'main' ? $of->{stack} : $frame->{"$pid $of->{stack}"}[0])} // '';
        ++$calls{"$event by $who, in $main, " . ($root == 0 ? 'whole' : 'not whole')};
    }
    # What the dynamic linker and libc map themselves is not called by the program.
    delete @calls{grep { !/in main,/ } keys %calls};
    is_deeply(\%calls, {'MemoryMapStack by map, in main, whole' => 3, 'MemoryUnmapStack by main, in main, whole' => 2,
        'MemoryRemapStack by main, in main, whole' => 1, 'MemoryBreakStack by main, in main, whole' => 4},
        'mmap, munmap, mremap, brk and sbrk have the stacks of those who call them') or diag explain \%calls;
}

# Only the first caller in a module, or in a range of addresses, is recorded: the first of backtrace()'s that lies there.
sub ranged {
    my ($range, $in) = @_;
    my ($log, $lines) = ("$Dir/range.paw", "$Dir/lines");
    unlink $lines;
    my $said = `setarch -R $B/bin/eventrec -r $range --force -o $log $B/prog/stacks $seed 500 12 2>&1 >>$lines`;
    is $?, 0, "range $range: recorded" or diag $said;
    my $events = events($log);
    my %site = map { $_->[0] =~ /Site$/ && defined $_->[2]{size} ? ("$_->[1] $_->[2]{size}" => hex $_->[2]{site}) : () } @$events;
    my ($load) = grep { $_->[0] eq 'ModuleLoad' && $_->[2]{path} =~ /libc\.so/ } @$events;
    my ($low, $limit) = $in ? @$in : $load ? (hex $load->[2]{base}, $load->[2]{size} + hex $load->[2]{base}) : (0, 0);
    my ($compared, @wrong) = 0;

    for (split /\n/, slurp($lines)) {
        my ($pid, $how, $size, @expected) = split;
        next if $how eq 'byMap';
        my ($first) = ((grep { $_ > $low && $_ <= $limit } map { hex } @expected), 0);
        my $site = $site{"$pid $size"} // -1;
        ++$compared;
        push @wrong, sprintf '%s %x %x', $_, $site, $first if $site != $first && $site - 1 != $first;
    }
    ok $compared > 100 && @wrong == 0, "the sites of $compared allocations are the first callers there" or diag join "\n", @wrong[0 .. 3];
    return ($low, $limit);
}

my ($low, $limit) = ranged('libc.so');
ranged(sprintf('%#x-%x', $low, $limit), [$low, $limit]);

# Where no caller lies there that is said, with the reason.
{
    my $log = "$Dir/nowhere.paw";
    my $said = (run("$B/bin/eventrec", '-r', 'stack', '--force', '-o', $log, "$B/prog/stacks", 1, 20, 3))[2];
    like $said, qr/^eventrec: --range stack: no caller was recorded, because none .* of this name; the log has stacks, .*libc/m,
        'eventrec says that the log has no module of that name, and which it has, the nearest first';
    my $callers = qr/^callers +none lay in the module or the addresses of eventrec -r; eventrec -s 16 /m;
    like((run("$B/bin/eventview", 'sites', $log))[1], $callers, 'and eventview, why it knows no callers');
    ($said) = (run("$B/bin/eventrec", '-r', '1000-1fff', '--force', '-o', $log, "$B/prog/stacks", 1, 20, 3))[2];
    unlike $said, qr/range/, 'of addresses that cannot be said';
    like((run("$B/bin/eventview", 'sites', $log))[1], $callers, 'but eventview knows of no callers there, either');
}

# What cannot be had is refused.
for (['-r', 'libc.so', '-s', 1], ['-r', ''], ['-r', '5-3'], ['-r', '0x10-0x10'], ['-s', 'deep'], ['--stack-frees'], ['-s', 1, '--stack-frees']) {
    my ($status, $out, $err) = run("$B/bin/eventrec", @$_, '-o', "$Dir/no.paw", 'true');
    is $status, 125, "@$_ is a usage error";
    like $err, qr/--(?:stack|range)/, 'which names the option';
}
for ('65', 'x', '1,frees', '16,trees', '1,range=', '0,usable', '16,usable,frees', '16,usable,range=x') {
    like `PAWPRINT_STACK=$_ LD_PRELOAD=$B/lib/libpawprint.so /bin/true 2>&1`, qr/^pawprint: PAWPRINT_STACK: \Q$_\E: .*2 to 64/,
        "PAWPRINT_STACK=$_ is told";
}

done_testing;
