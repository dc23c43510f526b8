#!/usr/bin/env perl
# eventctl.t -- a running program, looked into and switched from outside
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
no warnings "portable";
use Cwd qw(abs_path);
use lib 'test/lib';
use File::Temp qw(tempdir);
use IO::Socket::UNIX;
use IPC::Open2;
use POSIX ();
use Socket qw(SOCK_STREAM pack_sockaddr_un);
use EndToEnd qw(run slurp);
use Test::More;
use Time::HiRes qw(sleep time);

my $B = abs_path($ENV{B} // 'build/cool');
my ($ctl, $cnv) = ("$B/bin/eventctl", "$B/bin/eventcnv");
my $dir = tempdir(CLEANUP => 1);
my @Kinds = map { /^KIND\((\w+)/ ? $1 : () } split /\n/, slurp('code/eventdef.h');
my @started;

my $seed = $ENV{SEED} // time;
plan skip_all => 'no telemetry in this variety' if ($ENV{VARIETY} // '') eq 'rash';
srand $seed;
diag "SEED=$seed";

# start(%environment) -- a program that emits what it is asked for: {pid, say($n)}
sub start {
    my (%environment) = @_;
    my ($out, $in);

    delete local @ENV{grep { /^PAWPRINT/ } keys %ENV};
    local @ENV{keys %environment} = values %environment;
    my $pid = open2($out, $in, $ENV{PROGRAM} // "$B/prog/steady", 200);
    push @started, $pid;
    return {pid => $pid, say => sub { print $in "$_[0]\n"; $in->flush; return $_[0] ? <$out> + 0 : 0 }, end => sub { close $in; waitpid $pid, 0 }};
}

END { kill 'KILL', grep { $_ } @started; unlink map { glob "/dev/shm/pawprint-*-$_-*" } @started }

# What a file says that may be gone at any time.
sub told { open my $in, '<:raw', $_[0] or return ''; local $/; return scalar(<$in>) // '' }

# The table of kinds: name => [sent, buffered], and what else there is.
sub table {
    my ($pid) = @_;
    my ($status, $out, $err) = run($ctl, $pid);
    my %kinds;

    $out =~ s/^(\w+) +(yes|no) +(yes|no)$/$kinds{$1} = [$2, $3]; ''/emg;
    return $status ? {status => $status, said => $err} : {kinds => \%kinds, rest => $out};
}
sub sent { my $table = table($_[0]); return join ' ', grep { ($table->{kinds}{$_} // ['?'])->[0] eq 'yes' } @Kinds }
sub logged { return () unless -s $_[0]; return run($cnv, '-E', 'UserWord', $_[0]) }
sub values_of { return map { / UserWord id=\d+ value=(\d+)$/ ? $1 : () } split /\n/, $_[0] }

# The command line.
for (['no number', ['x'], qr/'x' is no number of a process/, 2],
     ['nobody', [4194304 - 1], qr/^eventctl: there is no process 4194303$/m, 1],
     ['--buffered for a command', ['-b', $$, 'flush'], qr/--buffered is for a list of kinds, not for flush/, 2],
     ['--buffered alone', ['-b', $$], qr/--buffered is for a list/, 2],
     ['traceback of what is none', [$$, 'traceback', '--address', '0x1'], qr/traceback: no option is called --address$/m, 2],
     ['traceback of no address', [$$, 'traceback', '--addr', '0x'], qr/traceback: --addr wants an address, as 0x/, 2],
     ['traceback of nothing', [$$, 'traceback', 7, '--addr'], qr/traceback: --addr wants an address, as 0x/, 2],
     ['traceback of one address and more', [$$, 'traceback', 7, '--addr', '0x1', 8], qr/'8' is one word too many/, 2],
     ['traceback of so many', [$$, 'traceback', 'all'], qr/traceback: 'all' is no number$/m, 2],
     ['too much for traceback', [$$, 'traceback', 7, 8], qr/'8' is one word too many/, 2],
     ['too much', [$$, 'start', 'now'], qr/'now' is one word too many/, 2],
     ['not recorded', [$$], qr/^eventctl: process $$ is not recorded, and has not allowed control/, 1]) {
    my ($name, $words, $message, $wanted) = @$_;
    my ($status, undef, $err) = run($ctl, @$words);
    is $status, $wanted, "$name: status $wanted";
    like $err, $message, "$name: and says so";
}

# A program that records.
my $log = "$dir/run.paw";
my $program = start(PAWPRINT_LOG => $log, PAWPRINT_KINDS => 'User,Pool,Arena');
my $pid = $program->{pid};
is $program->{say}->(100), 100, 'a program runs';
my $table = table($pid);
is_deeply [sort keys %{$table->{kinds}}], [sort @Kinds], 'all kinds are there';
is_deeply [@{$table->{kinds}}{qw(User Object)}], [['yes', 'yes'], ['no', 'no']], 'and whether each is sent and buffered';
like $table->{rest}, qr/^process $pid steady, by itself, into \Q$log\E$/m, 'who, and where to';
{
    my ($status, $out) = run($ctl);
    is $status, 0, 'without a number: a list';
    like $out, qr/^$pid +steady, by itself, into \Q$log\E$/m, 'which has it';
    unlike $out, qr/^$$ /m, 'and not us, who are not recorded';
    is((run($ctl, '-b'))[0], 2, '--buffered is not for it');
}
{
    # By a link: the name that it was started by, in both places.
    symlink "$B/prog/steady", "$dir/linked" or die;
    local $ENV{PROGRAM} = "$dir/linked";
    my $linked = start(PAWPRINT_LOG => "$dir/linked.paw");
    $linked->{say}->(1);
    like table($linked->{pid})->{rest}, qr/^process $linked->{pid} linked, by itself/m, 'started by a link: it is called so,';
    like +(run($ctl))[1], qr/^$linked->{pid} +linked, by itself/m, 'and in the list';
    $linked->{end}->();
}
like $table->{rest}, qr/^policy discard: 0 of \d+ blocks? full, 0 events discarded$/m, 'policy, blocks, discarded';

# Nothing is in the log yet but what fills a block; a flush puts it there, though the program sleeps.
my ($status, $out, $err) = run($ctl, $pid, 'flush');
is "$status:$err", '0:', 'flush';
($status, $out) = logged($log);
is_deeply [values_of($out)], [1 .. 100], 'a program that sleeps is flushed';
run($ctl, $pid, 'flush') for 1 .. 3;
is $program->{say}->(50), 150, 'it goes on';
($status, $out) = logged($log);
my @values = values_of($out);
is_deeply [@values[0 .. 99]], [1 .. 100], 'what was flushed several times is there once';
run($ctl, $pid, 'flush');
($status, $out) = logged($log);
is_deeply [values_of($out)], [1 .. 150], 'and what came later';

# Switching.
is join(' ', (run($ctl, $pid, '-User'))[0, 2]), '0 ', '-User';
is sent($pid), 'Arena Pool', 'is not sent any more';
$program->{say}->(10);
run($ctl, $pid, '+User', '-Arena');
is sent($pid), 'Pool User', '+User -Arena';
$program->{say}->(10);
run($ctl, $pid, 'flush');
$program->{say}->(1);
($status, $out) = logged($log);
my %seen = map { $_ => 1 } values_of($out);
is_deeply [grep { !$seen{$_} } 161 .. 170], [], 'what was emitted afterwards is sent';
is_deeply [grep { !$seen{$_} } 1 .. 170], [], 'and the flight recorder is, too, with the next event';
run($ctl, $pid, 'Seg,Trace');
is sent($pid), 'Trace Seg', 'a list without signs: only these';
run($ctl, $pid, 'stop');
is sent($pid), '', 'stop';
run($ctl, $pid, 'start');
is sent($pid), 'Arena Pool User', 'start: the kinds that were chosen at first';
run($ctl, '-b', $pid, '+Ref');
is_deeply table($pid)->{kinds}{Ref}, ['no', 'yes'], '-b changes what is buffered';
($status, undef, $err) = run($ctl, $pid, '+Objects');
is $status, 2, 'a misspelt kind';
like $err, qr/Objects.*\bArena\b.*\bObject\b/, 'is an error that lists the kinds';
(undef, undef, $err) = run($ctl, $pid, 'strat');
like $err, qr/no kind is called 'strat'; .*; commands are start, stop, flush and traceback$/m, 'or command';
is sent($pid), 'Arena Pool User', 'and changes nothing';

# The newest events.
$program->{say}->(20);
($status, $out, $err) = run($ctl, $pid, 'traceback', 5);
is "$status:$err", '0:', 'traceback';
# The last was a thread's that has ended: it is in the log.
is_deeply [values_of($out)], [186 .. 190], 'the newest five of a kind' or diag $out;
like $out, qr/^\d+\.\d{9} $pid\/\d+ \w+( \w+=\S+)+$/m, 'as eventcnv prints them';
is scalar(grep { !/^\d+\.\d{9} $pid\/\d+ / } split /\n/, $out), 0, 'and nothing else';
($status, undef, $err) = run($ctl, $pid, 'traceback', 'x');
is $status, 2, 'traceback x';

# What became of an object.
SKIP: {
    skip 'no events per object in this variety, or no perl under a sanitizer', 3
        if ($ENV{VARIETY} // 'cool') ne 'cool' || $ENV{SAN};
    my $pid = open2(my $out, my $in, "$B/bin/eventrec", '-o', "$dir/objects.paw", '--', $^X, '-e',
        '$| = 1; my @list; push @list, [1 .. 5] for 1 .. 100; splice @list, 50; print "$$\n"; <STDIN>');
    push @started, my $perl = <$out> + 0;
    my $all = (run($ctl, $perl, 'traceback', 500))[1];
    my ($freed) = $all =~ /.* PoolFree pool=\S+ addr=(\S+)/;
    my ($status, $its, $err) = run($ctl, $perl, 'traceback', 500, '--addr', $freed);
    is "$status:$err", '0:', 'traceback --addr';
    is $its, join('', grep { /=\Q$freed\E\b/ } split /^/, $all), 'the events with this address, and no others';
    my ($number) = (run($ctl, $perl, 'traceback', '--addr', hex $freed))[1];
    is $number, $its, 'an address may be decimal';
    ($status, $its, $err) = run($ctl, $perl, 'traceback', '--addr', '0x3');
    is "$status:$its:$err", "0::eventctl: process $perl has no event of this address in its memory, or none any more\n",
        'where there is none that is said';
    close $in;
    waitpid $pid, 0;
}

# While it is busy: what is switched off ends within a moment, and is not there afterwards.
$program->{say}->(0);
my $began = time;
run($ctl, $pid, 'stop') , run($ctl, $pid, 'start') for 1 .. 20;
note sprintf '%.1f ms for each eventctl, start of the process included', (time - $began) * 1000 / 40;
is sent($pid), 'Arena Pool User', 'switched twenty times while it emits';
run($ctl, $pid, 'traceback', 100) for 1 .. 5;
($status, $out, $err) = run($ctl, $pid, 'traceback', 50);
@values = values_of($out);
ok @values > 0 && @values <= 50, 'traceback of a program that emits meanwhile';
is_deeply [@values], [$values[0] .. $values[0] + $#values], 'with nothing torn or left out';
run($ctl, $pid, 'flush');
kill 'KILL', $pid;
waitpid $pid, 0;
($status, $out, $err) = run($cnv, '--check', $log);
is $status, 0, 'after all that, and its death, the log is whole' or diag $err;
($status, $out) = logged($log);
my %times;
++$times{$_} for values_of($out);
is_deeply [grep { $times{$_} > 1 } keys %times], [], 'and has no event twice';
is table($pid)->{said}, "eventctl: there is no process $pid\n", 'it is gone';

# A program that only allows it: nothing is written anywhere, and the flight recorder can be seen.
$program = start(PAWPRINT_CONTROL => 1);
$pid = $program->{pid};
$program->{say}->(30);
$table = table($pid);
like $table->{rest} // $table->{said}, qr/^process $pid steady, by itself$/m, 'a program without a log, that allows it';
is_deeply $table->{kinds}{User}, ['no', 'yes'], 'sends nothing';
($status, $out) = run($ctl, $pid, 'traceback', 4);
is_deeply [values_of($out)], [27 .. 30], 'its flight recorder is seen from outside' or diag $out;
$program->{end}->();

# Under a collector.
SKIP: {
    skip 'a sanitizer has its own malloc', 14 if $ENV{SAN};
    my ($out, $in);
    my $file = "$dir/collected.paw";
    my $rec = open2($out, $in, 'sh', '-c', "exec $B/bin/eventrec --paused -n 3 -o $file -- $B/prog/steady 200 2>$dir/said");
    push @started, $rec;
    my $say = sub { print $in "$_[0]\n"; $in->flush; return <$out> + 0 };
    is $say->(10), 10, 'a program under eventrec --paused';
    ($pid) = map { m{/(\d+)/} } grep { told($_) =~ m{^[^\0]*prog/steady\0} && told(s/cmdline/status/r) =~ /^PPid:\s+$rec$/m } glob '/proc/[0-9]*/cmdline';
    like table($pid)->{rest}, qr/^process $pid steady, collected, into \Q$file\E$/m, 'is collected';
    is sent($pid), '', 'and nothing is sent';
    like table($rec)->{said}, qr/^eventctl: process $rec is not recorded itself: it has the events of process $pid$/, 'eventrec is not taken for it';
    ($status, my $newest, $err) = run($ctl, $pid, "traceback", 3);
    is_deeply [values_of($newest)], [8 .. 10], 'what is kept can be seen' or diag $newest;
    run($ctl, $pid, 'start');
    ok sent($pid) =~ /Pool.*User/, 'started';
    is $say->(20), 30, 'it goes on';
    my $began = time;
    ($status, undef, $err) = run($ctl, $pid, 'flush');
    is "$status:$err", '0:', 'flush, by the collector';
    note sprintf '%.1f ms for a flush', (time - $began) * 1000;
    ($status, my $lines) = run($cnv, $file);
    is_deeply [grep { $_ > 10 } values_of($lines)], [11 .. 30], 'everything is in the log when it returns';
    like $lines, qr/ StateEnd /, 'where the process first told what already was';

    # The collector stands still: what finds no room is counted, here and there.
    kill 'STOP', $rec;
    is $say->(100000), 100030, 'a collector that stands still holds nobody up';
    my ($full, $limit, $lost) = table($pid)->{rest} =~ /^policy discard: (\d+) of (\d+) blocks? full, (\d+) events? discarded$/m;
    # A thread that ends hands over its last block in any case.
    ok $full >= 3 && $limit == 3, 'the buffers are full';
    cmp_ok $lost, '>', 50000, 'and events are discarded';
    kill 'CONT', $rec;
    close $in;
    waitpid $rec, 0;
    my ($n, $discarded) = slurp("$dir/said") =~ /^eventrec: (\d+) events \((\d+) discarded\)/m;
    is $discarded, $lost, 'as many as eventrec says';
    ($status, $lines) = run($cnv, $file);
    my @there = grep { $_ > 30 } values_of($lines);
    is @there + $discarded, 100000, 'and as are missing in the log';
}

# In a container: numbers of its own, and a /dev/shm of its own, or none that can be used.
SKIP: {
    skip 'no namespaces for us here', 8 if system('unshare -mpf --mount-proc true 2>/dev/null') != 0;
    for my $how (['a /dev/shm of its own', 'mount -t tmpfs none /dev/shm'], ['no /dev/shm', 'mount -t tmpfs -o ro none /dev/shm']) {
        my ($name, $mount) = @$how;
        local $ENV{PAWPRINT_CONTROL} = 1;
        local @ENV{qw(PAWPRINT_LOG PAWPRINT_KINDS)} = ('', 'all');
        my ($out, $in);
        my $outer = open2($out, $in, 'unshare', '-mpf', '--mount-proc', 'sh', '-c', "$mount && exec $B/prog/steady");
        push @started, $outer;
        print $in "20\n";
        $in->flush;
        my $said = <$out> // '';
        my ($inner) = map { m{/(\d+)/} } grep { told($_) =~ /^PPid:\s+$outer$/m } glob '/proc/[0-9]*/status';
        SKIP: {
            skip 'it does not start', 4 unless $said eq "20\n" && $inner;
            my $table = table($inner);
            like $table->{rest} // $table->{said}, qr/^process $inner steady, by itself$/m, "$name: found by its number outside";
            run($ctl, $inner, '+Ref');
            is sent($inner), 'Ref', "$name: switched";
            my ($status, $newest) = run($ctl, $inner, 'traceback', 3);
            is_deeply [values_of($newest)], [18 .. 20], "$name: its newest events" or diag $newest;
        }
        close $in;
        waitpid $outer, 0;
    }
}

# Another user's.
SKIP: {
    skip 'only root can be somebody else', 2 if $> != 0;
    my $nobody = getpwnam 'nobody';
    skip 'there is no user nobody', 2 unless $nobody;
    $program = start(PAWPRINT_LOG => "$dir/other.paw");
    chmod 0755, $dir;
    my $reader = open my $from, '-|';
    if (!$reader) {
        open STDERR, '>&', \*STDOUT;
        POSIX::setuid($nobody);
        exec $ctl, $program->{pid}, 'stop' or POSIX::_exit(127);
    }
    my $said = do { local $/; <$from> };
    close $from;
    SKIP: {
        skip 'nobody cannot run what is built here', 2 if ($? >> 8) == 127;
        is $? >> 8, 1, 'another user is refused';
        like $said, qr/^eventctl: process $program->{pid} .*another user's/, 'and told why';
    }
    $program->{end}->();
}

# Who runs a program that may not be read cannot look into it either: it is no other user's, and is not recorded.
SKIP: {
    my $nobody = $> == 0 ? getpwnam 'nobody' : $>;
    my ($sleep) = grep { -x } map { "$_/sleep" } split /:/, $ENV{PATH};
    skip 'no user nobody, or no sleep', 3 unless $nobody && defined $sleep;
    chmod 0755, $dir;
    system('cp', '-L', $sleep, "$dir/closed") == 0 && chmod(0111, "$dir/closed") or die;
    my $as = sub {
        my (@command) = @_;
        my $pid = open my $from, '-|';
        if (!$pid) {
            open STDERR, '>&', \*STDOUT;
            POSIX::setuid($nobody) if $> == 0;
            exec @command or POSIX::_exit(127);
        }
        return ($pid, $from);
    };
    my ($pid, $held) = $as->("$dir/closed", 60);
    sleep 0.01 while kill(0, $pid) && slurp("/proc/$pid/comm") ne "closed\n";
    my (undef, $from) = $as->($ctl, $pid);
    my $said = do { local $/; <$from> } // '';
    close $from;
    my $status = $? >> 8;
    kill 'KILL', $pid;
    close $held;
    skip 'nobody cannot run what is built here', 3 if $status == 127;
    is $status, 1, 'a process that cannot be looked into';
    like $said, qr/^eventctl: process $pid is not recorded, as far as can be seen: /, 'is said not to be recorded, as far as that can be known';
    unlike $said, qr/another user/, 'and not to be another user\'s';
}

# Root reaches processes of all users, but no log that their memory leads to; nor does it believe a third user.
SKIP: {
    skip 'only root reaches others', 9 if $> != 0;
    my $user = 65534;
    my $others = tempdir(CLEANUP => 1);
    chown $user, -1, $others;
    chmod 0755, $dir;
    my $as = 'require POSIX; POSIX::setgid($ARGV[0]); POSIX::setuid(shift); exec @ARGV';
    my $theirs = "$others/theirs.paw";
    my $start = sub {
        local $ENV{PAWPRINT_LOG} = $_[0];
        my $pid = open2(my $out, my $in, $^X, '-e', $as, $user, "$B/prog/steady", 200);
        push @started, $pid;
        print $in "50\n";
        $in->flush;
        return ($pid, $in, scalar <$out>);
    };
    my ($pid, $in, $said) = $start->($theirs);
    skip 'nobody cannot run what is built here', 9 if !defined $said;
    my ($region) = grep { !/log$/ } glob "/dev/shm/pawprint-*-$pid-*";
    skip 'the region is not in /dev/shm', 9 if !defined $region;
    my $table = table($pid);
    like $table->{rest} // $table->{said}, qr/^process $pid steady, by itself, into \Q$theirs\E$/m, 'root reaches a process of another user';
    like +(run($ctl))[1], qr/^$pid +steady, by itself, into \Q$theirs\E$/m, 'and has it in its list';
    run($ctl, $pid, 'stop');
    is sent($pid), '', 'and switches it';

    # Its user says that it is for a log of root's, and of that one's recording.
    my $log = "$dir/roots.paw";
    my $roots = start(PAWPRINT_LOG => $log);
    $roots->{say}->(100);
    run($ctl, $roots->{pid}, 'flush');
    my $size = -s $log;
    ok $size, 'root has a log';
    my ($recording) = map { m{/pawprint-(\w+)-} } grep { !/log$/ } glob "/dev/shm/pawprint-*-$roots->{pid}-*";
    my $lie = "/dev/shm/pawprint-$recording-$pid-0";
    rename $region, $lie;
    unlink "$region.log", "$lie.log";
    symlink $log, "$lie.log";
    system 'chown', '-h', $user, "$lie.log";
    my ($status, undef, $err) = run($ctl, $pid, 'flush');
    is -s $log, $size, 'what another user\'s memory says of its log is not believed';
    like $err, qr/^eventctl: process $pid: its memory is another user's, .*; the program was asked, and will flush/, 'which is told';
    $roots->{end}->();

    chown 12345, -1, $lie;
    is table($pid)->{said}, "eventctl: process $pid: its memory for events is another user's\n", 'nor is memory of a third user believed';
    unlike +(run($ctl))[1], qr/^$pid /m, 'nor listed';
    close $in;
    waitpid $pid, 0;
    unlink $lie, "$lie.log";

    # It has changed its user, and its memory is root's.
    skip 'a sanitizer has its own malloc', 1 if $ENV{SAN};
    my $rec = open2(my $out, $in, 'sh', '-c', 'exec "$@" 2>"$0"', "$dir/said", "$B/bin/eventrec", '-o', "$dir/changed.paw", '--', $^X, '-e',
                    'require POSIX; POSIX::setuid(shift); $| = 1; print "$$\n"; <STDIN>', $user);
    $pid = <$out> + 0;
    like +(run($ctl))[1], qr/^$pid .*, collected, into \Q$dir\E\/changed\.paw$/m, 'it is listed';
    close $in;
    waitpid $rec, 0;
}

# A region that is none.
SKIP: {
    $program = start(PAWPRINT_LOG => "$dir/cut.paw");
    $pid = $program->{pid};
    $program->{say}->(10);
    my ($region) = glob "/dev/shm/pawprint-*-$pid-*[0-9]";
    skip 'the region is not in /dev/shm', 2 unless $region && -e $region;
    kill 'STOP', $pid;
    open my $file, '+<:raw', $region or die;
    seek $file, 0, 0;
    print $file 'x' x 8;
    close $file;
    ($status, undef, $err) = run($ctl, $pid);
    is $status, 1, 'a region that is none';
    like $err, qr/^eventctl: process $pid: its memory for events cannot be opened/, 'is not believed';
    kill 'KILL', $pid;
    unlink $region, "$region.log";
}
# One that is cut short, and made long again, while all are listed: the others are listed, and this one now and then.
SKIP: {
    $program = start(PAWPRINT_LOG => "$dir/wavers.paw");
    $pid = $program->{pid};
    $program->{say}->(10);
    my ($region) = glob "/dev/shm/pawprint-*-$pid-*[0-9]";
    skip 'the region is not in /dev/shm', 1 unless $region && -e $region;
    kill 'STOP', $pid;
    my $size = -s $region;
    my $wavers = fork // die "fork: $!";
    if ($wavers == 0) {
        open my $file, '+<:raw', $region or POSIX::_exit(1);
        for (1 .. 1000000) { truncate $file, 4096; truncate $file, $size }
        POSIX::_exit(0);
    }
    my %status;
    local $ENV{ASAN_OPTIONS} = join ':', $ENV{ASAN_OPTIONS} // (), 'detect_leaks=0'; # what is left of one that is skipped stays
    for (1 .. 100) { ++$status{(run($ctl))[0]} }
    kill 'KILL', $wavers, $pid;
    waitpid $wavers, 0;
    is_deeply [keys %status], [0], 'one that cuts its memory short does not end the list';
    unlink $region, "$region.log";
}

# Whatever stands in a region: an answer, and no harm.  The process stands still, so that what is spoilt stays so.
SKIP: {
    $program = start(PAWPRINT_LOG => "$dir/spoilt.paw");
    $pid = $program->{pid};
    $program->{say}->(100);
    my ($region) = glob "/dev/shm/pawprint-*-$pid-*[0-9]";
    skip 'the region is not in /dev/shm', 1 unless $region && -e $region;
    kill 'STOP', $pid;
    open my $file, '+<:raw', $region or die;
    my ($bad, @kept) = (0);
    my $round = 0;
    for (1 .. 40) {
        ++$round;
        for (1 .. 30) {
            my $at = int((rand 3) < 1 ? rand 1400 : (rand 2) < 1 ? 131072 + rand 2 * 262144 : (1 << 20) + 131072 * (1 + int rand 4) - rand 32768);
            seek $file, $at, 0;
            read $file, my $byte, 1;
            push @kept, [$at, $byte];
            seek $file, $at, 0;
            print $file chr rand 256;
        }
        $file->flush;
        for my $words ([], ['traceback', 1000]) {
            my ($status, undef, $err) = run('timeout', 20, $ctl, $pid, @$words);
            ++$bad, diag "round $round @$words: status $status, $err" if $status != 0 && $status != 1;
        }
        for (reverse splice @kept) {
            seek $file, $_->[0], 0;
            print $file $_->[1];
        }
        $file->flush;
    }
    is $bad, 0, 'forty spoilt regions';
    is table($pid)->{status}, undef, 'and it is as before';
    kill 'KILL', $pid;
    unlink $region, "$region.log";
}
# What has a region's name, and is none, is not opened for writing, whoever has mapped it.
SKIP: {
    skip 'no strace, or another processor', 2 unless `uname -m` =~ /^x86_64/ && system('strace -o /dev/null true 2>/dev/null') == 0;
    my $file = "$dir/pawprint-00000000000000aa-1-0";
    open my $out, '>', $file or die;
    print $out 'x' x 8192;
    close $out;
    my $pid = open my $in, '-|', $^X, '-e', 'open my $in, "<", $ARGV[0]; syscall(9, 0, 4096, 1, 1, fileno $in, 0) > 0 and $| = print "mapped\n"; sleep 60', $file;
    push @started, $pid;
    is <$in>, "mapped\n", 'somebody has mapped a file';
    system "strace -f -e trace=open,openat -o $dir/calls $ctl $pid 2>$dir/said";
    my @calls = grep { m{"/proc/self/fd/} } split /\n/, told("$dir/calls");
    is join(' ', sort keys %{{map { /\b(O_RD\w+)/ ? ($1 => 1) : () } @calls}}), 'O_RDONLY', 'which is called as a region: it is only read' or diag @calls;
    kill KILL => $pid;
}

# Whoever listens at a socket may take nothing, or answer with a byte now and then: neither is waited for without end.
for my $takes (0, 1) {
    my $path = "$dir/deaf$takes";
    my $socket = IO::Socket::UNIX->new(Local => $path, Listen => 1) or die "$path: $!\n";
    my @queued = $takes ? () : map { my $s = IO::Socket::UNIX->new(Type => SOCK_STREAM); $s->blocking(0); connect $s, pack_sockaddr_un($path); $s } 1 .. 4;
    my $pid = $takes ? fork // die : 0;
    if ($takes && $pid == 0) {
        my $it = $socket->accept;
        $SIG{PIPE} = 'DEFAULT';
        for (1 .. 60) { syswrite $it, '1'; sleep 1 }
        POSIX::_exit(0);
    }
    my ($status, undef, $err) = run('timeout', '-s', 'KILL', 30, "$B/bin/eventctl", "unix:$path", 'flush');
    is $status, 1, $takes ? 'a listener that answers with a byte now and then: it is given up' : 'a listener that takes nobody: it is given up' or diag $err;
    like $err, qr/does not answer/, 'and that is said';
    kill KILL => $pid if $pid;
    waitpid $pid, 0 if $pid;
}

done_testing;
