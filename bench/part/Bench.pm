# Bench.pm -- what the parts of the benchmark share: running programs, the least of several times, lines of the table
#
# SPDX-License-Identifier: BSD-2-Clause
package Bench;
use strict;
use warnings;
use Cwd qw(abs_path);
use Exporter qw(import);
use File::Temp qw(tempdir);
use POSIX ();
use Time::HiRes qw(time);

our @EXPORT = qw($B $rounds $library $folder line heading which python spew run compare programs quietly record counted resident residentBytes);

our $B = abs_path($ENV{B} // 'build/cool');
our $rounds = $ENV{ROUNDS} // 5;
our $library = "$B/lib/libpawprint.so";
our $folder = tempdir('pawprint-bench-XXXXXX', DIR => -w '/dev/shm' ? '/dev/shm' : '/tmp', CLEANUP => 1);

# line($name, $value, $target) -- a row of the table: what was measured, and what is to be reached
sub line {
    my ($name, $value, $target) = @_;
    printf "%-62s %16s   %s\n", $name, $value, $target // '';
    return;
}

# heading($text) -- of the rows that follow
sub heading { printf "\n%s\n", $_[0]; return }

# which($name) -- the path of a program, or undef
sub which {
    my ($name) = @_;
    return (grep { -x } map { "$_/$name" } split /:/, $ENV{PATH})[0];
}

# python() -- the path of Python's interpreter itself, or undef
sub python {
    my $python = which('python3') // return;
    chomp($python = `$python -c 'import sys; print(sys.executable)'`);
    return $python eq '' ? undef : $python;
}

# spew($path, $text) -- make a file
sub spew {
    my ($path, $text) = @_;
    open my $out, '>', $path or die "$path: $!\n";
    print {$out} $text;
    close $out or die "$path: $!\n";
    return;
}

# start($env, @command) -- run a command, its output thrown away; a reference in the last place: its input.  Its number
sub start {
    my ($env, @command) = @_;
    my $input = ref $command[-1] ? ${pop @command} : '/dev/null';
    my $pid = fork // die "fork: $!\n";

    return $pid if $pid != 0;
    $ENV{$_} = $env->{$_} for keys %$env;
    open STDIN, '<', $input or die "$input: $!\n";
    open STDOUT, '>', '/dev/null' or die;
    exec { $command[0] } @command or die "$command[0]: $!\n";
}

# run($env, @command) -- CPU seconds, seconds, and peak resident KiB of one run, output thrown away
sub run {
    my ($env, @command) = @_;
    my $begin = time;
    my @before = POSIX::times();
    my $pid = start($env, @command);

    waitpid $pid, 0;
    my @after = POSIX::times();
    my $ticks = POSIX::sysconf(POSIX::_SC_CLK_TCK());
    return {cpu => ($after[3] + $after[4] - $before[3] - $before[4]) / $ticks, wall => time - $begin, status => $?};
}

# quietly($code) -- its result, standard error thrown away
sub quietly {
    my ($code) = @_;
    open my $saved, '>&', \*STDERR or die;
    open STDERR, '>', '/dev/null' or die;
    my $result = eval { $code->() };
    my $error = $@;
    open STDERR, '>&', $saved or die;
    die $error if $error;
    return $result;
}

# compare($variants, @command) -- the least times of each variant (name => environment; -under: a command in front), run in turn
sub compare {
    my ($variants, @command) = @_;
    my %best;

    for my $round (1 .. $rounds) {
        for my $name (sort keys %$variants) {
            unlink glob "$folder/*.paw";
            my %env = %{$variants->{$name}};
            my @prefix = @{delete $env{-under} // []};
            my $time = quietly(sub { run(\%env, @prefix, @command) });
            die "$command[0] ($name): status $time->{status}\n" if $time->{status};
            for my $clock (qw(wall cpu)) {
                $best{$name}{$clock} = $time->{$clock}
                    if !defined $best{$name}{$clock} || $time->{$clock} < $best{$name}{$clock};
            }
        }
    }
    return \%best;
}

# prepare() -- build the benchmark's programs; those that are there: name, command, environment, ratios to reach
sub prepare {
    my $sqlite = which('sqlite3');
    my $python = python();
    my $cc1 = `gcc -print-prog-name=cc1 2>/dev/null`;
    my @programs;

    chomp $cc1;
    for my $name (qw(mallocloop churn)) {
        system('gcc', '-O2', '-pthread', '-o', "$folder/$name", "bench/prog/$name.c") == 0 or die;
    }
    system('gcc', '-O2', '-shared', '-fPIC', '-o', "$folder/ring.so", 'bench/prog/ring.c', '-ldl') == 0
        or warn "ring.c does not build here\n";
    push @programs, {name => 'malloc loop', command => ["$folder/mallocloop"], target => 3};
    if (defined $sqlite) {
        push @programs, {name => 'sqlite3', command => [$sqlite, ':memory:', \'bench/prog/table.sql'], target => 1.04};
    } else {
        line('sqlite3', 'not installed');
    }
    push @programs, {name => 'perl', command => ['/usr/bin/perl', 'bench/prog/words.pl'], target => 1.07};
    if (defined $python) {
        push @programs, {name => 'python3', command => [$python, 'bench/prog/trees.py'], target => 1.12,
                         env => {PYTHONMALLOC => 'malloc'}};
    } else {
        line('python3', 'not installed');
    }
    if (-x $cc1) {
        system("perl bench/prog/source.pl > $folder/source.c && gcc -E $folder/source.c -o $folder/source.i") == 0 or die;
        push @programs, {name => 'cc1', command => [$cc1, '-quiet', '-O2', "$folder/source.i", '-o', '/dev/null'],
                         target => 1.03};
    }
    push @programs, {name => 'threads', command => ["$folder/churn"]};
    return @programs;
}

# programs() -- the same, prepared by whoever asks first
my @prepared;
sub programs {
    @prepared = prepare() if !@prepared;
    return @prepared;
}

# record($program, @options) -- a log of it, recorded with these options of eventrec; its path
sub record {
    my ($program, @options) = @_;
    (my $name = $program->{name}) =~ tr/ //d;
    my $log = "$folder/$name.paw";
    my @command = @{$program->{command}};
    my $input = ref $command[-1] ? pop @command : undef;

    unlink $log;
    run({%{$program->{env} // {}}}, "$B/bin/eventrec", '-o', $log, @options, '--', @command, $input // ());
    return $log;
}

# counted($log) -- events in it
sub counted {
    my ($log) = @_;
    my $text = `$B/bin/eventview --json $log`;
    return $text =~ /"events"\s*:\s*(\d+)/ ? $1 : die "bench/run: no count of events in $log\n";
}

# residentBytes($env, @command) -- bytes at the peak, of which the last milliseconds are not seen; output thrown away
sub residentBytes {
    my ($env, @command) = @_;
    my $most = 0;
    pipe my $executed, my $open or die "pipe: $!\n"; # closed by exec: what this process itself has does not count
    my $pid = start($env, @command);

    close $open;
    readline $executed;
    while (waitpid($pid, POSIX::WNOHANG()) == 0) {
        if (open my $in, '<', "/proc/$pid/status") {
            my ($peak) = do { local $/; <$in> // '' } =~ /VmHWM:\s+(\d+)/;
            $most = $peak if defined $peak && $peak > $most;
        }
        select undef, undef, undef, 0.002;
    }
    return $most * 1024;
}

# resident(@command) -- peak resident MiB
sub resident { return sprintf '%.1f MiB', residentBytes({}, @_) / 2 ** 20 }

1;
