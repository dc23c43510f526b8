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
use POSIX qw(mkfifo);
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
like join('', lines('eventview', 'live', '--process', 'worker', '--at', 'end', $log)), qr/^process +\d+ worker \(\Q$perl\E\)$/m,
    'eventview live calls it so, too';
is_deeply [map { $_->{name} } @{decode_json(join '', lines('eventview', 'live', '--json', '--process', 'worker', $log))->{processes}}], ['worker'], 'and in JSON';
lines('eventcnv', '--process', 'wroker', $log);
is $status, 2, 'a name that nobody has is a usage error';
like $err, qr/no process is called 'wroker'.*worker/, 'with the names that are near';
lines('eventcnv', '-f', 'paw', '--no-state', '--process', 'worker', '-o', "$folder/part.paw", $log);
is $status, 0, 'a log of them alone';
is_deeply [own(lines('eventcnv', "$folder/part.paw"))], \@workers, 'has them';

unlike join('', lines('eventview', '--process', 'worker', $log)), qr/asked for$/m, 'all of them is all that was asked for';
lines('eventcnv', '-f', 'paw', '--process', 'worker', '-o', "$folder/chosen.paw", $log);
is_deeply [own(lines('eventcnv', "$folder/chosen.paw"))], \@workers, 'nor has one with what events refer to others';
my %chosen = map { $_ => 1 } grep { /^processes: / } lines('eventcnv', '--header', "$folder/chosen.paw");
is join('', keys %chosen), "processes: 2\n", 'it says how many it has';
like join('', lines('eventview', "$folder/chosen.paw")), qr/^processes +2\n/m, 'as its summary does';
lines('eventcnv', '--check', "$folder/chosen.paw");
is "$status $err", '0 ', 'and lacks nothing';

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

# A link's name that looks like a title is the name all the same: with what exec was called with.
my $spaced = "$folder/a folder";
mkdir $spaced or die;
my @names = ('my worker', 'a:b', "w\xc3\xbcrker", 'n' x 100, 'plain');
symlink $perl, "$spaced/$_" or die for @names;
for my $name (@names) {
    system "$bin/eventrec", '--force', '-o', "$folder/named.paw", '--', "$spaced/$name", '-e', '1';
    my ($its) = grep { $_->{program} eq $perl } @{JSON::PP->new->utf8(0)->decode(join '', lines('eventview', '--json', "$folder/named.paw"))->{processes}};
    is $its->{name}, $name, "a link in a folder with a space, called $name";
}
is scalar(own(do { collector("$folder/named.paw"); lines('eventcnv', '--process', 'plain', "$folder/named.paw") })), 1, 'and it is chosen by that';
system "$bin/eventrec", '--force', '-o', "$folder/named.paw", '--', "$spaced/my worker", '-e', '$0 = "worker: idle"; my $pid = fork // die; exit unless $pid; waitpid $pid, 0';
my %titles = map { $_->{arguments}[0] => $_->{name} } grep { $_->{program} eq $perl } @{decode_json(join '', lines('eventview', '--json', "$folder/named.paw"))->{processes}};
is_deeply \%titles, {"$spaced/my worker" => 'my worker', 'worker: idle' => $file}, 'a title that it gives itself is none, as before';

# Two programs in process namespaces of their own, each number 1 there: they are two, by the numbers that they have outside.

my @alone = ('unshare', $> == 0 ? '-pf' : '-Urpf');

