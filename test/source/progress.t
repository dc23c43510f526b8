#!/usr/bin/perl
# progress.t -- how far long work has come is shown on a terminal, and leaves nothing behind
#
# SPDX-License-Identifier: BSD-2-Clause
#
# What takes long here is standard input, which comes when it comes: the line is due when the log is there.

use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use Time::HiRes qw(time);

my $B = $ENV{B} // 'build/cool';
my $dir = tempdir(CLEANUP => 1);
my $log = 'test/good/threads.paw';
my $terminal = "$B/prog/terminal";
$ENV{TERM} = 'xterm';
$ENV{PATH} = "$B/bin:$ENV{PATH}";

my $probe = `$terminal 100 echo x`;
plan skip_all => 'no terminal to be had' if $? >> 8 == 125;

# The log comes at once, its end later: so opening and reading find the line due.  Or the other way round.  Who needs long
# to start needs longer for all.
my $begun = time;
system('eventcnv --version > /dev/null') == 0 or die;
my $late = 0.6 + 5 * (time - $begun);
sub endsLate { "(cat $_[0]; sleep $late) |" }
sub comesLate { "(sleep $late; cat $_[0]) |" }

# screen(bytes) -- what stands on the terminal in the end
sub screen {
    my @line = ('');
    my $column = 0;
    for my $piece (grep { length } split /(\r|\n|\e\[K)/, $_[0]) {
        if ($piece eq "\r") { $column = 0 }
        elsif ($piece eq "\n") { push @line, ''; $column = 0 }
        elsif ($piece eq "\e[K") { $line[-1] = substr $line[-1], 0, $column }
        else {
            substr($line[-1], $column, length $piece) = $piece;
            $column += length $piece;
        }
    }
    return join "\n", @line;
}

is screen("a\r\nlong one\rnew\e[K\r\n"), "a\nnew\n", 'the screen of this test is one';
is screen("a: 1%\r12"), '12 1%', 'which is written over';

# on(columns, command) -- what the terminal got from a shell's command
sub on {
    my ($columns, $command) = @_;
    open my $pipe, '-|', $terminal, $columns, 'sh', '-c', $command or die;
    local $/;
    my $got = <$pipe>;
    close $pipe;
    return $got;
}

# shown(what, name, command) -- it is shown, and gone in the end; returns all that came
sub shown {
    my ($what, $name, $command) = @_;
    my $got = on(100, $command);
    like $got, qr/\r$what\e\[K/, $name;
    (my $plain = $command) =~ s/sleep [\d.]+/:/g;
    my $without = do { local $ENV{TERM} = 'dumb'; on(100, $plain) };
    unlike $without, qr/\e/, 'and not where the cursor cannot be moved' if $command eq $plain;
    is normal(screen($got)), normal(screen($without)), 'and leaves nothing behind';
    return $got;
}

# What two runs never have in common: times and memory of a replay.
sub normal {
    my ($text) = @_;
    $text =~ s/^((?:pawprint|libc|none) .*?\d+ ).*$/$1/mg;
    return $text;
}

my $percent = '\d+%';
shown("eventview: reading: $percent", 'eventview', endsLate($log) . ' eventview -');
shown("eventcnv: reading: $percent", 'eventcnv to a file', endsLate($log) . " eventcnv -f sql - > $dir/sql");
shown("eventcnv: reading: $percent", 'eventcnv to the terminal, before the first line', endsLate($log) . ' eventcnv -');
shown("eventcnv: reading: $percent", 'eventcnv --check', endsLate($log) . ' eventcnv --check -');
my $got = shown("replay: reading: $percent", 'replay', endsLate($log) . ' replay -a libc -');
like $got, qr/\rreplay: replaying on libc \.\.\.\e/, 'and what it replays on';
shown('eventcnv: copying standard input: 0\.\d MiB', 'standard input, whose length nobody knows',
      comesLate($log) . ' eventcnv -f csv -');

# Damage is told in lines of their own.
$got = shown("eventcnv: reading: $percent", 'a damaged log', endsLate('test/bad/payload.paw') . " eventcnv --check -");
like screen($got), qr/^eventcnv: standard input: offset \d+: .*? lost$/m, 'whose damage is told in a line';

# Many blocks, to look for.
system("for i in \$(seq 400); do cat $log; done > $dir/many.paw") == 0 or die;
shown("eventcnv: looking for blocks: $percent", 'opening', endsLate("$dir/many.paw") . ' eventcnv --header -');

# What would not fit into a row could not be taken away.
my ($line) = on(20, endsLate($log) . ' eventview -') =~ /\r(eventview: [^\r]*?)\e\[K/;
is length $line, 19, 'a narrow terminal has as much of it as fits';

# Output that has begun is left in peace, also in a pipe that may end on the terminal.  Whoever reads there is slow.
SKIP: {
    skip 'no events of objects in this variety', 1 if ($ENV{VARIETY} // 'cool') ne 'cool';
    skip 'the library is not sanitized, and must not be loaded into programs that are', 1 if ($ENV{SAN} // '') =~ /thread/;
    system("eventrec -o $dir/long.paw perl -e 'push \@a, \$_ x 9 for 1 .. 20000' 2> /dev/null") == 0 or die;
    is on(100, "eventcnv $dir/long.paw | (sleep 0.7; wc -l)") =~ /\e/, '', 'there is none once output has begun';
}

# Nobody looks.
for my $tool ("eventview - > $dir/out", "eventcnv - > $dir/out", "eventcnv --check -", "replay -a libc - > $dir/out") {
    unlike on(100, endsLate($log) . " $tool 2> $dir/err"), qr/\e/, "$tool: nothing on the terminal";
    open my $in, '<', "$dir/err" or die;
    unlike join('', <$in>), qr/\e|reading:/, 'and nothing where standard error goes';
}
unlike on(100, "set -m; { " . endsLate($log) . " eventview -; } & wait"), qr/\e/, 'nor in the background';
done_testing;
