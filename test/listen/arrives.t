#!/usr/bin/perl
# arrives.t -- what was sent and has not arrived is counted: the receiver dies in the middle, or was never there
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp until_);
use Cwd qw(abs_path);
use Fcntl ();
use File::Temp qw(tempdir);
use IO::Handle;
use IPC::Open3;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);

my $B = abs_path($ENV{B} // 'build/cool');
plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
chdir tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1) or die;
$SIG{PIPE} = 'IGNORE';

my @pids;
END { local $?; kill 'KILL', @pids if @pids }

# listener($where, $prefix) -- one that receives, and has begun to
sub listener {
    my ($where, $prefix) = @_;
    my $pid = fork // die;

    if ($pid == 0) {
        open STDERR, '>', 'listener.err' or die;
        exec "$B/bin/eventrec", '--listen', $where, '-o', $prefix or POSIX::_exit(99);
    }
    push @pids, $pid;
    until_(sub { slurp('listener.err') =~ /listens on/ });
    return $pid;
}

sub murder {
    my ($pid) = @_;
    kill 'KILL', $pid;
    waitpid $pid, 0;
    @pids = grep { $_ != $pid } @pids;
    return;
}

# start(@command) -- a program that emits as many events as it is told on a line, and says when it has
sub start {
    my $its = {};
    $its->{pid} = open3($its->{in}, $its->{out}, '>&' . fileno(open_('err')), @_);
    return $its;
}

my $err;
sub open_ { open $err, '>', $_[0] or die; return $err }

sub emit {
    my ($its, $n) = @_;
    print {$its->{in}} "$n\n";
    $its->{in}->flush;
    return scalar readline $its->{out};
}

sub end {
    my ($its) = @_;
    close $its->{in};
    waitpid $its->{pid}, 0;
    close $err;
    return $? >> 8;
}