# apart($apart) -- record the two; eventrec's number, their numbers outside, the one with less memory first, and a
# function that lets them end
sub apart {
    my ($apart) = @_;
    my @fifo = map { "$apart.$_" } 1, 2;
    mkfifo($_, 0600) or die for @fifo;
    my $program = '@a = map { "x" x 1000 } 1 .. $ARGV[1]; open $f, "<", $ARGV[0]; <$f>';
    my $pid = fork // die;
    exec "$bin/eventrec", '--sample=10', '-o', $apart, '--', 'sh', '-c',
        "@alone $perl -e '$program' $fifo[0] 1000 & @alone $perl -e '$program' $fifo[1] 30000 & wait" or die if $pid == 0;
    # Each is opened when its program has all that it will have.
    my @to = map { open my $to, '>', $_ or die; $to } @fifo;
    my %outer; # by the fifo's name
    for my $status (glob '/proc/[0-9]*/status') {
        my ($number) = $status =~ /(\d+)/;
        my ($inner) = map { /^NSpid:.*\t(\d+)$/ ? $1 : () } do { local @ARGV = $status; -r $status ? <> : () };
        my $arguments = do { local (@ARGV, $/) = "/proc/$number/cmdline"; -r $ARGV[0] ? <> // '' : '' };
        my ($which) = grep { $arguments =~ /\0\Q$_\E\0/ && $arguments !~ /unshare/ } @fifo;
        $outer{$which} = $number if $which && $inner == 1;
    }
    is scalar(keys %outer), 2, 'two programs run, each as number 1 of its namespace';
    return ($pid, [@outer{@fifo}], sub { close $_ for @to; waitpid $pid, 0 });
}

# perls($log) -- what the summary says of the two, by their numbers; and all of it
sub perls {
    my $of = decode_json(join '', lines('eventview', '--json', @_));
    return ($of, map { $_->{pid} => $_ } grep { $_->{program} eq $perl } @{$of->{processes}});
}

SKIP: {
    skip 'nothing is preloaded into sanitized programs', 18 if $ENV{SAN};
    skip 'no namespaces for us here', 18 if system("@alone true 2>/dev/null") != 0;
    my $apart = "$folder/apart.paw";
    my (undef, $two, $end) = apart($apart);
    my @outer = sort { $a <=> $b } @$two;
    my $listed = `$bin/eventctl`;
    is scalar(grep { $listed =~ /^$_ .*\Q$apart\E$/m } @outer), 2, 'eventctl lists them by their numbers outside';
    for (1 .. 300) {
        my $samples = join '', lines('eventcnv', '-E', 'ProcessSample', $apart);
        last if $samples =~ / pid=$$two[0] / && grep { $_ > 24 << 20 } $samples =~ / pid=$$two[1] .*? resident=(\d+)/g;
        select undef, undef, undef, 0.1;
    }
    $end->();
    is $?, 0, 'they end';
    collector($apart);

    my ($of, %perl) = perls($apart);
    is_deeply [sort { $a <=> $b } keys %perl], \@outer, 'the summary has them by the same numbers';
    is_deeply [map { $_->{inner_pid} } values %perl], [1, 1], 'and says what they are for themselves';
    my ($few, $many) = @perl{@$two};
    cmp_ok $few->{peak_resident_bytes}, '>', 0, 'both have resident memory';
    cmp_ok $many->{peak_resident_bytes} - $few->{peak_resident_bytes}, '>', 20 << 20, 'each its own';
    my %numbers = map { $_->{pid} => 1 } @{$of->{processes}};
    is $of->{threads}, scalar(keys %numbers), 'one thread for each of the family';
    like join('', lines('eventview', $apart)), qr/^  $$two[1] .*, number 1 in its namespace: \Q$perl\E -e /m, 'also as text';

    is_deeply [own(lines('eventcnv', '--process', $$two[0], $apart))], [$$two[0]], '--process chooses one by its number outside';
    is_deeply [own(lines('eventcnv', '--process', 1, $apart))], \@outer, 'and both by that within';
    lines('eventcnv', '-f', 'paw', '--force', '-o', "$folder/part.paw", $apart);
    is_deeply [own(lines('eventcnv', '--process', 1, "$folder/part.paw"))], \@outer, 'also of a copy';
    ok scalar(grep { m{ ProcessSample pid=$$two[0] } } lines('eventcnv', '--process', $$two[0], $apart)),
        'with what the collector tells of it';
    lines('eventcnv', '--check', $apart);
    is $status, 0, 'the log is whole';

    # They know those numbers themselves, when nobody collects any more.
    $apart = "$folder/left.paw";
    (my $eventrec, $two, $end) = apart($apart);
    kill KILL => $eventrec;
    $end->();
    for (1 .. 300) {
        last if !grep { kill 0, $_ } @$two;
        select undef, undef, undef, 0.1;
    }
    (undef, %perl) = perls($apart);
    is_deeply [sort { $a <=> $b } keys %perl], [sort { $a <=> $b } @$two], 'their numbers stay when their collector dies';
    # What those left that had become other programs by then, the collector would have taken.
    # Their parents end after them.
    my $left = sub { scalar grep { (readlink // '') eq $apart } glob '/dev/shm/pawprint-*.log' };
    for (1 .. 300) {
        lines('eventrec', '--clean', $apart);
        last if $status == 0 && !$left->();
        select undef, undef, undef, 0.1;
    }
    is $left->(), 0, 'what is left is put into the log' or diag $err;
    (undef, %perl) = perls($apart);
    is_deeply [sort { $a <=> $b } keys %perl], [sort { $a <=> $b } @$two], 'and they are the same';
}

done_testing;
