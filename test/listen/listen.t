#!/usr/bin/perl
# listen.t -- eventrec --to and --listen: logs over sockets, whatever happens to either end
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp until_);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use IO::Handle;
use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use IPC::Open2;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

my $B = abs_path($ENV{B} // 'build/cool');
-x "$B/bin/eventrec" or BAIL_OUT("eventrec is not built in $B");
plan skip_all => 'there is no telemetry in rash' if ($ENV{VARIETY} // 'cool') eq 'rash';
my $folder = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);
chdir $folder or die;
my @pids;
my $listeners = 0;
$SIG{PIPE} = 'IGNORE';
END { kill 'KILL', @pids if @pids }

# A listener: its process, its standard error, where it listens.
sub listener {
    my ($where, @options) = @_;
    my $err = 'err.' . ++$listeners;
    my $pid = fork // die;
    if ($pid == 0) {
        open STDERR, '>', $err or die;
        exec "$B/bin/eventrec", '--listen', $where, @options or die;
    }
    push @pids, $pid;
    my $its = {pid => $pid, err => $err};
    until_(sub { slurp($err) =~ /listens on (\S+)\n/ && ($its->{where} = $1) || waitpid($pid, POSIX::WNOHANG()) == $pid });
    return $its;
}

# The end of a listener: its status, what it said.
sub finish {
    my ($its, $signal) = @_;
    kill $signal // 'TERM', $its->{pid};
    waitpid $its->{pid}, 0;
    my $status = $?;
    @pids = grep { $_ != $its->{pid} } @pids;
    return ($status, slurp($its->{err}));
}

# A program that sends: tell() it what to do, and it has done it.
sub program { return program_("$B/prog/ways", @_) }

sub program_ {
    my $its = {};
    open my $saved, '>&', \*STDERR;
    open STDERR, '>', 'program.err';
    $its->{pid} = open2($its->{out}, $its->{in}, @_);
    open STDERR, '>&', $saved;
    return $its;
}

sub tell_ {
    my ($its, @lines) = @_;
    for my $line (@lines) {
        print {$its->{in}} "$line\n";
        $its->{in}->flush;
        my $answer = readline $its->{out};
        return 0 if !defined $answer || $answer ne "$line\n";
    }
    return 1;
}

sub end {
    my ($its) = @_;
    close $its->{in};
    waitpid $its->{pid}, 0;
    return $?;
}

# The numbers of the events UserWord in logs, in order of value: "0-99" if each is there once.
sub values_ {
    my (@logs) = @_;
    my @values = sort { $a <=> $b } `$B/bin/eventcnv -E UserWord @logs 2>/dev/null` =~ / value=(\d+)/g;
    return 'none' unless @values;
    for my $i (1 .. $#values) {
        return "$values[0]-$values[-1], but $values[$i - 1] and then $values[$i]" if $values[$i] != $values[$i - 1] + 1;
    }
    return "$values[0]-$values[-1]";
}

sub summary { my ($log) = @_; return join '', `$B/bin/eventview summary $log 2>&1` }

# ---- Several ways out at once ----------------------------------------------------------------------------------------

my $unix = listener('unix:sock', '-o', 'u.paw');
my $tcp = listener('tcp:0', '-o', 't');
like($tcp->{where}, qr/\Atcp:127\.0\.0\.1:[1-9]\d*\z/, 'port 0 is any, on loopback, and told');
is((stat 'sock')[2] & 07777, 0600, 'the socket has mode 0600');
my $program = program('file.paw', $tcp->{where}, 'unix:sock');
ok(tell_($program, 60000), 'a program sends to a file, over TCP and over a UNIX socket at once');
is(end($program), 0, 'and ends');
is(values_($_), '0-59999', "$_ has it all") for qw(file.paw t.1.paw u.1.paw);
is((stat 'u.1.paw')[2] & 07777, 0600, 'what is received has mode 0600');
is(system("$B/bin/eventcnv --check t.1.paw u.1.paw > check 2>&1"), 0, 'nothing is damaged or missing') or diag slurp('check');
for my $log (qw(file.paw t.1.paw u.1.paw)) {
    my $whole = slurp($log);
    open my $cut, '>:raw', 'cut.paw' or die;
    print {$cut} substr $whole, 0, rindex($whole, "\x8fPAWhdr\n");
    close $cut;
    isnt(system("$B/bin/eventcnv --check cut.paw > check 2>&1"), 0, "$log has an end, and without it lacks something");
}

# ---- A sender that comes back, fork, a program that closes all --------------------------------------------------------

$program = program('unix:sock');
tell_($program, 5000, 'flush', 'close', 5000, 'flush');
sleep 0.05;
tell_($program, 5000);
is(end($program), 0, 'a program closes all its descriptors');
is(values_('u.2.paw'), '0-14999', 'and goes on in the same file, with nothing lost and nothing twice');
$program = program('unix:sock');
tell_($program, 1000, 'flush', 'fork', 2000);
end($program);
until_(sub { -e 'u.4.paw' });
is(values_('u.3.paw'), '0-999', 'a program that forks');
is(values_('u.4.paw'), '1000-2999', 'and its child have a file each');
ok(!-e 'u.5.paw', 'and no more');

# ---- Names ------------------------------------------------------------------------------------------------------------

open my $there, '>', 'u.5.paw'; print $there 'mine'; close $there;
symlink 'elsewhere', 'u.6.paw';
$program = program('unix:sock');
tell_($program, 100);
end($program);
is(slurp('u.5.paw'), 'mine', 'a file that is there is left alone');
ok(!-e 'elsewhere' && values_('u.7.paw') eq '0-99', 'and no link followed: the next number is taken');

# ---- Requests ---------------------------------------------------------------------------------------------------------

sub ask {
    my ($line) = @_;
    my $socket = IO::Socket::UNIX->new(Peer => 'sock') or return '';
    syswrite $socket, "\x8fPAWask\n$line\n";
    my $answer = readline $socket;
    return $answer // '';
}

$program = program('unix:sock');
tell_($program, 100, 'flush');
is(ask('kinds -User'), "1\n", 'a request is passed on to the senders');
sleep 0.05;
tell_($program, 'poll', 100);
is(`$B/bin/eventctl unix:sock +User`, "passed on to 1 sender\n", 'by eventctl, too');
sleep 0.05;
tell_($program, 'poll', 100);
end($program);
like(`$B/bin/eventctl unix:nobody flush 2>&1`, qr/unix:nobody: No such file/, 'where nobody listens eventctl says so');
like(`$B/bin/eventctl unix:sock 2>&1`, qr/can be asked to flush/, 'and what can be asked');
my @values = `$B/bin/eventcnv -E UserWord u.8.paw` =~ / value=(\d+)/g;
is("@values", join(' ', 0 .. 99, 200 .. 299), 'and obeyed');

# A receiver that takes nothing for a moment refuses nothing.
my $pushed = `$B/bin/eventrec -p block -k Object,User --to unix:sock,keep=256K -- $B/prog/churn 4 100000 2>&1 >/dev/null`;
unlike($pushed, qr/cannot be sent/, 'what is only slow is not told as refused') if ($ENV{VARIETY} // 'cool') eq 'cool' && !$ENV{SAN};

my ($status, $err) = finish($unix, 'INT');
is($status, 0, 'a signal ends the listener');
ok(!-e 'sock', 'which removes its socket');
is(() = $err =~ /^eventrec: \d+ events \(0 discarded\), \d+ bytes, \d+\.\d{3} s -> u\.\d\.paw \(\S*ways, process \d+\)$/mg, 6,
   'and says a line for each sender') or diag $err;
($status, $err) = finish($tcp);
is($status, 0, 'so does another');

# ---- What has the place ------------------------------------------------------------------------------------------------

sub refused {
    my ($expected, $like, @options) = @_;
    my $its = listener(@options);
    ok(!$its->{where} && $? >> 8 == $expected, "@options: refused");
    like(slurp($its->{err}), $like, 'and why');
    @pids = grep { $_ != $its->{pid} } @pids;
}

open my $plain, '>', 'plain'; print $plain 'mine'; close $plain;
refused(125, qr/plain: Address already in use: .*choose another path/, 'unix:plain');
is(slurp('plain'), 'mine', 'a file that is no socket is left alone');
refused(125, qr/neither tcp/, 'pigeon:coop');
refused(125, qr/No such file/, 'unix:no/such/folder');
refused(125, qr/number of senders/, 'tcp:0', '--senders', '0');
refused(125, qr/logs\/: No such file/, 'tcp:0', '-o', 'logs/');
refused(125, qr/runs no program/, 'tcp:0', 'true');
my $left = IO::Socket::UNIX->new(Local => 'sock', Listen => 1);
refused(125, qr/Address already in use/, 'unix:sock');
close $left;
ok(-S 'sock', 'a socket is left behind');
$unix = listener('unix:sock', '--senders', 2, '--max-size', '100K');
ok($unix->{where}, 'where nobody listens any more, it is taken over');

# ---- Limits -----------------------------------------------------------------------------------------------------------

$program = program('unix:sock');
tell_($program, 200000);
end($program);
ok(-s 'pawprint.1.paw' <= 100 << 10 && -s 'pawprint.1.paw' > 50 << 10, 'a file does not grow beyond its limit');
like(values_('pawprint.1.paw'), qr/\A0-\d+\z/, 'and is whole');
like(slurp('program.err'), qr/not acknowledged in time/, 'its sender says that not all has arrived');
for (1 .. 2) {
    $program = program('unix:sock');
    tell_($program, 100);
    end($program);
}
is(join(' ', glob 'pawprint.*'), 'pawprint.1.paw pawprint.2.paw', 'no more senders than there may be');
like(slurp('program.err'), qr/the receiver refuses it/, 'the next one is told so');
($status, $err) = finish($unix);
like($err, qr/102400 bytes are as many as may be.*2 senders are as many as may be/s, 'and we are, both');

# What a sender on this machine keeps in memory, because it was refused, has not come.
SKIP: {
    skip 'no events of objects in this variety', 3 if ($ENV{VARIETY} // 'cool') ne 'cool';
    my $small = listener('unix:small', '-o', 'small', '--max-size', '100K');
    system "$B/bin/eventrec --to unix:small -- perl -e 'my \@a = map { qq(x\$_) } 1 .. 300000' 2>err";
    ($status, $err) = finish($small);
    my ($stays, $held) = slurp('err') =~ m{^eventrec: (/dev/shm/\S+) stays, with (\d+) events?}m;
    cmp_ok($held // 0, '>', 0, 'a sender that is refused keeps what has found no room') or diag slurp('err');
    unlink $stays if defined $stays;
    my $came = () = `$B/bin/eventcnv small.1.paw 2>/dev/null` =~ /\n/g;
    like($err, qr/^eventrec: $came events /m, 'the receiver counts what it has') or diag $err;
    my $said = `$B/bin/eventcnv --check small.1.paw 2>&1`;
    like($said, qr/what no receiver refused was in \Q$stays\E, which is gone$/m, 'nor does a reader say that all the rest was in memory');
}

# The folder of the logs is another one by now: they are where they were to be.
{
    mkdir 'folder';
    mkdir 'other';
    my $in = listener('unix:in', '-o', 'folder/');
    rename 'folder', 'moved';
    symlink 'other', 'folder';
    $program = program('unix:in');
    tell_($program, 100);
    end($program);
    finish($in);
    is(values_('moved/pawprint.1.paw'), '0-99', 'a folder that is moved while a listener runs gets the logs');
    is(join(' ', glob 'other/*'), '', 'and what has its name gets none');
}

# A receiver's disk is full: it takes back what it has begun to write, and nothing that somebody else has added meanwhile.
SKIP: {
    mkdir 'disk';
    skip 'a disk cannot be made here', 5 if system('mount -t tmpfs -o size=4m none disk 2>/dev/null') != 0;
    my $full = listener('unix:full', '-o', 'disk/f');
    my $log = 'disk/f.1.paw';
    $program = program('unix:full');
    tell_($program, 20000, 'flush');
    until_(sub { tell_($program, 'poll') && -e $log && values_($log) eq '0-19999' });
    my ($added) = slurp($log) =~ /^(\x8fPAWhdr.*?)\x8fPAW/s;
    open my $append, '>>', $log or die;
    my $at = -s $log;
    syswrite $append, $added;
    close $append;
    open my $fill, '>', 'disk/fill' or die;
    1 while syswrite $fill, 'x' x 4096;
    tell_($program, 20000, 'flush');
    sleep 0.5;
    cmp_ok(-s $log, '>=', $at + length $added, 'a message for which the disk has no room takes nothing along that was added');
    like(values_($log), qr/^0-\d+$/, 'nor does it come in part');
    close $fill;
    unlink 'disk/fill';
    until_(sub { tell_($program, 'poll'); values_($log) eq '0-39999' });
    is(end($program), 0, 'there is room again');
    is(values_($log), '0-39999', 'and all arrives');
    ok(index(slurp($log), $added, $at) == $at, 'behind what was added');
    finish($full);
    system "umount -l disk";
}

# ---- Hostile senders --------------------------------------------------------------------------------------------------

my $header = substr slurp('file.paw'), 0, slurp('file.paw') =~ /length (\d+)/ && $1;
my ($block) = slurp('file.paw') =~ /(\x8fPAWblk\n.*)/s;
my $length = 128 + unpack 'V', substr $block, 20, 4;
$block = substr $block, 0, $length;
my $link = 0;
sub hello { return sprintf "\x8fPAWlnk\n1 %016x %016x\n", $_[0] // ++$link + 4711, $_[1] // 0 }

$tcp = listener('tcp:0', '-o', 'h');
sub stranger { return IO::Socket::INET->new(PeerAddr => ($_[0] // $tcp)->{where} =~ s/^tcp://r) || die }

# closed($socket) -- the other end has closed it
sub closed {
    my ($socket, $seconds) = @_;
    my $end = time + ($seconds // 3);
    while (time < $end) {
        next unless IO::Select->new($socket)->can_read(0.1);
        my $n = sysread $socket, my $room, 4096;
        return 1 if !$n;
    }
    return 0;
}

# Those who take their time are looked at again at the end.
my $patient = listener('tcp:0', '-o', 's');
my @slow = map { stranger($patient) } 1 .. 4;
syswrite $slow[1], substr hello(), 0, 20;
syswrite $slow[2], hello() . substr $header, 0, 100;
syswrite $slow[3], hello() . $header . substr $block, 0, 100;

my %garbage = (
    'noise' => join('', map { chr int rand 256 } 1 .. 10000),
    'a log without a hello' => $header . $block,
    'a hello, then noise' => hello() . 'x' x 1000,
    'a hello, then a block without a header block' => hello() . $block,
    'a hello of another version' => hello() =~ s/\n1 /\n2 /r . $header,
    'a hello that is none' => hello() =~ s/ 0+/ zzz/r . $header,
    'a header block that claims 9 GB' => hello() . $header =~ s/length \d+/length 9999999999/r,
    'a header block that claims no bytes' => hello() . $header =~ s/length \d+/length 0000000000/r,
    'a header block with a wrong checksum' => hello() . $header =~ s/crc ../crc zz/r,
    'a header block with another letter' => hello() . $header =~ s/pid: \d/pid: x/r,
    'a request' => "\x8fPAWask\nflush\n",
);
for my $what (sort keys %garbage) {
    my $socket = stranger();
    syswrite $socket, $garbage{$what};
    ok(closed($socket), "$what: the connection is closed");
}
is(join(' ', glob 'h.*'), '', 'no file is made of any of these');
{
    my $its = listener("unix:$folder/many.socket", '-o', 'many');
    for (1 .. 300) {
        my $socket = IO::Socket::UNIX->new(Peer => "$folder/many.socket") or last;
        syswrite $socket, hello($_) . 'x' x 1000;
        closed($socket);
    }
    my (undef, $said) = finish($its);
    is scalar(() = $said =~ /what it sent is no log/g), 8 + 1, 'of 300 senders of noise a few are told';
    like $said, qr/^eventrec: \.\.\. and 292 more of these: what it sent is no log; the connection is closed$/m, 'and the others counted'
        or diag $said;
}

# deliver(link, bytes) -- a connection that begins well; what the file has in the end
sub deliver {
    my ($file, $id, $bytes) = @_;
    my $socket = stranger();
    syswrite $socket, hello($id) . $header . $bytes;
    shutdown $socket, 1;
    closed($socket);
    return slurp($file);
}

ok(deliver('h.1.paw', 1, $block) eq $header . $block, 'a sound block is written');
ok(deliver('h.2.paw', 2, substr $block, 0, $length - 1) eq $header, 'a block that is cut is not');
ok(deliver('h.2.paw', 2, $block) eq $header . $block, 'and when it comes whole, goes into the same file');
ok(deliver('h.2.paw', 2, $block) eq $header . $block, 'once, however often it comes');
my $flipped = $block;
substr($flipped, 200, 1) ^= "\1";
ok(deliver('h.3.paw', 3, $flipped . $block) eq $header, 'a block with a bit flipped is not written, nor what follows');
substr($flipped, 20, 4) = pack 'V', 0x7fffffff;
ok(deliver('h.4.paw', 4, $flipped) eq $header, 'nor one that claims 2 GB');
deliver('h.3.paw', 3, $flipped) for 1 .. 2;
ok(deliver('h.3.paw', 3, $block) eq $header, 'who often sends what is not sound is not heard any more');

my @crowd = map { stranger() } 1 .. 40;
ok(closed($crowd[0]), 'of too many who say nothing the first goes');
$program = program($tcp->{where});
tell_($program, 1000);
end($program);
is(values_('h.5.paw'), '0-999', 'meanwhile others are served');
($status, $err) = finish($tcp);
is($status, 0, 'and the listener has survived it all') or diag $err;
is(join(' ', sort glob 'h.*'), 'h.1.paw h.2.paw h.3.paw h.4.paw h.5.paw', 'with no other files');

# Who comes again goes on in the file that was made for him: what has its name now is not written.
{
    my $its = listener('tcp:0', '-o', 'p');
    local $tcp->{where} = $its->{where};
    deliver("p.$_.paw", 20 + $_, $block) for 1 .. 4;
    for my $i (1 .. 3) {
        open my $other, '>', "other.$i" or die;
        print $other 'mine';
        close $other;
        rename "p.$i.paw", "p.was.$i" or die;
    }
    rename 'other.1', 'p.1.paw' or die;
    link 'other.2', 'p.2.paw' or die;
    symlink 'other.3', 'p.3.paw' or die;
    for my $way ([1, 'a file', qr/Stale file handle/], [2, 'a hard link', qr/Stale file handle/], [3, 'a symbolic link', qr/./]) {
        my ($i, $what, $why) = @$way;
        is(deliver("p.$i.paw", 20 + $i, $block x 2), 'mine', "$what in the log's place is not written");
        like(slurp($its->{err}), qr/p\.$i\.paw: it cannot be written any more: $why.*; the rest is refused$/m, 'which is told');
        ok(slurp("p.was.$i") eq $header . $block, 'nor is the log, where it is now');
    }
    ok(deliver('p.4.paw', 24, $block x 2) eq $header . $block x 2, 'the log itself is');
    finish($its);
}

# Whole streams with something wrong somewhere, in pieces of any size.
my $seed = $ENV{SEED} // time | 0;
diag "SEED=$seed" if $ENV{SEED};
srand $seed;
$tcp = listener('tcp:0', '-o', 'z');
for my $round (1 .. 150) {
    my $stream = hello() . $header . $block x (1 + rand 4);
    my $from = $round % 4 ? 52 + length $header : 0;
    for (0 .. rand 3) {
        my $at = $from + int rand(length($stream) - $from);
        next if $at >= length $stream;
        my $what = int rand 4;
        substr($stream, $at, 1) = chr int rand 256 if $what == 0;
        substr($stream, $at, rand 50) = '' if $what == 1;
        substr($stream, $at, 0) = join '', map { chr int rand 256 } 0 .. rand 50 if $what == 2;
        substr($stream, $at) = '' if $what == 3;
    }
    my $socket = stranger();
    while ($stream ne '') {
        syswrite $socket, substr $stream, 0, 1 + rand(rand() < 0.5 ? 20 : 100000), '' or last;
    }
}
($status, $err) = finish($tcp);
is($status, 0, 'whatever is wrong with a stream, the listener goes on') or diag "SEED=$seed\n$err";
my @fuzzed = glob 'z.*';
my %sound = map { $header . $block x $_ => 1 } 0 .. 4;
my @unsound = grep { !$sound{slurp($_)} } @fuzzed;
ok(@fuzzed > 10 && !@unsound, 'and what is written is sound: ' . @fuzzed . ' files') or diag "SEED=$seed: @unsound";

# ---- Another user ------------------------------------------------------------------------------------------------------

SKIP: {
    skip 'only root can be another user', 2 if $> != 0;
    $unix = listener('unix:sock', '-o', 'o');
    chmod 0777, 'sock', $folder;
    my $pid = fork // die;
    if ($pid == 0) {
        POSIX::setgid(65534);
        POSIX::setuid(65534);
        my $socket = IO::Socket::UNIX->new(Peer => "$folder/sock") or POSIX::_exit(2);
        syswrite $socket, hello() . $header . $block;
        POSIX::_exit(closed($socket) ? 0 : 1);
    }
    waitpid $pid, 0;
    is($?, 0, 'another user is turned away, whatever the modes say');
    ($status, $err) = finish($unix);
    ok($err =~ /user 65534 is turned away/ && !glob('o.*'), 'and told') or diag $err;
}

# ---- In between: broken and slow connections ----------------------------------------------------------------------------

# A relay that breaks off, and stands still, when files are there that say so.  After each break it waits.
sub relay {
    my ($to) = @_;
    my $in = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 5) or die;
    my $pid = fork // die;
    return ($pid, 'tcp:127.0.0.1:' . $in->sockport) if $pid;
    while (my $from = $in->accept) {
        my $out = IO::Socket::INET->new(PeerAddr => $to =~ s/^tcp://r) or next;
        my $select = IO::Select->new($from, $out);
        my $open = 1;
        while ($open) {
            if (-e 'stall') { sleep 0.01; next }
            for my $ready ($select->can_read(0.01)) {
                my $n = sysread $ready, my $bytes, 1 + int rand 30000;
                $open = 0 if !$n;
                my $other = $ready == $from ? $out : $from;
                for (my $at = 0; $open && $at < $n;) {
                    my $m = syswrite $other, $bytes, $n - $at, $at;
                    $m ? $at += $m : ($open = 0);
                }
                $open = 0 if $ready == $from && unlink 'cut';
            }
        }
        close $from;
        close $out;
    }
    POSIX::_exit(0);
}

$tcp = listener('tcp:0', '-o', 'r');
my ($relay, $between) = relay($tcp->{where});
push @pids, $relay;
$program = program($between);
for my $round (1 .. 12) {
    open my $cut, '>', 'cut' if $round % 2;
    tell_($program, 20000, 'flush');
    sleep 0.03;
}
tell_($program, 'poll', 1000, 'flush');
# At its end it waits for so long only, and says what has not come: that is another test.
until_(sub { tell_($program, 'poll'); values_('r.1.paw') =~ /-240999\z/ });
is(end($program), 0, 'a connection breaks in the middle, again and again');
is(values_('r.1.paw'), '0-240999', 'nothing is lost and nothing comes twice') or diag slurp('program.err');
is(system("$B/bin/eventcnv --check r.1.paw > check 2>&1"), 0, 'and nothing is damaged') or diag slurp('check');

unlink 'cut';
open my $stall, '>', 'stall';
$program = program("$between,keep=256K");
tell_($program, 2000000);
unlink 'stall';
until_(sub { tell_($program, 'poll') && -e 'r.2.paw' });
until_(sub { tell_($program, 'poll'); sleep 0.1; my $was = -s 'r.2.paw'; tell_($program, 'poll'); sleep 0.2; $was == -s 'r.2.paw' });
tell_($program, 1000);
is(end($program), 0, 'a receiver that takes nothing for a while');
my ($events, $discarded) = (0, 0);
my $text = summary('r.2.paw');
my $arrived = () = `$B/bin/eventcnv -E UserWord r.2.paw 2>/dev/null` =~ /\n/g;
($discarded) = $text =~ /^discarded +(\d+)/m;
cmp_ok($discarded // 0, '>', 1000, "what could not be kept is discarded: $discarded");
is($arrived + ($discarded // 0), 2001000, 'and counted, exactly') or diag $text;
my ($stays) = slurp('program.err') =~ m{^pawprint: not all could be written: (/dev/shm/[^:]+): the rest stays there, .* eventrec --clean removes it}m;
# Nothing stays where the last of it found room.
my @stay = glob "/dev/shm/pawprint-*-$program->{pid}-*[0-9]";
is("@{[$stays // ()]}", "@stay", 'what stays, where, and what removes it is told') or diag slurp('program.err');
unlink @stay;
kill 'KILL', $relay;
waitpid $relay, 0;
finish($tcp);

# ---- Refused at first; the listener dies ---------------------------------------------------------------------------------

$program = program('unix:later');
tell_($program, 20000, 'flush');
$unix = listener('unix:later', '-o', 'l');
sleep 0.5;
tell_($program, 20000, 'flush');
until_(sub { tell_($program, 'poll') && -e 'l.1.paw' && values_('l.1.paw') eq '0-39999' });
is(values_('l.1.paw'), '0-39999', 'a program that begins before its listener does');
kill 'KILL', $unix->{pid};
waitpid $unix->{pid}, 0;
tell_($program, 20000, 'flush');
$unix = listener('unix:later', '-o', 'm');
sleep 0.3;
tell_($program, 'poll', 20000);
is(end($program), 0, 'and goes on after its death');
is(values_('l.1.paw', 'm.1.paw'), '0-79999', 'has all of its events in the logs of both') or diag values_('l.1.paw') . ' ' . values_('m.1.paw');
finish($unix);

# ---- Killed ------------------------------------------------------------------------------------------------------------

mkdir 'logs';
$unix = listener('unix:sock', '-o', 'logs/');
$program = program('unix:sock');
tell_($program, 3000, 'flush', 77);
kill 'KILL', $program->{pid};
end($program);
finish($unix);
is(values_('logs/pawprint.1.paw'), '0-3076', 'what a killed program had not sent is found in shared memory');
my ($region) = `$B/bin/eventcnv --header logs/pawprint.1.paw` =~ m{^\s*region: "(/dev/shm/[^"]+)"}m;
unlink $region, "$region.log" if defined $region;
is(values_('logs/pawprint.1.paw'), '0-2999', 'on this machine; elsewhere there is what was sent');

# ---- eventrec --to -------------------------------------------------------------------------------------------------------

SKIP: {
    skip 'programs are recorded by the cool variety', 26 if ($ENV{VARIETY} // 'cool') ne 'cool';
    $unix = listener('unix:sock', '-o', 'to');
    my $end = qr/^eventrec: (\d+ events \(0 discarded\), \d+ bytes), \S+ s -> unix:\S+\/sock$/m;
    is(system("$B/bin/eventrec --to unix:sock sh -c 'perl -e 1; echo hello >&2; exit 3' 2>err"), 3 << 8, 'eventrec --to: the program runs as usual');
    like(slurp('err'), qr/^hello$/m, 'and says what it says');
    like(slurp('err'), $end, 'what was sent is told');
    my ($sent) = slurp('err') =~ $end;
    system("$B/bin/eventrec --to unix:sock perl -e 'kill 9, \$\$ for 1 .. 1000' 2>err");
    my ($killed) = slurp('err') =~ $end;
    my $work = program_("$B/bin/eventrec", '--to', 'unix:sock', 'perl', '-e',
                        '$| = 1; while (<STDIN>) { my @x = map { {$_ => 1} } 1 .. 20000; print }');
    tell_($work, 'work');
    my $passed;
    until_(sub { ($passed = `$B/bin/eventctl unix:sock -Object`) eq "passed on to 1 sender\n" });
    is($passed, "passed on to 1 sender\n", 'a request is passed on to what eventrec collects');
    sleep 0.3;
    tell_($work, map { "work $_" } 1 .. 10);
    end($work);
    ($status, $err) = finish($unix);
    like($err, qr/^eventrec: \Q$sent\E, \S+ s -> to\.1\.paw \(\S*sh, process \d+\)$/m, 'all of it has arrived, of the whole family in one log');
    like($err, qr/^eventrec: \Q$killed\E, \S+ s -> to\.2\.paw \(\S*perl, process \d+\)$/m, 'of a program that is killed, too');
    my $objects = () = `$B/bin/eventcnv -k Object to.3.paw` =~ /\n/g;
    ok($objects > 20000 && $objects < 200000, "and obeyed: $objects allocations and frees, not eleven times as many");
    like(summary('to.1.paw'), qr/^processes +[2-9]$/m, 'processes that it starts are in the same log');
    is(join(' ', sort glob 'to.*'), 'to.1.paw to.2.paw to.3.paw', 'one for each eventrec');

    # To a file and elsewhere.
    $unix = listener('unix:sock', '-o', 'both');
    is(system("$B/bin/eventrec -o file2.paw --to unix:sock sh -c 'perl -e \"\\\$x{\\\$_} = 1 for 1 .. 200000\"; $B/prog/churn 20000 3 >/dev/null' 2>err"), 0,
       'eventrec -o FILE --to WHERE');
    my ($both) = slurp('err') =~ /^eventrec: (\d+) events \(0 discarded\), \d+ bytes, \S+ s -> file2\.paw$/m;
    ($status, $err) = finish($unix);
    like($err, qr/^eventrec: $both events \(0 discarded\), \d+ bytes, \S+ s -> both\.1\.paw/m, 'both have the same events') or diag slurp('err');
    ok($both > 200000, "which are many: $both");
    for my $log ('file2.paw', 'both.1.paw') {
        is(system("$B/bin/eventcnv --check $log > check 2>&1"), 0, "$log lacks nothing") or diag slurp('check');
    }
    is(join('', map { `$B/bin/eventcnv $_ | sort | cksum` } 'file2.paw'), join('', map { `$B/bin/eventcnv $_ | sort | cksum` } 'both.1.paw'),
       'event by event');
    my $begin = time;
    is(system("$B/bin/eventrec -o file3.paw --to unix:nobody,keep=256K perl -e '\$x{\$_} = 1 for 1 .. 300000' 2>err"), 0, 'nobody receives it');
    like(slurp('err'), qr/^eventrec: \d+ events \(0 discarded\), \d+ bytes, \S+ s -> file3\.paw$/m, 'the file has all of it') or diag slurp('err');
    like(slurp('err'), qr/unix:\S+nobody\S*: [1-9]\d* events? ha(?:s|ve) not arrived: No such file or directory; the file has (?:it|them)/, 'and how much has not arrived is said');
    unlike(slurp('err'), qr/could not be added/, 'nothing stays in memory');
    is(system("$B/bin/eventcnv --check file3.paw > check 2>&1"), 0, 'the file lacks nothing') or diag slurp('check');

    # The receiver is killed between two processes: what it has is whole, process by process, and the recording's end is missing.
    my $midway = listener('unix:gap', '-o', 'gap');
    POSIX::mkfifo('go', 0600) or die;
    my $gap = fork // die;
    if ($gap == 0) {
        open STDERR, '>', 'err' or die;
        my $work = q(perl -e 'my @a = map { "x$_" } 1 .. 1000');
        exec "$B/bin/eventrec", '-k', '-System', '--process', 'perl', '--to', 'unix:gap', 'sh', '-c', "$work; read x < go; $work" or die;
    }
    ok(until_(sub { -e 'gap.1.paw' && `$B/bin/eventcnv --header gap.1.paw 2>/dev/null` =~ /^end:/m }), 'a process has been received to its end')
        or diag `$B/bin/eventcnv --header gap.1.paw 2>&1`;
    finish($midway, 'KILL');
    open my $go, '>', 'go' or die;
    close $go;
    waitpid $gap, 0;
    is(system("$B/bin/eventcnv --check gap.1.paw > check 2>&1") >> 8, 1, 'and the log does not say that it has all') or diag slurp('check');
    like(slurp('check'), qr/the end of the recording is not in the log/, 'but what is missing');
    unlink $1 while slurp('err') =~ m{^eventrec: (/dev/shm/\S+) stays}mg;

    system("$B/bin/eventrec --to unix:nobody,keep=256K perl -e '\$x{\$_} = 1 for 1 .. 200000' 2>err");
    like(slurp('err'), qr/kept in memory.*No such file.*events? in \d+ blocks? ha(?:s|ve) not been acknowledged: No such file or directory; (?:it counts|they count) as discarded/s, 'that nobody has received it is told');
    my ($stays) = slurp('err') =~ m{^eventrec: (/dev/shm/\S+) stays, with [1-9]\d* events? of process \d+ that could not be written; eventrec --clean removes it}m;
    ok(defined $stays && -e $stays, 'and what stays, where, and what removes it') or diag slurp('err');
    unlink $stays if defined $stays;
    is(system("$B/bin/eventrec --to pigeon:coop true 2>err") >> 8, 125, 'a way that is none is a usage error');
    is(system("$B/bin/eventrec --to tcp:no.such.host.invalid:1 true 2>err") >> 8, 125, 'so is a host that nobody knows');
    like(slurp('err'), qr/no\.such\.host\.invalid/, 'which is named');
}

# ---- The slow ones -------------------------------------------------------------------------------------------------------

ok(closed($slow[$_], 10), 'who takes too long for a header block is closed') for 0 .. 2;
ok(!closed($slow[3], 0.2), 'whose header block has come may take as long as he likes for the rest');
($status, $err) = finish($patient);
is(() = $err =~ /sent no header block in 5 s/g, 3, 'which is told') or diag $err;

done_testing;