# counted() -- what eventrec's line says: events, discarded; and what it says stays in memory
sub counted {
    my ($n, $discarded) = slurp('err') =~ /^eventrec: (\d+) events \((\d+) discarded\)/m;
    my %stays = slurp('err') =~ m{^eventrec: (/dev/shm/\S+) stays, with (\d+) events?\b}mg;
    my $stays = 0;

    $stays += $_ for values %stays;
    is join(' ', grep { !-e } keys %stays), '', 'what is said to stay is there';
    unlink $_, "$_.log" for keys %stays;
    return ($n // -1, $discarded // -1, $stays);
}

sub events { my ($log) = @_; my $n = () = `$B/bin/eventcnv $log 2>/dev/null` =~ /\n/g; return $n }

my @record = ("$B/bin/eventrec", '-k', 'User');
my @steady = ('--', "$B/prog/steady", 0);

# As many events as in a file, of the same program.
my $it = start(@record, '-o', 'control.paw', @steady);
emit($it, 300000);
is end($it), 0, 'a control';
my ($control) = counted();
cmp_ok $control, '>=', 300000, "has all events: $control";
is events('control.paw'), $control, 'as eventcnv counts them';

# ---- A receiver that is killed ---------------------------------------------------------------------------------------

my $listener = listener('unix:sock', 'r');
$it = start(@record, '--to', 'unix:sock', @steady);
emit($it, 200000);
ok until_(sub { -s 'r.1.paw' && events('r.1.paw') > 1000 }), 'a receiver has something';
murder($listener);
emit($it, 100000);
is end($it), 0, 'and is killed; the status is the program\'s';
my ($n, $discarded, $stays) = counted();
is $n + $discarded + $stays, $control, "arrived, not arrived and kept are all there were: $n, $discarded, $stays"
    or diag slurp('err');
cmp_ok $discarded, '>', 90000, 'what has not arrived counts as discarded';
my $has = events('r.1.paw');
ok $has >= $n && $has <= $n + $discarded, "what has arrived is there: $has";
like slurp('err'), qr/^eventrec: unix:\S+sock: $discarded events? in \d+ blocks? ha(?:s|ve) not been acknowledged: \w[^;]+; (?:it counts|they count) as discarded; with -o FILE/m,
    'how many, where, why and what helps is told' or diag slurp('err');

# ---- No receiver -------------------------------------------------------------------------------------------------------

for my $keep ('4M', '256K') {
    $it = start(@record, '--to', "unix:nobody,keep=$keep", @steady);
    emit($it, 300000);
    end($it);
    ($n, $discarded, $stays) = counted();
    is $n, 0, "keep=$keep: where nobody receives nothing has arrived";
    is $discarded + $stays, $control, "and all is counted: $discarded discarded, $stays stay" or diag slurp('err');
    # What was not seen eventrec says when nothing is taken any more: that is in no block.
    my $unseen = () = slurp('err') =~ /^eventrec: not seen: /mg;
    my $kept = $discarded - $unseen;
    like slurp('err'), qr/unix:\S+nobody\S*: (?:$discarded|$kept) events? in \d+ blocks? ha(?:s|ve) not been acknowledged: No such file or directory; /,
        'and why it is is told';
    cmp_ok $stays, '>', 0, 'some stay where little can be kept' if $keep eq '256K';
}

# ---- A file, too ---------------------------------------------------------------------------------------------------------

$listener = listener('unix:sock2', 'b');
$it = start(@record, '-o', 'both.paw', '--to', 'unix:sock2', @steady);
emit($it, 200000);
ok until_(sub { -s 'b.1.paw' && events('b.1.paw') > 1000 }), 'a file and a receiver';
murder($listener);
emit($it, 100000);
end($it);
is join(' ', counted()), "$control 0 0", 'the file has everything' or diag slurp('err');
my ($missed) = slurp('err') =~ /^eventrec: unix:\S+: (\d+) events? ha(?:s|ve) not arrived: \w[^;]+; the file has (?:it|them)$/m;
cmp_ok $missed // 0, '>=', $control - events('b.1.paw'), 'and what the receiver lacks is told' or diag slurp('err');

# ---- A program that sends by itself --------------------------------------------------------------------------------------

$listener = listener('unix:sock3', 'w');
open_('err');
my $ways = {};
$ways->{pid} = open3($ways->{in}, $ways->{out}, '>&' . fileno($err), "$B/prog/ways", 'unix:sock3');
emit($ways, 20000);
emit($ways, 'flush');
murder($listener);
emit($ways, 5000);
end($ways);
my ($lost) = slurp('err') =~ /unix:\S+sock3: \d+ blocks? with (\d+) events? w\w+ not acknowledged in time$/m;
cmp_ok $lost // 0, '>=', 5000, 'says how many events have not been acknowledged' or diag slurp('err');

# ---- A program that sends by itself, and executes others -----------------------------------------------------------------

# stays(@logs) -- what is left in shared memory of processes that are in these logs
sub stays { return map { glob "/dev/shm/pawprint-*-$_-*" } map { `$B/bin/eventcnv --header $_ 2>/dev/null` =~ /^pid: (\d+)/mg } @_ }

# sent($way, $code) -- a perl that sends there; the logs that the receiver has then, and the program itself
my $receivers = 0;
sub sent {
    my ($way, $code) = @_;
    my $name = 'x' . ++$receivers;
    my $receiver = $way =~ /unix/ ? listener("unix:$name", $name) : undef;
    my $pid = fork // die;

    if ($pid == 0) {
        open STDERR, '>', 'err' or die;
        @ENV{qw(LD_PRELOAD PAWPRINT_LOG)} = ("$B/lib/libpawprint.so", $way =~ s/unix/unix:$name/r =~ s/file/$name.paw/r);
        exec $^X, '-e', $code or POSIX::_exit(99);
    }
    waitpid $pid, 0;
    is $?, 0, "to $way: the program runs" or diag slurp('err');
    if (defined $receiver) {
        kill 'TERM', $receiver;
        waitpid $receiver, 0;
        @pids = grep { $_ != $receiver } @pids;
    }
    return ([sort glob "$name.*.paw"], -e "$name.paw" ? "$name.paw" : ());
}

SKIP: {
    skip 'nothing can be preloaded into a sanitized program', 1 if $ENV{SAN};
    open my $script, '>', 'nobody' or die;
    print $script "#!/nobody/has/this\n";
    close $script;
    chmod 0755, 'nobody';
    my $work = 'sub work { my @list = map { "x" x $_ } 1 .. 500 } work();';
    my $next = "exec { \$^X } \$^X, '-e', 'my \@list = map { \"y\" x \$_ } 1 .. 300; exit 0'";
    my %does = (
        'a child executes a program' => ["$work if (my \$pid = fork) { waitpid \$pid, 0 } else { work(); $next }", 3],
        'it executes one itself' => ["$work $next", 2],
        'one that is not recorded' => ["$work delete \$ENV{LD_PRELOAD}; exec { 'true' } 'true'", 1],
        'one that has the library, and is not of the family' => ["$work delete \$ENV{PAWPRINT_RECORDING}; delete \$ENV{PAWPRINT_LOG}; exec { 'true' } 'true'", 1],
        'it tries to, and goes on, with nothing' => ["$work %ENV = (); exec { './nobody' } 'nobody' for 1 .. 20; work(); exec { './none' } 'none'; work(); exit 0", 1],
        'it tries to, and goes on' => ["$work exec { './nobody' } 'nobody' for 1 .. 20; work(); exec { './none' } 'none'; work(); exit 0", 1],
    );
    for my $what (sort keys %does) {
        my ($code, $programs) = @{$does{$what}};
        for my $way ('unix', 'file', 'file,unix') {
            my ($received, @own) = sent($way, $code);
            is scalar(@$received), $programs, "$what, to $way: a file for each" or diag slurp('err') if $way =~ /unix/;
            is `$B/bin/eventcnv --check @$received @own 2>&1`, '', "$what, to $way: nothing is missing";
            is $?, 0, "$what, to $way: as the status says";
            is join(' ', stays(@$received, @own)), '', "$what, to $way: nothing stays in memory";
            my ($sum, $n) = map { my $n = 0; $n += events($_) for @$_; $n } $received, \@own;
            is $sum, $n, "$what: both ways have the same" or diag slurp('err') if $way eq 'file,unix';
            cmp_ok $sum + $n, '>', 500 * ($way eq 'file,unix' ? 2 : 1), "$what, to $way: and there is something";
        }
    }

    # The collector was killed, and nobody has noticed when the program executes one that is not recorded.
    pipe my $ended, my $held or die;
    my $recorder = fork // die;
    if ($recorder == 0) {
        fcntl $held, Fcntl::F_SETFD(), 0;
        open STDERR, '>', 'err' or die;
        exec @record, '-k', '+Object', '-o', 'killed.paw', '--', $^X, '-e',
            "$work open my \$ready, '>', 'ready'; close \$ready; select undef, undef, undef, 0.02 until -e 'go';"
            . "delete \$ENV{LD_PRELOAD}; exec { 'true' } 'true'" or POSIX::_exit(99);
    }
    close $held;
    push @pids, $recorder;
    ok until_(sub { -e 'ready' }), 'a recorded program is ready';
    murder($recorder);
    open my $go, '>', 'go' or die;
    is scalar(readline $ended), undef, 'and becomes another one behind its collector\'s end';
    is `$B/bin/eventcnv --check killed.paw 2>&1`, '', 'nothing is missing';
    cmp_ok events('killed.paw'), '>', 500, 'and there is something';
    is join(' ', stays('killed.paw')), '', 'and nothing stays in memory';
}
done_testing;
