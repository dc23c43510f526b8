#!/usr/bin/perl
# process.t -- processes by the names that people know them by
#
# SPDX-License-Identifier: BSD-2-Clause
#
# A program that is started by a link has the link's name, and answers to its file's, too.  --process chooses by name
# and by number, and leaves what the collector tells of that process.

use strict;
use warnings;
use Cwd qw(realpath);
use File::Basename qw(basename);
use File::Temp qw(tempdir);
use JSON::PP;
use Test::More;

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';

my $bin = ($ENV{B} // 'build/cool') . '/bin';
my $folder = tempdir(CLEANUP => 1);
my $perl = realpath($^X);
my $log = "$folder/family.paw";

# lines(command...) -- what it prints on standard output; the status and standard error in $status and $err
our ($status, $err);
sub lines {
    my (@command) = @_;
    $command[0] = "$bin/$command[0]";
    open my $old, '>&', \*STDERR or die;
    open STDERR, '>', "$folder/err" or die;
    open my $in, '-|', @command or die;
    my @lines = <$in>;
    close $in;
    $status = $? >> 8;
    open STDERR, '>&', $old or die;
    $err = do { local (@ARGV, $/) = "$folder/err"; <> // '' };
    return @lines;
}

symlink $perl, "$folder/worker" or die;
system "$bin/eventrec", '-o', $log, '--', $perl, '-e',
    "for (1, 2) { my \$pid = fork // die; exec '$folder/worker', '-e', '1' unless \$pid; waitpid \$pid, 0 }";
is $?, 0, 'a family is recorded';

# The numbers of those who emit; the collector's is not one of the program's.
my ($pid, %collector);
sub collector {
    for (lines('eventcnv', '--header', @_)) {
        $pid = $1 if /^pid: (\d+)/;
        $collector{$pid} = 1 if /^role: "collector"/;
    }
}
collector($log);
my @all = lines('eventcnv', '-v', $log);

sub emitters { my %pids = map { /^\S+ (\d+)\// ? ($1 => 1) : () } @_; return sort { $a <=> $b } keys %pids }
sub own { return grep { !$collector{$_} } emitters(@_) }

my @workers = own(lines('eventcnv', '--process', 'worker', $log));
is scalar @workers, 2, 'two processes were started by the link';
is $status, 0, 'which is no error';
my @perls = own(lines('eventcnv', '--process', basename($perl), $log));
is_deeply \@perls, [own(@all)], 'by the name of the file all are meant';
is_deeply [own(lines('eventcnv', '--process', $perl, $log))], \@perls, 'and by its path';
is_deeply [own(lines('eventcnv', '--process', $workers[0], $log))], [$workers[0]], 'one by its number';
is_deeply [own(lines('eventcnv', '-e', 'process == "worker"', $log))], \@workers, 'filters know the name, too';
my @its = lines('eventcnv', '-e', 'process == "worker"', $log);
my @others = lines('eventcnv', '-e', 'process != "worker"', $log);
is @its + @others, @all, 'and its contrary';

# The collector's events, and other ways to choose.
my ($collector) = keys %collector;
my @told = grep { m{^\S+ $collector/} } lines('eventcnv', '-v', '--process', $workers[0], $log);
ok @told > 0 && !(grep { !/ pid=$workers[0]\b/ } @told), 'what the collector tells of a process is of it, and no more';
my @both = lines('eventcnv', '-v', '--process', 'worker', '-k', 'Object', '-e', 'size >= 100', $log);
ok @both > 0 && !(grep { !/ Object / || !/ size=(\d+)/ || $1 < 100 } @both), 'together with a kind and a filter';
my @expected = lines('eventcnv', '-v', '-k', 'Object', '-e', 'size >= 100 && process == "worker"', $log);
is_deeply \@both, \@expected, 'exactly those';
my $summary = join '', lines('eventview', '--process', 'worker', $log);
like $summary, qr/^processes +2\n(?: +(?:$workers[0]|$workers[1]) .*\n){2}/m,
    'eventview has them';
lines('eventcnv', '--process', 'wroker', $log);
is $status, 2, 'a name that nobody has is a usage error';
like $err, qr/no process is called 'wroker'.*worker/, 'with the names that are near';
lines('eventcnv', '-f', 'paw', '--no-state', '--process', 'worker', '-o', "$folder/part.paw", $log);
is $status, 0, 'a log of them alone';
is_deeply [own(lines('eventcnv', "$folder/part.paw"))], \@workers, 'has them';

# The first events are the program's, unless others are asked for.
@all = lines('eventcnv', '-v', $log);
my @programs = grep { !m{^\S+ $collector/} } @all;
is_deeply [lines('eventcnv', '-v', '-n', 8, $log)], [@programs[0 .. 7]], '-n 8: the first eight of the program';
is_deeply [lines('eventcnv', '-v', '-n', 8, '-k', 'all', $log)], [@all[0 .. 7]], 'with all kinds: of all';
my @system = grep { / System / } @all;
is_deeply [lines('eventcnv', '-v', '-n', 8, '-k', 'System', $log)], [@system[0 .. 7]], 'and of the system alone';

# Programs that give themselves a title: a child has its parent's from its beginning.  What is no path is no name.
my $file = basename($perl);
my @titles = (['sshd: user [priv]', $file], ['/usr/sbin/worker of /etc/site.conf', $file], ['-bash', 'bash'], ['/usr/sbin/named', 'named'],
              ['a' x 65, $file], ['a' x 64, 'a' x 64], ['/x/y/', $file], ["bell\a", $file]);
my $titled = "$folder/titled.paw";
system "$bin/eventrec", '-o', $titled, '--', $perl, '-e', 'for (@ARGV) { $0 = $_; my $pid = fork // die; exit unless $pid; waitpid $pid, 0 }',
    map { $$_[0] } @titles;
is $?, 0, 'a program that changes its title is recorded';
collector($titled);
my %named = map { @{$_->{arguments}} == 1 ? ($_->{arguments}[0] => $_->{name}) : () }
    @{decode_json(join '', lines('eventview', '--json', $titled))->{processes}};
is_deeply \%named, {map { @$_ } @titles}, 'a title that is a path names a process, another does not';
is scalar(own(lines('eventcnv', '--process', $file, $titled))), 1 + @titles, 'all answer to the name of their file';
is scalar(own(lines('eventcnv', '--process', 'named', $titled))), 1, 'and one to its title';
lines('eventcnv', '--process', 'site.conf', $titled);
is $status, 2, 'nobody is called by what is in a title';

done_testing;
