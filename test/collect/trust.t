#!/usr/bin/perl
# trust.t -- a recorded program that has given up its rights, or means harm: what it had is in the log, and no file of
# others is touched
#
# Only root can give up rights; so most of this is for CI, where tests run as root.
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp spew until_);
use File::Temp 'tempdir';
use IPC::Open2;
use POSIX ();
use Test::More;
use Time::HiRes 'sleep';

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'only root can give up rights' if $> != 0;
plan skip_all => 'a sanitizer has its own malloc' if $ENV{SAN};

my $B = $ENV{B} // 'build/cool';
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);
# What the tests leave in memory is theirs to remove.
END {
    local $?;
    system "$B/bin/eventrec --clean $dir/*.paw $dir/drops/*.paw >/dev/null 2>&1" if defined $dir;
    unlink map { ($_, s/\.log$//r) } grep { (readlink // '') =~ /^\Q$dir\E/ } glob '/dev/shm/pawprint-*.log' if defined $dir;
}
my $nobody = 65534;
chmod 0755, $dir;
mkdir "$dir/jail";

# started($log, $program, @words) -- eventrec's process number
sub started {
    my ($log, @words) = @_;
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        open STDERR, '>', "$log.err";
        open STDOUT, '>', "$log.out";
        { no warnings; exec "$B/bin/eventrec", '-o', $log, @words }
        exit 99;
    }
    return $pid;
}

# What is recorded: it says where it is, waits until it may go on, and works.
my $drop = <<'END';
my ($dir, $jail, @files) = @ARGV;
require POSIX;
$| = 1;
my @before = map { "x$_" } 1 .. 5000;
open my $go, '<', "$dir/go" or die;
if ($jail) { chroot $jail or die; chdir '/' }
POSIX::setgid(65534); POSIX::setuid(65534);
print "dropped\n";
sysread $go, my $byte, 1;
my @after = map { "y$_" } 1 .. 50000;
print "end\n";
END

for my $how (['its user', ''], ['its user and its root folder', "$dir/jail"]) {
    my ($what, $jail) = @$how;
    my $log = "$dir/drop" . ($jail ? 'jail' : '') . '.paw';
    unlink "$dir/go";
    system('mkfifo', "$dir/go") == 0 or die;
    my $rec = started($log, $^X, '-e', $drop, $dir, $jail);
    open my $go, '+<', "$dir/go" or die;
    until_(sub { slurp("$log.out") =~ /^dropped$/m }) or diag slurp("$log.err");
    kill 'KILL', $rec;
    waitpid $rec, 0;
    print $go "\n";
    close $go;
    until_(sub { slurp("$log.out") =~ /^end$/m });
    until_(sub { `$B/bin/eventcnv -n 1 $log 2>&1` !~ /still running/ });
    my $said = `$B/bin/eventcnv --check $log 2>&1`;
    unlike $said, qr/lost|missing|damaged/, "a program that has changed $what, and whose eventrec was killed, loses nothing";
    unlike slurp("$log.err"), qr/cannot open the log/, 'it has the log yet';
    my $events = () = `$B/bin/eventcnv -k Object $log 2>/dev/null` =~ /\n/g;
    cmp_ok $events, '>', 100000, 'all of it is there';
    is_deeply [glob "$dir/jail/*"], [], 'and nowhere else';
}

# The folder of the log, where the regions are for want of /dev/shm, is swapped for a link to another one, which has files of
# the same names: what is made, written and removed afterwards is in the folder that was there at the beginning.
SKIP: {
    my $swap = "$dir/swap";
    my @within = ('unshare', '-m', 'sh', '-c', 'mount -t tmpfs -o ro none /dev/shm && exec "$@"', 'sh');
    mkdir $_ for $swap, "$swap/log", "$swap/others";
    skip 'no file system can be mounted here', 7 if system(@within, 'true') != 0;
    my $command = join ' ', map { quotemeta } @within, "$B/bin/eventrec", '-o', "$swap/log/run.paw", "$B/prog/ways";
    open my $in, '|-', "exec $command > $swap/out 2> $swap/err" or die;
    $in->autoflush;
    my ($told, $tell) = (0);
    $tell = sub { print $in map { "$_\n" } @_; $told += @_; until_(sub { (() = slurp("$swap/out") =~ /\n/g) >= $told }) };
    ok $tell->(20000), 'a program is recorded without /dev/shm';
    my @regions = map { s{.*/}{}r } glob "$swap/log/run.paw.region-*";
    cmp_ok scalar(@regions), '>', 0, 'its memory is beside the log';
    rename "$swap/log", "$swap/kept";
    spew("$swap/others/$_", 'precious') for 'run.paw', @regions;
    symlink 'others', "$swap/log";
    ok $tell->(20000, 'fork', 20000), 'the folder is swapped, and it goes on, and has a child';
    close $in;
    is_deeply [map { s{.*/}{}r } glob "$swap/others/*"], [sort 'run.paw', @regions], 'in the other folder nothing is made, and nothing removed';
    is_deeply [grep { slurp($_) ne 'precious' } glob "$swap/others/*"], [], 'nor written to';
    is_deeply [map { s{.*/}{}r } glob "$swap/kept/*"], ['run.paw'], 'in the log\'s own nothing is left but the log';
    my $events = () = `$B/bin/eventcnv -E UserWord $swap/kept/run.paw 2>/dev/null` =~ /\n/g;
    is "$events " . `$B/bin/eventcnv --check $swap/kept/run.paw 2>&1`, '60000 ', 'which has all';
}

# Another program, of a user who may not open the log, follows: by exec, or started.  It works when eventrec is gone.
my $follow = <<'END';
my ($dir, $how) = @ARGV;
require POSIX;
$| = 1;
my @before = map { "x$_" } 1 .. 5000;
open my $go, '<', "$dir/go" or die;
POSIX::setgid(65534); POSIX::setuid(65534);
print "dropped\n";
sysread $go, my $byte, 1;
my @next = ($^X, '-e', 'my @after = map { "y$_" } 1 .. 50000; $| = 1; print "end\n"');
exec @next if $how eq 'exec';
if ($how eq 'fork') { fork ? wait : exec @next }
# A shell, which perl forks for and which starts the program in turn.
system "'$next[0]' -e '$next[2]'; true" if $how eq 'system';
END

sub follower {
    my ($log, $how) = @_;
    unlink "$dir/go";
    system('mkfifo', "$dir/go") == 0 or die;
    my $rec = started($log, $^X, '-e', $follow, $dir, $how);
    open my $go, '+<', "$dir/go" or die;
    until_(sub { slurp("$log.out") =~ /^dropped$/m }) or diag slurp("$log.err");
    return ($rec, $go);
}

for my $how ('exec', 'fork', 'system') {
    my $log = "$dir/follow$how.paw";
    my ($rec, $go) = follower($log, $how);
    kill 'KILL', $rec;
    waitpid $rec, 0;
    print $go "\n";
    close $go;
    until_(sub { slurp("$log.out") =~ /^end$/m }) or diag slurp("$log.err");
    until_(sub { `$B/bin/eventcnv -n 1 $log 2>&1` !~ /still running|may be in/ });
    my $said = `$B/bin/eventcnv --check $log 2>&1`;
    is $?, 0, "$how: a program that follows when eventrec was killed loses nothing" or diag $said;
    unlike $said, qr/lost|missing|damaged|newest/, "$how: nothing is told as lost";
    unlike slurp("$log.err"), qr/cannot open the log/, "$how: it was left the log";
    my $events = () = `$B/bin/eventcnv -k Object $log 2>/dev/null` =~ /\n/g;
    cmp_ok $events, '>', 100000, "$how: all of it is there";
}

# It was left nothing: eventrec stood still when it was asked, and nobody knew that it would not answer.
{
    my $log = "$dir/stopped.paw";
    my ($rec, $go) = follower($log, 'exec');
    kill 'STOP', $rec;
    print $go "\n";
    close $go;
    until_(sub { slurp("$log.out") =~ /^end$/m }) or diag slurp("$log.err");
    kill 'CONT', $rec;
    waitpid $rec, 0;
    my @theirs = grep { (stat)[4] == $nobody } grep { (readlink "$_.log" // '') eq $log } glob '/dev/shm/pawprint-*';
    is scalar(@theirs), 1, 'what a program has that can write no log stays in memory';
    my $said = `$B/bin/eventcnv --check $log 2>&1`;
    isnt $?, 0, 'that is missing in the log';
    like $said, qr/^eventcnv: \Q$log\E: newest events may be in \Q$theirs[0]\E, which is not read: it belongs to user $nobody/m, 'and is told';
    system "$B/bin/eventrec --clean $log >/dev/null 2>&1";
    ok -e $theirs[0], '--clean does not believe another user';
    system 'chown', '-h', '0', $theirs[0], "$theirs[0].log";
    system "$B/bin/eventrec --clean $log >/dev/null 2>&1";
    $said = `$B/bin/eventcnv --check $log 2>&1`;
    is "$? $said", '0 ', 'unless root makes it his: then nothing is missing';
    my $events = () = `$B/bin/eventcnv -k Object $log 2>/dev/null` =~ /\n/g;
    cmp_ok $events, '>', 100000, 'all of it is there';
    unlink map { ($_, "$_.log") } @theirs;
}

# The log's name leads elsewhere while it is written.
{
    my $log = "$dir/moved.paw";
    spew("$dir/victim", "precious\n");
    my $rec = started($log, $^X, '-e', 'my ($log, $victim) = @ARGV; rename $log, "$log.away"; symlink $victim, $log; '
                                     . 'my @all = map { "x$_" } 1 .. 50000', $log, "$dir/victim");
    waitpid $rec, 0;
    is slurp("$dir/victim"), "precious\n", 'a link that is put in the place of the log leads nobody astray';
    my $events = () = `$B/bin/eventcnv -k Object $log.away 2>/dev/null` =~ /\n/g;
    cmp_ok $events, '>', 50000, 'the log that was moved has all';
    unlink $log;
}

# Whatever a program writes into its region: its log, or another one's, is not where that says.
{
    my $log = "$dir/region.paw";
    spew("$dir/victim", "precious\n");
    chmod 0600, "$dir/victim";
    my $rec = started($log, $^X, '-e', 'my ($victim) = @ARGV; my @all = map { "x$_" } 1 .. 5000; '
                                     . 'for my $region (grep { !/log$/ } glob "/dev/shm/pawprint-*-$$-*") { '
                                     . 'open my $out, "+<:raw", $region or next; seek $out, 88, 0; '
                                     . 'print $out $victim, "\0"; close $out } kill KILL => $$', "$dir/victim");
    waitpid $rec, 0;
    is slurp("$dir/victim"), "precious\n", 'nor does a path in a region';
    is_deeply [grep { (readlink // '') eq $log } glob '/dev/shm/pawprint-*.log'], [], 'and its region is gone';
}

# eventctl flush writes into the log that the region's maker named, whatever the region says by now.
{
    my $log = "$dir/flush.paw";
    spew("$dir/victim", "precious\n");
    chmod 0600, "$dir/victim";
    my $lie = <<'END';
my ($log, $victim) = @ARGV;
$| = 1;
my ($region) = grep { !/log$/ } glob "/dev/shm/pawprint-*-$$-*";
open my $file, '+<:raw', $region or die;
read $file, my $header, 4096;
my @is = stat $log;
my @other = stat $victim;
for my $pair (map { [pack('Q', $is[$_]), pack 'Q', $other[$_]] } 0, 1) {
    my $at = index $header, $pair->[0], 24;
    substr($header, $at, 8) = $pair->[1] if $at >= 0;
}
my $at = index $header, $log;
substr($header, $at, length($victim) + 1) = "$victim\0" if $at >= 0;
seek $file, 24, 0;
print $file substr $header, 24, $at + length($victim) + 1 - 24 if $at >= 0;
close $file;
print "$$\n";
sleep 60;
END
    my $rec = started($log, $^X, '-e', $lie, $log, "$dir/victim");
    until_(sub { slurp("$log.out") =~ /^\d+$/m }) or diag slurp("$log.err");
    my ($pid) = slurp("$log.out") =~ /^(\d+)$/m;
    kill 'KILL', $rec;
    waitpid $rec, 0;
    my $said = `$B/bin/eventctl $pid flush 2>&1`;
    is slurp("$dir/victim"), "precious\n", 'eventctl flush writes to no file that a region names' or diag $said;
    is $said, '', 'but to the log';
    kill 'KILL', $pid;
    until_(sub { !kill 0, $pid });
    is `$B/bin/eventcnv --check $log 2>&1 >/dev/null` =~ /lost|damaged/ ? 'lost' : '', '', 'which has all';
    system "$B/bin/eventrec --clean $log >/dev/null 2>&1";
}

# killed($log) -- a program that records by itself into this log, with 500 events that only its region has, is killed; its region
sub killed {
    my ($log) = @_;
    my $pid = open my $in, '|-', "PAWPRINT_LOG=$log exec $B/prog/ways > $log.out" or die;

    $in->autoflush;
    print $in "500\n";
    until_(sub { -s "$log.out" });
    kill 'KILL', $pid;
    close $in;
    return grep { !/log$/ } glob "/dev/shm/pawprint-*-$pid-*";
}

# A file that has a header block of the recording, but begins with something else, is no log, however it is found.
{
    my $log = "$dir/middle.paw";
    my ($region) = killed($log);
    my $begun = slurp($log);
    my $letter = "From somebody\n\n$begun";
    spew($log, $letter);
    system "$B/bin/eventrec --clean >/dev/null 2>&1";
    ok slurp($log) eq $letter, 'to a letter in which a header block stands --clean adds nothing';
    isnt system("$B/bin/eventrec --clean $log >/dev/null 2>&1"), 0, 'nor if it is named: that is an error';
    ok slurp($log) eq $letter && -e $region, 'and nothing is added, or removed';
    spew($log, ("\0" x 8192) . $begun);
    system "$B/bin/eventrec --clean $log >/dev/null 2>&1";
    is scalar(() = `$B/bin/eventcnv -E UserWord $log 2>/dev/null` =~ /\n/g), 500, 'a log of which the oldest part was given back gets all';
}

# A process has a file of its own mapped that has the number of another recording's region, and puts that region in the place of the
# file: eventctl takes it for what it is.
SKIP: {
    my @unshare = qw(unshare -m -p --fork --mount-proc);
    skip 'no namespaces can be made here, or this is another processor', 3
        if `uname -m` !~ /^x86_64/ || system("@unshare true 2>/dev/null") != 0;
    my $log = "$dir/theirs.paw";
    my $rec = started($log, $^X, '-e', '$| = 1; print "$$\n"; 1 while select(undef, undef, undef, 0.05) == 0');
    until_(sub { slurp("$log.out") =~ /^\d+$/m });
    my ($victim) = slurp("$log.out") =~ /^(\d+)$/m;
    my ($region) = grep { !/log$/ } glob "/dev/shm/pawprint-*-$victim-*";
    my $swaps = <<'END';
my ($region, $number, $pid, $dir) = @ARGV;
my ($name) = $region =~ m{([^/]+)$};
mkdir "$dir/$_" for qw(theirs own);
system("mount --bind /dev/shm $dir/theirs && mount -t tmpfs none $dir/own") == 0 or die;
for my $n (1 .. $number) {
    open my $file, '+>', "$dir/own/$n" or die;
    if ((stat $file)[1] == $number) {
        truncate $file, 1 << 20;
        rename "$dir/own/$n", "$dir/own/$name";
    }
}
open my $next, '>', '/proc/sys/kernel/ns_last_pid' or die;
syswrite $next, $pid - 1;
if (fork == 0) {
    open my $file, '+<', "$dir/own/$name" or die "no such number";
    syscall(9, 0, 1 << 20, 3, 1, fileno $file, 0) > 0 && syscall(9, 0, 4096, 3, 1, fileno $file, 65536) > 0 or die;
    system("mount --bind $dir/theirs/$name $dir/own/$name") == 0 or die;
    syswrite STDOUT, "$$\n";
    sleep 60;
}
wait;
END
    my $pid = open my $in, '-|', @unshare, $^X, '-e', $swaps, $region, (stat $region)[1], $victim, $dir or die;
    my $is = <$in>;
    my ($other) = grep { $_ != $victim && slurp("/proc/$_/maps") =~ m{own/pawprint-} } map { m{(\d+)} } glob '/proc/[0-9]*';
    is $is, "$victim\n", 'a process has the number of another one, in a namespace of its own';
    isnt system("$B/bin/eventctl $other stop >/dev/null 2>&1"), 0, 'and its region, by name: it is not believed';
    like `$B/bin/eventctl $victim`, qr{^Object\s+yes\s+yes$}m, 'the other one records on';
    kill 'KILL', $other, $victim;
    close $in;
    waitpid $rec, 0;
}

# What a dead program left comes to its log only if that is ours; and a link alone is removed only by its owner, and by nobody who
# is led there.
{
    my $log = "$dir/given.paw";
    my @region = killed($log);
    is scalar(@region), 1, 'a program that records by itself is killed';
    my $before = slurp($log);
    chown $nobody, -1, $log;
    like `$B/bin/eventrec --clean $log 2>&1`, qr/it cannot be added to the log: Operation not permitted; it stays$/m, 'its log is given to another user: --clean says why it adds nothing';
    ok slurp($log) eq $before, 'nor does it';
    ok -e $region[0], 'and leaves what there is';
    chown 0, -1, $log;
    like `$B/bin/eventrec --clean $log 2>&1`, qr/; removed$/m, 'it is ours again: then it is added';
    is scalar(() = `$B/bin/eventcnv -E UserWord $log 2>/dev/null` =~ /\n/g), 500, 'and all is there';

    my $link = sprintf '/dev/shm/pawprint-%016x-4194303-0.log', 0x7e57 << 32 | $$;
    symlink $log, $link;
    system 'chown', '-h', $nobody, $link;
    is `$B/bin/eventrec --clean $log 2>&1` =~ /^\Q$link\E/m ? 'told' : '', '', 'a link of another user without a region is not believed';
    ok -l $link, 'nor removed';
    system 'chown', '-h', '0', $link;
    like `$B/bin/eventrec --clean $log 2>&1`, qr/^\Q$link\E: .*its region is gone; removed$/m, 'unless it is ours';
    unlink $link;
}

# A recorded program takes a dead collector's name, and answers whoever asks: nobody believes it who is not of its user.
# Nor does anybody remove by a path what is no region, whoever tells of it.
for my $case (['another user, who names a file of root\'s', 'unlink', $nobody], ['another user, who cuts the memory', 'cut', $nobody],
              ['root, who names another file', 'unlink', ''],
              ['another user, where all users have the same number, who cuts the memory', 'cut', $nobody, 'space']) {
    my ($who, $what, $user, @space) = @$case;
    next if @space && system('unshare -U true 2>/dev/null') != 0;
    my $log = "$dir/impostor$what$user@space.paw";
    mkdir "$dir/roots", 0700;
    spew("$dir/roots/victim", "precious\n");
    unlink "$dir/go";
    system('mkfifo', "$dir/go") == 0 or die;
    my $rec = started($log, 'sh', '-c', 'exec "$@" < "$0"', "$dir/go", "$B/prog/impostor", "$dir/roots/victim", $what, $user || (), @space);
    open my $go, '>', "$dir/go" or die;
    until_(sub { slurp("$log.out") =~ /^ready$/m }) or diag slurp("$log.err");
    kill 'KILL', $rec;
    waitpid $rec, 0;
    until_(sub { slurp("$log.out") =~ /^bound$/m }) or diag slurp("$log.err");
    close $go;
    until_(sub { slurp("$log.out") =~ /^end/m }) or diag slurp("$log.err");
    my $out = slurp("$log.out");
    like $out, qr/^asked$/m, "a collector is dead, and its name is taken by $who: it is asked";
    like $out, qr/^end 0$/m, 'but it ends nobody';
    unlike $out, qr/^told$/m, 'and is told nothing' if $user;
    is slurp("$dir/roots/victim"), "precious\n", 'nor is anything removed';
    until_(sub { `$B/bin/eventcnv -n 1 $log 2>&1` !~ /still running/ });
    my $events = () = `$B/bin/eventcnv -e 'size==4444' $log 2>/dev/null` =~ /\n/g;
    cmp_ok $events, '>=', 2 * 20000, 'what was recorded is in the log';
}

# A daemon that changes its user, and outlives eventrec, may not remove its region: it empties it, or cannot even do that, where its
# memory is locked.  Its end is in the log all the same.
my $daemon = <<'END';
my ($dir, $lock) = @ARGV;
require POSIX;
open my $go, '<', "$dir/go" or die;
exit 0 if fork;
$| = 1;
my @before = map { "x$_" } 1 .. 5000;
syscall $lock, 5 if $lock; # MCL_CURRENT | MCL_ONFAULT, where it may
POSIX::setgid(65534); POSIX::setuid(65534);
print "$$\n";
sysread $go, my $byte, 1;
my @after = map { "y$_" } 1 .. 5000;
print "end\n";
END
my $mlockall = {x86_64 => 151, aarch64 => 230}->{(POSIX::uname())[4]} // 0;
for my $lock (0, $mlockall ? $mlockall : ()) {
    my $log = "$dir/daemon$lock.paw";
    my $what = 'a daemon that has changed its user' . ($lock ? ', and has locked its memory' : '');
    unlink "$dir/go";
    system('mkfifo', "$dir/go") == 0 or die;
    open my $go, '+<', "$dir/go" or die;
    waitpid started($log, $^X, '-e', $daemon, $dir, $lock), 0;
    until_(sub { slurp("$log.out") =~ /^\d+$/m }) or diag slurp("$log.err");
    my ($pid) = slurp("$log.out") =~ /^(\d+)$/m;
    print $go "\n";
    close $go;
    until_(sub { slurp("$log.out") =~ /^end$/m });
    until_(sub { `$B/bin/eventcnv --check $log 2>&1` !~ /still running/ });
    my ($region) = grep { !/log$/ } glob "/dev/shm/pawprint-*-$pid-*";
    ok defined $region, "$what cannot remove its memory" or next;
    cmp_ok +(stat $region)[12] * 512, '<=', 65536, 'but gives back what it held' if !$lock;
    is `$B/bin/eventcnv --check $log 2>&1`, '', "$what: nothing is missing";
    unlike `$B/bin/eventview $log`, qr/^no end/m, 'nor its end';
    my $before = -s $log;
    like `$B/bin/eventrec --clean $log 2>&1`, qr/; removed$/m, 'eventrec --clean removes it';
    ok !-e $region, 'indeed';
    is -s $log, $before, 'and has nothing to add';
    unlike `$B/bin/eventview $log`, qr/^no end/m, 'its end is there yet';
}

# eventrec's end tells of it, where the daemon has done that by then; and says nothing of one that has not.
for my $drops (1, 0) {
    my $log = "$dir/told$drops.paw";
    unlink "$dir/go";
    system('mkfifo', "$dir/go") == 0 or die;
    open my $go, '+<', "$dir/go" or die;
    my $waits = 'my ($dir, $drops) = @ARGV; require POSIX; open my $go, "<", "$dir/go" or die; pipe my $in, my $out; if (!fork) { ' .
                'if ($drops) { POSIX::setgid(65534); POSIX::setuid(65534) } syswrite $out, "x"; sysread $go, my $byte, 1; exit } ' .
                'sysread $in, my $byte, 1';
    waitpid started($log, $^X, '-e', $waits, $dir, $drops), 0;
    my $said = slurp("$log.err");
    like $said, qr/^eventrec: 1 of its processes still runs, and writes to the log$/m, 'a daemon outlives eventrec';
    my $tells = qr/^eventrec: 1 of them has another user now, and may not remove its shared memory when it ends; eventrec --clean \Q$log\E removes it then$/m;
    $drops ? like $said, $tells, 'as another user: what stays, and what removes it, is told' : unlike $said, qr/shared memory/, 'and removes its memory itself';
    print $go "\n";
    close $go;
    until_(sub { `$B/bin/eventcnv --check $log 2>&1` !~ /still running/ });
    my ($identity) = `$B/bin/eventcnv --header $log` =~ /^recording: 0x(\S+)/m;
    $identity = sprintf "%016s", $identity;
    is scalar(grep { !/log$/ } glob "/dev/shm/pawprint-$identity-*"), $drops, $drops ? 'so it is' : 'indeed';
    system "$B/bin/eventrec --clean $log >/dev/null 2>&1";
    is scalar(() = glob "/dev/shm/pawprint-$identity-*"), 0, 'then nothing stays';
}

# Root's collector has no number in a user namespace of somebody else's.
SKIP: {
    my $log = "$dir/space.paw";
    my @within = ($^X, '-e', 'require POSIX; POSIX::setgid(65534); POSIX::setuid(65534); exec "unshare", "-r", @ARGV or exit 1');
    skip 'nobody may make a user namespace here', 1 if system("@{[map { quotemeta } @within]} true 2>/dev/null") != 0;
    my $rec = started($log, @within, $^X, '-e', '$| = 1; print "$$\n"; sleep 60');
    until_(sub { slurp("$log.out") =~ /^\d+$/m }) or diag slurp("$log.err");
    my ($pid) = slurp("$log.out") =~ /^(\d+)$/m;
    my %owners = map { ((stat)[4] => 1) } grep { !/log$/ } glob "/dev/shm/pawprint-*-$pid-*";
    is_deeply \%owners, {0 => 1}, 'a program in a namespace where root is nobody has its memory from root\'s collector';
    kill 'KILL', $pid;
    waitpid $rec, 0;
}

# What a program executes is looked at with the rights of who says so: here it is a static program, which only root may read.
SKIP: {
    my $log = "$dir/static.paw";
    spew("$dir/static.c", "int main(void) { return 0; }\n");
    skip 'nothing can be linked statically here', 5 if system(($ENV{CC} // 'cc') . " -static -o $dir/static $dir/static.c 2>/dev/null") != 0;
    my $run = 'my ($user, @words) = @ARGV; require POSIX; POSIX::setgid($user); POSIX::setuid($user); exec @words';
    system 'cp', "$B/prog/starts", $dir;
    for ([0, 0711, 1], [$nobody, 0711, 0], [$nobody, 0755, 1]) {
        my ($user, $mode, $told) = @$_;
        my $file = sprintf '%s/static%d-%o', $dir, $user, $mode;
        system 'cp', "$dir/static", $file;
        chmod $mode, $file;
        unlink $log;
        waitpid started($log, $^X, '-e', $run, $user, "$dir/starts", 'execve', $file, 0), 0;
        is slurp("$log.err") =~ /^eventrec: not seen: \Q$file\E: static/m ? 1 : 0, $told,
            sprintf 'user %d names a file of root\'s that has mode %o: it is %s', $user, $mode, $told ? 'looked at' : 'not read';
    }
    # What takes no library from him who starts it may take one from us.
    my $file = "$dir/setuid";
    system 'cp', "$B/prog/starts", $file;
    chmod 04755, $file;
    for ([0, 0], [$nobody, 1]) {
        my ($user, $told) = @$_;
        unlink $log;
        waitpid started($log, $^X, '-e', $run, $user, "$dir/starts", 'execve', $file, 0), 0;
        is slurp("$log.err") =~ /^eventrec: not seen: \Q$file\E: set-user-id: it takes no library from the environment$/m ? 1 : 0, $told,
            "user $user starts a program that becomes root: it is " . ($told ? '' : 'not ') . 'named for that';
    }
}

# A program that gives up its rights (u), its root folder (c), its mounts (m), or all of them, and counts what it emits before and
# after; then its child does the same; eventrec lives, or is killed before that or after it.
# dropped($policy, $how, $child, $when, $events, @options) -- how many events were emitted, the numbers of those in the log, how
# many are told as discarded, what --check says, and its status
our $descriptors = 1024; # that it may have
sub dropped {
    my ($policy, $how, $child, $when, $events, @options) = @_;
    my $log = "$dir/drops/" . join('', @_[0 .. 3]) . '.paw';
    my $folder = $how =~ /c/ ? "$dir/jail" : "$dir/drops";
    mkdir "$dir/drops";
    unlink $log, "$log.err";
    open my $err, '>&', \*STDERR;
    open STDERR, '>', "$log.err";
    my $pid = open2(my $out, my $in, "$B/bin/eventrec", '-k', 'User', '-p', $policy, @options, '-o', $log, '--', 'sh', '-c',
                    "ulimit -n $descriptors; exec $B/prog/drops $how $child $events $folder");
    open STDERR, '>&', $err;
    my $emitted = <$out> // '';
    my $step = sub { print $in "\n"; my $line = <$out>; $emitted = $line if defined $line };
    my ($program) = slurp("/proc/$pid/task/$pid/children") =~ /(\d+)/;
    my $kill = sub { kill KILL => $pid; waitpid $pid, 0 };

    $step->();
    $kill->() if $when eq 'before';
    $step->();
    $kill->() if $when eq 'after';
    $step->();
    $step->() if $child =~ /exit|kill/;
    close $in;
    waitpid $pid, 0 if $when eq 'lives';
    until_(sub { !defined readlink "/proc/$program/exe" });
    until_(sub { `$B/bin/eventcnv -n 1 $log 2>&1` !~ /still running/ });
    my $said = `$B/bin/eventcnv --check $log 2>&1`;
    my $status = $? >> 8;
    my ($told) = $said =~ /(\d+) events? (?:was|were) discarded/;
    my @there = `$B/bin/eventcnv -E UserWord $log 2>/dev/null` =~ / value=(\d+)$/mg;
    return ($emitted + 0, \@there, $told // 0, $said, $status);
}

SKIP: {
    skip 'no file system can be mounted here', 1 if system('unshare', '-m', 'sh', '-c', 'mount -t tmpfs none /dev/shm 2>/dev/null') != 0;
    for my $policy (qw(discard block stop overwrite)) {
        for my $how (qw(u c m ucm)) {
            for my $child (qw(exit self kill)) {
                for my $when (qw(lives before after)) {
                    my $what = "$policy, $how, $child, $when";
                    my ($emitted, $there, $told, $said, $status) = dropped($policy, $how, $child, $when, 5000);
                    if ($child eq 'kill' && $when ne 'lives') {
                        # It has memory where it may: its own user's, which is not believed, or none that outlives it.
                        cmp_ok scalar(@$there), '>=', $emitted - 5000, "$what: what others have emitted is there";
                        like "$status $said", qr/^1 .*process \d+/, "$what: that what it had last may be missing is told";
                        next if $how ne 'u';
                        my ($theirs) = $said =~ m{may be in (/dev/shm/pawprint-\S+), which is not read: it belongs to user $nobody$}m;
                        ok defined $theirs, "$what: and where it is, and whose" or diag $said;
                        my $log = "$dir/drops/$policy$how$child$when.paw";
                        system 'chown', '-h', '0', $theirs, "$theirs.log";
                        is join(' ', scalar(() = `$B/bin/eventcnv -E UserWord $log 2>/dev/null` =~ /\n/g), `$B/bin/eventcnv --check $log 2>&1` && $?),
                            "$emitted 0", "$what: with that nothing is missing";
                        next;
                    }
                    is @$there + $told, $emitted, "$what: what is there and what is told are what was emitted" or diag $said;
                    is $status, @$there < $emitted ? 1 : 0, "$what: and --check knows whether it is all" or diag $said;
                    is scalar(@$there), $emitted, "$what: which it is";
                }
            }
            # It may keep no descriptor, so when eventrec is dead there is no way to the log; and memory has no name that is seen from
            # outside, or none at all.  Its own is there already, and counts what its child loses.
            for my $row ($how eq 'u' ? () : (['exit', 'before'], ['kill', 'after'])) {
                my $what = "$policy, $how, $$row[0], $$row[1], with few descriptors";
                local $descriptors = 40;
                my ($emitted, $there, $told, $said, $status) = dropped($policy, $how, @$row, 5000);
                is join(' ', scalar(@$there), $told, $status), join(' ', $emitted - 5000, 5000, 1), "$what: what the child loses is told" or diag $said;
            }
            # Faster than eventrec, and with little memory.
            for my $when ($how eq 'c' || $how eq 'm' ? () : qw(lives before after)) {
                my $what = "$policy, $how, little memory, $when";
                my ($emitted, $there, $told, $said, $status) = dropped($policy, $how, 'self', $when, 100_000, '-n', 8, '-b', '4K');
                my $has = @$there;
                if ($policy eq 'overwrite') {
                    is "@$there[0, -1] $has", join(' ', $emitted - $has + 1, $emitted, $has), "$what: the newest are there, without a hole";
                    is "$told $status", '0 0', "$what: and nothing is discarded" or diag $said;
                } elsif ($policy eq 'stop' && $has < $emitted) {
                    is "@$there[0, -1] $told $status", "1 $has 1 1", "$what: all are there until the first that found no room" or diag $said;
                } else {
                    is $has + $told, $emitted, "$what: what is there and what is told are what was emitted" or diag $said;
                    is $status, $has < $emitted ? 1 : 0, "$what: and --check knows whether it is all" or diag $said;
                    is $has, $emitted, "$what: which it is" if $policy eq 'block';
                }
            }
        }
    }
}

# The folder of a file that is going to be removed is swapped for a link to another one at the last moment.
SKIP: {
    my @strace = ('strace', '-f', '-o', '/dev/null', '-e', 'inject=unlink,unlinkat:delay_enter=2000000:when=1');
    skip 'strace is not to be had here, or another processor', 9 if `uname -m` !~ /^x86_64/ || system("@strace true 2>/dev/null") != 0;
    spew("$dir/script", "#!$dir/nothing\n");
    chmod 0755, "$dir/script";
    for my $case (['a listener', ['--listen', "unix:$dir/swapped/file", '-o', "$dir/received"], 'INT'],
                  ['--force', ['--force', '-o', "$dir/swapped/file", '--', 'true']],
                  ['a program that does not start', ['-o', "$dir/swapped/file", '--', "$dir/script"]]) {
        my ($what, $command, $signal) = @$case;
        system 'rm', '-rf', map { "$dir/$_" } 'swapped', 'before', 'others';
        mkdir "$dir/$_" for 'swapped', 'others';
        spew("$dir/$_/file", 'theirs') for 'others', $what eq '--force' ? 'swapped' : ();
        my $pid = fork // die "fork: $!";
        if ($pid == 0) {
            open STDERR, '>', "$dir/swapped.err";
            { no warnings; exec @strace, "$B/bin/eventrec", @$command }
            exit 99;
        }
        my @traced;
        my $ends = sub { @traced = slurp("/proc/$pid/task/$pid/children") =~ /(\d+)/g; return waitpid($pid, 1) == $pid };
        until_(sub { $ends->() || slurp("$dir/swapped.err") =~ /listens on/ && kill $signal => @traced }) if $signal;
        my $removes;
        until_(sub { my $over = $ends->(); $removes = grep { slurp("/proc/$_/syscall") =~ /^(?:87|263) / } @traced; $removes || $over });
        ok $removes, "$what: is about to remove a file";
        rename "$dir/swapped", "$dir/before";
        symlink 'others', "$dir/swapped";
        waitpid $pid, 0;
        is slurp("$dir/others/file"), 'theirs', 'which is not the one of another folder, that has its name now';
        isnt slurp("$dir/before/file"), 'theirs', 'but its own';
    }
}

# The log of a program that does not start is removed; what has its name by then is not.
SKIP: {
    my @strace = ('strace', '-f', '-o', '/dev/null', '-e', 'inject=sendto:delay_enter=2000000:when=1');
    skip 'strace is not to be had here', 6 if system("@strace true 2>/dev/null") != 0;
    spew("$dir/script", "#!$dir/nothing\n");
    chmod 0755, "$dir/script";
    for my $what ('nothing', 'a file', 'a link') {
        system 'rm', '-rf', map { "$dir/$_" } 'unstarted.paw', 'unstarted.was', 'others';
        spew("$dir/others", 'theirs');
        my $pid = fork // die "fork: $!";
        if ($pid == 0) {
            open STDERR, '>', "$dir/unstarted.err";
            { no warnings; exec @strace, "$B/bin/eventrec", '-o', "$dir/unstarted.paw", '--', "$dir/script" }
            exit 99;
        }
        until_(sub { -e "$dir/unstarted.paw" || waitpid($pid, 1) == $pid });
        if ($what ne 'nothing') {
            rename "$dir/unstarted.paw", "$dir/unstarted.was";
            $what eq 'a file' ? rename "$dir/others", "$dir/unstarted.paw" : link "$dir/others", "$dir/unstarted.paw";
        }
        waitpid $pid, 0;
        like slurp("$dir/unstarted.err"), qr/its interpreter, \S+, is missing/, "$what instead of the log of a program that does not start";
        is -e "$dir/unstarted.paw" ? slurp("$dir/unstarted.paw") : 'nothing', $what eq 'nothing' ? $what : 'theirs', 'that is there in the end';
    }
}

done_testing();
