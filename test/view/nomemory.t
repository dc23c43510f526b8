#!/usr/bin/perl
# nomemory.t -- a reader that gets no memory says so, or has the right answer all the same: whichever allocation of its
# run fails, alone or with all that follow
#
# Of each run's allocations TRIES are tried in each way, from a place that the seed gives, at equal distances; SOAK: all.
# Without memory for names of callers these are missing, which is no failure: where they are in the answer it is not
# looked at; nor is a log that is written, which has a random number.
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir run slurp);
use File::Copy qw(copy);
use Test::More;

my $B = $ENV{B} || 'build/cool';
plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'a sanitizer has a malloc of its own' if $ENV{SAN};
my $seed = $ENV{SEED} || time;
srand $seed;
note "SEED=$seed";
my $tries = $ENV{SOAK} ? 1 << 20 : $ENV{TRIES} || 10;
my $all = 0;

# record($name, $stay, $depth, $program, @arguments) -- a log of a program, which stays where it is or is gone
sub record {
    my ($name, $stay, $depth, $program, @arguments) = @_;
    my $path = "$Dir/$name";

    copy("$B/prog/$program", $path) && chmod 0700, $path or die "$path: $!";
    my ($status, undef, $err) = run("$B/bin/eventrec", '-s', $depth, '-o', "$path.paw", '--', $path, @arguments);
    is $status, 0, "recorded: $name" or diag $err;
    unlink $path if !$stay;
    return "$path.paw";
}

# failing($number, $alone, @command) -- what `run` returns of a command whose allocation of this number fails; 0: none
sub failing {
    my ($number, $alone, @command) = @_;
    local $ENV{LD_PRELOAD} = "$B/prog/nomemory.so";
    local $ENV{NOMEMORY_AT} = $number;
    local $ENV{NOMEMORY_ONCE} = 1;

    delete $ENV{NOMEMORY_ONCE} if !$alone;
    return run(@command);
}

# wrong($right, $status, $out, $err) -- what is wrong with the end of a run; '' if nothing is
sub wrong {
    my ($right, $status, $out, $err) = @_;

    return "signal @{[$status - 128]}: $err" if $status >= 128;
    return "a check failed: $err" if $err =~ /assertion failed|killed by signal/;
    return $status == 1 && $err =~ /memory/ ? '' : "status $status: $err" if $status != 0;
    return !defined $right || $out eq $right ? '' : "another answer: $err";
}

# answer($file, $out) -- what a command had to say: what it has printed, or what it has written to the file; undef where
# it does not count
sub answer {
    my ($file, $out) = @_;

    return !defined $file ? undef : $file eq '' ? $out : slurp($file);
}

# sweep($what, $file, @command) -- run a command in which allocations fail; what its answer is, `answer` says
sub sweep {
    my ($what, $file, @command) = @_;
    my ($tried, @faults) = 0;

    unlink "$Dir/count", "$Dir/out";
    local $ENV{NOMEMORY_COUNT} = "$Dir/count";
    my ($status, $out, $err) = failing(0, 1, @command);
    is $status, 0, "$what: with memory" or diag $err;
    my $right = answer($file, $out);
    my ($count) = sort { $b <=> $a } split ' ', -e "$Dir/count" ? slurp("$Dir/count") : 0;
    cmp_ok $count, '>', 20, "$what: its allocations are counted" or return;
    delete $ENV{NOMEMORY_COUNT};
    my $stride = $count > $tries ? int($count / $tries) : 1;
    for my $alone (0, 1) {
        for (my $n = 1 + int rand $stride; $n <= $count; $n += $stride) {
            ++$tried;
            unlink "$Dir/out";
            my ($ended, $printed, $said) = failing($n, $alone, @command);
            my $wrong = wrong($right, $ended, answer($file, $printed), $said);
            push @faults, ($alone ? "$n alone: " : "from $n on: ") . $wrong if $wrong ne '';
        }
    }
    ok !@faults, "$what: $tried times one of $count allocations fails, or all from there on";
    diag scalar(@faults), ' of them: ', map { "\n$_" } grep { defined } @faults[0 .. 4] if @faults;
    $all += $tried;
}

my $sites = record('sites', 0, 1, 'sites');
my $stacks = record('stacks', 1, 4, 'sites');
my $inherits = record('inherits', 0, 1, 'inherits', 20, 'free');
my $collects = record('collects', 0, 0, 'drawn');
# More sizes than a book has rows at first, and a child.
my $many = "$Dir/many.paw";
my ($recorded) = run("$B/bin/eventrec", '-o', $many, '--', $^X, '-e',
    'my @kept = map { "x" x (10 + 20 * $_) } 1 .. 400; my $child = fork // die; exit if !$child; waitpid $child, 0');
is $recorded, 0, 'recorded: many sizes';
my ($view, $cnv, $file) = ("$B/bin/eventview", "$B/bin/eventcnv", "$Dir/out");
my @runs = (
    ['summary', undef, $view, 'summary', $sites],
    ['views', undef, $view, 'live,sites,leaks,growth,lifetimes', $sites],
    ['sizes', '', $view, 'sizes', $sites],
    ['many sizes', '', $view, 'sizes', $many],
    ['pools', '', $view, 'pools,timeline,events', $collects],
    ['threads', '', $view, '--json', 'threads,collections', $collects],
    ['diff', undef, $view, 'diff', $inherits, $sites],
    ['live --at', undef, $view, 'live', '--at=peak', $inherits],
    ['symbols', undef, $view, 'sites', '--lines', $stacks],
    ['report', undef, $view, 'report', '-o', $file, $sites],
    ['report of stacks', undef, $view, 'report', '-o', $file, $stacks],
    (map { ["-f $_", '', $cnv, '-f', $_, $inherits] } qw(text csv chrome paje sql)),
    (map { ["-f $_", undef, $cnv, '-f', $_, $stacks] } qw(folded pprof)),
    ['-e', '', $cnv, '-e', 'size >= 30 && name =~ "Alloc"', $sites],
    ['-f paw', undef, $cnv, '-f', 'paw', '--from=0.001', '-o', $file, $sites],
    ['--check', '', $cnv, '--check', $sites],
    ['libpawlog', '', "$B/prog/reads", $inherits],
    ['replay', undef, "$B/bin/replay", '-n', 1, $sites],
    ['--index', undef, $cnv, '--force', '--index', $inherits],
    ['with an index', undef, $view, 'live', '--at=0.001', $inherits]);
for my $run (@runs) {
    sweep(@$run) if !@ARGV || grep { $_ eq $run->[0] } @ARGV;
}
cmp_ok $all, '>=', 20 * @runs / 2, "$all runs" if !@ARGV;
done_testing;
