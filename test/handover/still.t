#!/usr/bin/env perl
# still.t -- a family whose eventrec stands still, or whose eventrec's name somebody else has, waits for it once, and not with
# each program; and when it goes on it is asked again
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp until_);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use IPC::Open2;
use Test::More;
use Time::HiRes qw(sleep time);

my $B = abs_path($ENV{B} // 'build/cool');
my ($rec, $cnv, $ctl) = map { "$B/bin/$_" } qw(eventrec eventcnv eventctl);
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'a sanitized program has a library of its own to load' if $ENV{SAN};

# ended($log, $program) -- what --check says when the program has ended, whether or not somebody asks for its status
sub ended {
    my ($log, $program) = @_;
    until_(sub { !defined readlink "/proc/$program/exe" });
    until_(sub { `$cnv -n 1 $log 2>&1` !~ /still running/ });
    return `$cnv --check $log 2>&1`;
}
sub notices { return grep { (readlink // '') =~ /^\Q$dir\E/ } glob '/dev/shm/pawprint-*-9999.log' }

# A shell of our own: for each line it starts a program, or forks a child that works, waits for it, and says how long that took.
my $shell = <<'END_SHELL';
use Time::HiRes 'time';
$| = 1;
print "$$\n";
while (<STDIN>) {
    my $begin = time;
    if (/bare (\d+)/) { system '/usr/bin/env', '-u', 'LD_PRELOAD', $^X, '-e', '1' for 1 .. $1 }
    elsif (/none (\d+)/) { system '/usr/bin/env', '-u', 'LD_PRELOAD', $ARGV[0] for 1 .. $1 }
    elsif (/run (\d+) (.*)/) { system $2 for 1 .. $1 }
    elsif (/fork/) { if (!fork) { my @all = map { "x$_" } 1 .. 1000; exit } wait }
    elsif (/stays/) { system $^X, '-e', '$| = 1; print "$$\n"; sysread STDIN, $_, 1'; next } # no more: that is for us
    else { system $^X, '-e', '1' }
    print time - $begin, "\n";
}
END_SHELL

# session($log, @before) -- such a shell, recorded: what to tell it, and hears
sub session {
    my ($log, @before) = @_;
    my ($out, $in);
    open my $err, '>&', \*STDERR;
    open STDERR, '>', "$log.err";
    my $pid = open2($out, $in, @before, $rec, '-o', $log, '--', $^X, '-e', $shell, "$dir/nowhere");
    open STDERR, '>&', $err;
    my $program = <$out> + 0;
    return {pid => $pid, program => $program, in => $in, ask => sub { print $in "$_[0]\n"; return <$out> + 0 },
            end => sub { close $in; waitpid $pid, 0 }};
}

# The first one waits; ten more, of both kinds, are through before it would have waited again three times.
sub waits {
    my ($what, $session) = @_;
    my $first = $session->{ask}->('program');
    my $others = 0;
    $others += $session->{ask}->($_ % 2 ? 'fork' : 'program') for 1 .. 10;
    cmp_ok $others, '<', 3 * $first, "$what: who comes after one that has waited in vain does not wait";
}

# collected($session) -- a program is started: has eventrec made its memory, or is it alone?  Both, in words; its number is in
# $started
my $started;
sub collected {
    my ($session) = @_;
    $started = $session->{ask}->('stays');
    my ($line) = grep { /^$started / } `$ctl`;
    print { $session->{in} } "\n";
    return $line =~ /(collected|by itself)/ ? $1 : $line;
}

{
    my $log = "$dir/stopped.paw";
    my $session = session($log);
    is collected($session), 'collected', 'a program is recorded';
    kill STOP => $session->{pid};
    waits('eventrec stands still', $session);
    is collected($session), 'by itself', 'it records itself';
    is scalar(notices()), 1, 'that eventrec stands still is known by one link';
    my ($notice) = notices();
    kill CONT => $session->{pid};
    ok until_(sub { !notices() }), 'eventrec goes on, and removes it';
    is collected($session), 'collected', 'the next program is recorded as ever';
    open my $other, '>', $notice or die "$notice: $!";
    select undef, undef, undef, 0.5; # some rounds
    ok unlink($notice), 'what is no link is left where it is';
    $session->{end}->();
    is `$cnv --check $log 2>&1`, '', 'nothing is missing';
    is slurp("$log.err") =~ s/^eventrec: \d+ events.*\n//r, '', 'nor is anybody named who has recorded himself';
}
# The queue of an eventrec that stands still is full in the end: for one program there is room for what is said before its exec,
# and none for what it asks itself.  How many asked before decides which.
for my $before (0, 1) {
    my $log = "$dir/full.$before.paw";
    my $session = session($log);
    kill STOP => $session->{pid};
    $session->{ask}->('fork') for 1 .. $before;
    $session->{ask}->('program') for 1 .. 12;
    kill CONT => $session->{pid};
    ok until_(sub { !notices() }), "eventrec goes on, its queue was full, $before had asked before";
    select undef, undef, undef, 0.5; # longer than a program is waited for
    $session->{end}->();
    is `$cnv --check $log 2>&1`, '', 'nothing is missing';
    is slurp("$log.err") =~ s/^eventrec: \d+ events.*\n//r, '', 'nobody is named: each has recorded himself';
}
# What that queue has no room for, of programs that are not seen, is left as links, and taken when eventrec goes on.
for my $met (1, 0) {
    my $log = "$dir/unseen.$met.paw";
    my $what = $met ? 'who has met eventrec' : 'who has not';
    open my $source, '>', "$dir/static.c" or die;
    print $source "int main(void) { return 0; }\n";
    close $source;
    my $static = system(($ENV{CC} // 'cc') . " -static -o $dir/static $dir/static.c 2>/dev/null") == 0;
    my $session = session($log);
    kill STOP => $session->{pid};
    $session->{ask}->('program') for 1 .. 12;
    $session->{ask}->('bare 30') if $met;
    # Who cannot be executed, though it is there.
    open my $script, '>', "$dir/nowhere" or die;
    print $script "#!/nowhere/sh\n";
    close $script;
    chmod 0755, "$dir/nowhere";
    $session->{ask}->('none 5') if $met;
    # By the shell itself, or by a program that came while eventrec stood still.
    $session->{ask}->($met ? "run 20 $dir/static" : "run 1 $^X -e 'system q($dir/static) for 1 .. 20'");
    my @left = grep { /-0-(?:8[1-9]|9[0-2])\d\d\.log$/ && lstat } glob '/dev/shm/pawprint-*-0-*.log';
    cmp_ok scalar(@left), '>=', $met ? 30 : 20, "$what: notes are left";
    my ($more) = map { s/9999(?=\.log$)/9216/r } notices();
    ok symlink('more', $more), 'there were more than have places' if !$met;
    kill CONT => $session->{pid};
    ok until_(sub { !notices() }), 'eventrec goes on';
    $session->{end}->();
    my $err = slurp("$log.err");
    like $err, qr/^eventrec: not seen: \S*perl\S*: .*LD_PRELOAD.* \(30 processes\)$/m, "$what: programs without the library are counted" if $met;
    like $err, qr/^eventrec: not seen: \Q$dir\E\/static: static.* \(20 processes\)$/m, "$what: static ones are" if $static;
    is $err =~ /^eventrec: it stood still, and .* may not be named$/m ? 1 : 0, $met ? 0 : 1,
        'that some may not be named is said only then';
    unlike $err, qr/not seen: .*nowhere/, 'an exec that failed is none';
    is `$cnv --check $log 2>&1`, '', 'nothing is missing';
    is_deeply [grep { lstat } @left], [], 'and no note stays';
}
{
    # Killed while it stands still.
    my $log = "$dir/killed.paw";
    my $session = session($log);
    kill STOP => $session->{pid};
    $session->{ask}->('program');
    kill KILL => $session->{pid};
    waitpid $session->{pid}, 0;
    $session->{ask}->('program');
    $session->{end}->();
    is ended($log, $session->{program}), '', 'eventrec is dead: nothing is missing';
    system "$rec --clean $log >/dev/null 2>&1";
    is scalar(notices()), 0, 'eventrec --clean removes the link';
}
{
    # Nobody goes on: what is left is removed with all the rest.
    my $log = "$dir/left.paw";
    my $session = session($log);
    kill STOP => $session->{pid};
    $session->{ask}->('program');
    kill KILL => $session->{pid}, $session->{program};
    $session->{end}->();
    ended($log, $session->{program});
    is scalar(notices()), 1, 'all are killed: the link is left';
    system "$rec --clean $log >/dev/null 2>&1";
    is scalar(notices()), 0, 'eventrec --clean removes it';
}
{
    # Somebody else has the name of a dead eventrec, takes what he is asked, and says nothing.
    my $log = "$dir/held.paw";
    my $session = session($log);
    my ($name) = slurp("/proc/$session->{program}/environ") =~ /collector=(pawprint-\w+)/;
    kill KILL => $session->{pid};
    waitpid $session->{pid}, 0;
    open my $holder, '-|', "$B/prog/holder", $name or die;
    like scalar(<$holder>), qr/^bound/, 'a dead eventrec\'s name is taken';
    waits('nobody answers there', $session);
    close $session->{in};
    is ended($log, $session->{program}), '', 'nothing is missing';
    system 'kill', <$holder> + 0;
    close $holder;
    system "$rec --clean $log >/dev/null 2>&1";
    is scalar(notices()), 0, 'nor left';
}
{
    # Somebody else has the name of a dead eventrec, and passes on what he is asked to one that lives, as if its own family asked.
    my ($log, $theirs) = ("$dir/asked.paw", "$dir/theirs.paw");
    my ($session, $other) = (session($log), session($theirs));
    my ($name) = slurp("/proc/$session->{program}/environ") =~ /collector=(pawprint-\w+)/;
    my @other = slurp("/proc/$other->{program}/environ") =~ /collector=(pawprint-\w+):(\w+)/;
    kill KILL => $session->{pid};
    waitpid $session->{pid}, 0;
    open my $holder, '-|', "$B/prog/holder", $name, @other or die;
    like scalar(<$holder>), qr/^bound/, 'a dead eventrec\'s name is taken, and who has it asks another one';
    is collected($session), 'by itself', 'whose answer is not believed, because it is of another recording';
    close $session->{in};
    is ended($log, $session->{program}), '', 'nothing is missing';
    $other->{end}->();
    my @in = map { my $of = $_; scalar grep { /^pid: $started$/ } `$cnv --header $of 2>/dev/null` } $log, $theirs;
    is_deeply [map { $_ > 0 ? 1 : 0 } @in], [1, 0], 'and who asked is in the log of his own recording alone';
    system 'kill', <$holder> + 0;
    close $holder;
    system "$rec --clean $log >/dev/null 2>&1";
}
# One of the family spoils the list by which the system tells the others of eventrec's death: they find out by themselves.
for my $row (['block', 1024], ['discard', 1024], ['block', 40]) { # with so few descriptors none of ours is kept
    my ($policy, $descriptors) = @$row;
    my $log = "$dir/spoilt.$policy.$descriptors.paw";
    my ($few, $many) = (1000, 300_000);
    open my $err, '>&', \*STDERR;
    open STDERR, '>', "$log.err";
    my $pid = open2(my $out, my $in, $rec, '-k', 'User', '-p', $policy, '-n', 64, '-b', '4K', '-o', $log, '--',
                    'sh', '-c', "ulimit -n $descriptors; exec $B/prog/spoils $B/prog/steady 0");
    open STDERR, '>&', $err;
    print $in "$few\n";
    is scalar(<$out>), "$few\n", "$policy: a program is recorded beside one that spoils its own memory";
    my ($program) = slurp("/proc/$pid/task/$pid/children") =~ /(\d+)/;
    kill KILL => $pid;
    waitpid $pid, 0;
    my $emitted = $few;
    local $SIG{ALRM} = sub { kill KILL => $program, slurp("/proc/$program/task/$program/children") =~ /(\d+)/g };
    alarm 100; # s, for what takes two
    print $in "$many\n";
    is scalar(<$out>) // 'nothing', ($emitted += $many) . "\n", "$policy: goes on when eventrec has died";
    my ($steady) = slurp("/proc/$program/task/$program/children") =~ /(\d+)/;
    ok until_(sub {
        print $in "$few\n";
        $emitted += $few if defined <$out>;
        return `$ctl` =~ /^$steady .*by itself/m;
    }), "$policy: has found out";
    print $in "$few\n";
    $emitted += $few if defined <$out>;
    alarm 0;
    close $in;
    my $check = ended($log, $program);
    my @there = `$cnv -E UserWord $log 2>/dev/null` =~ / value=(\d+)$/mg;
    my ($told) = $check =~ /^eventcnv: (\d+) events were discarded/m;
    is @there + ($told // 0), $emitted, "$policy: each event is there, or counted" or diag $check, slurp("$log.err");
    is $check, '', "$policy: nothing is missing" if $policy eq 'block';
    is $there[-1], $emitted, "$policy: the last is there";
    system "$rec --clean $log >/dev/null 2>&1";
}
done_testing;
