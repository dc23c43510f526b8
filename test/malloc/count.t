#!/usr/bin/env perl
# count.t -- make -j2 under eventrec: what the log says of each process agrees with a count that knows nothing of it
#
# The count is that of prog/counter.so, a malloc that is preloaded behind ours.
#
# SPDX-License-Identifier: BSD-2-Clause
#
# SOAK=1 builds this whole project, instead of six small files.
use strict;
use warnings;
use Cwd qw(abs_path);
use FindBin;
use File::Temp qw(tempdir);
use Test::More;
use lib "$FindBin::Bin/../lib";
use Counted;

my $B = abs_path($ENV{B} // 'build/cool');
my $CC = $ENV{CC} // 'gcc';
my ($rec, $cnv, $view) = map { "$B/bin/$_" } qw(eventrec eventcnv eventview);
my $counter = "$B/prog/counter.so";
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'a sanitized eventrec cannot be counted' if $ENV{SAN};
plan skip_all => 'no make' if system('command -v make >/dev/null 2>&1') != 0;
-x $_ or BAIL_OUT("$_ is not there") for $rec, $cnv, $view, $counter;
delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS)};
$ENV{CCACHE_DISABLE} = 1; # where gcc is a cache of compilations, it is to compile each file once

# summary() -- how many there are in all, as eventview says
sub summary {
    my ($text, %sum) = (scalar `$view summary $dir/make.paw`);

    $text =~ /^    \Q$_\E +(\d+)$/m and $sum{$_} = $1 for @CountedNames;
    return \%sum;
}

# sorted($calls) -- the counts of each process, in words, without its number
sub sorted {
    my ($calls) = @_;

    return [sort map { my $of = $_; join ', ', map { "$_ $of->{$_}" } sort keys %$of } values %$calls];
}

# record($folder) -- the log of make -j2 there; what eventrec said
sub record {
    my ($folder) = @_;

    is countedRecord($B, "$dir/make.paw", "$dir/counts", "$dir/make", 'make', '-s', '-j2', '-C', $folder, "CC=$CC"), 0,
        'make -j2 runs' or diag countedSlurp("$dir/make.err");
    return countedSlurp("$dir/make.err");
}

my $folder = "$dir/project";
mkdir $folder;
if ($ENV{SOAK}) {
    system("cp -R Makefile code tool '$folder'") == 0 or BAIL_OUT('the project cannot be copied');
} else {
    for my $n (1 .. 6) {
        open my $c, '>', "$folder/f$n.c" or die;
        print $c "#include <stdio.h>\nint f$n(int x) { printf(\"%d\\n\", x); return x + $n; }\n";
    }
    open my $make, '>', "$folder/Makefile" or die;
    print $make 'all: ' . join(' ', map { "f$_.o" } 1 .. 6) . "\n%.o: %.c\n\t\@\$(CC) -c -o \$\@ \$<\n";
}
like record($folder), qr/\Aeventrec: \d+ events \(0 discarded\)[^\n]*\n\z/, 'and all of it is seen';
my $headers = `$cnv --header $dir/make.paw`;
my %compilers = map { $_ => 1 } $headers =~ m{^pid: (\d+)\n(?:.*\n)??program: "[^"\n]*/cc1"$}mg;
is scalar(keys %compilers), 6, 'six compilations are six processes'
    if !$ENV{SOAK} && `$CC -print-prog-name=cc1 2>/dev/null` =~ m{^/}; # a compiler that is a program of its own
is `$cnv --check $dir/make.paw 2>&1`, '', 'the log is whole';
is scalar(grep { countedSlurp($_, 4096) =~ /\Q$dir\E/ } glob('/dev/shm/pawprint-[0-9a-f]*[0-9]')), 0, 'nothing is left in memory';

# lookups($counted, $seen) -- take from the count what the library looked up in vain: the loader's text of that goes to memory of the
# library's own, and what the malloc behind it had given is freed at once.  Linkers with plugins do that, a few times each.
sub lookups {
    my ($counted, $seen) = @_;

    for my $pid (keys %$counted) {
        my ($of, $its) = ($counted->{$pid}, $seen->{$pid} // next);
        my ($more, $freed) = map { ($of->{$_} // 0) - ($its->{$_} // 0) } 'PoolAlloc', 'PoolFree';
        next if $more != $freed || $more < 1 || $more > 16;
        $of->{$_} -= $more for 'PoolAlloc', 'PoolFree';
    }
    return;
}

my ($counted, $seen) = (countedCalls($B, "$dir/counts"), countedEvents($B, "$dir/make.paw"));
lookups($counted, $seen);
cmp_ok scalar(keys %$seen), '>', 4, 'there are several processes';
is_deeply $seen, $counted, 'and of each the log has what was counted';
my %sum;
for my $of (values %$counted) {
    $sum{$_} += $of->{$_} for keys %$of;
}
is_deeply summary(), \%sum, 'eventview says the same of all of them';
# What the library does for itself is not the program's: the other count is of a run without us.
for my $threads (1, 20) {
    my $alone = "$dir/alone.$threads";
    is system("LD_PRELOAD='$counter' COUNTER='$alone' '$B/prog/tail' $threads"), 0, "$threads: a program with threads";
    is system("'$rec' -o '$dir/tail.$threads.paw' -- '$B/prog/tail' $threads 2>'$dir/tail.err'"), 0, 'is recorded' or diag countedSlurp("$dir/tail.err");
    my @both = (countedEvents($B, "$dir/tail.$threads.paw"), countedCalls($B, $alone));
    is_deeply sorted($both[0]), sorted($both[1]), 'and has the calls that it has alone';
}
note join ', ', map { "$_ " . ($sum{$_} // 0) } @CountedNames;
done_testing;
