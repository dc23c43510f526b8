#!/usr/bin/perl
# plain.t -- nothing that a log, its file's name or a program is called reaches a terminal as a command
#
# SPDX-License-Identifier: BSD-2-Clause
#
# In all that the tools print, controls are newlines and tabs: no C0, no DEL, no C1 as UTF-8 has it, no byte that is no
# UTF-8, which an 8-bit terminal may obey.

use strict;
use warnings;
use Cwd qw(abs_path);
use Encode qw(decode FB_CROAK);
use File::Temp qw(tempdir);
use IO::Handle;
use IO::Socket::UNIX;
use IPC::Open2;
use POSIX ();
use Test::More;

my $b = $ENV{B} // 'build/cool';
my $folder = tempdir(CLEANUP => 1);
my $odd = "\e[31m\xc2\x9b32m\x9b33m\x07\x7f";

sub run {
    my (@command) = @_;
    my $pid = fork // die;
    if ($pid == 0) {
        open STDOUT, '>', "$folder/out" or die;
        open STDERR, '>', "$folder/err" or die;
        open STDIN, '<', '/dev/null' or die;
        exec @command or exit 99;
    }
    waitpid $pid, 0;
    return join '', map { local (@ARGV, $/) = ("$folder/$_"); <> // '' } 'out', 'err';
}

# plain -- the first thing in it that is not fit for a terminal
sub plain {
    my ($text) = @_;
    my $characters = eval { decode('UTF-8', my $copy = $text, FB_CROAK) };
    return 'no UTF-8 near ' . sprintf '%vd', $text =~ /([^\x00-\x7f]{1,6})/ unless defined $characters;
    return $characters =~ /(.{0,20})([^\P{Cc}\n\t])/s ? sprintf '%vx after %s', $2, $1 : 'plain';
}

for my $damage (0, 1) {
    my $log = "$folder/log$damage$odd.paw";
    is system("$b/prog/hostile", $log, $damage ? 'damage' : ()), 0, 'a log is made';
    for my $command (['eventcnv'], ['eventcnv', '-v'], ['eventcnv', '--describe'], ['eventcnv', '--header'],
                     ['eventcnv', '--check'], ['eventcnv', '-E', "E$odd"], ['eventcnv', '-e', "E$odd == 1"],
                     ['eventcnv', '-k', "K$odd"], map({ ['eventcnv', '-f', $_] } qw(csv json chrome paje folded sql)),
                     ['eventcnv', '-f', 'folded', '--value=live-bytes'], ['eventview', 'summary'],
                     ['eventview', 'summary', '--json'], ['eventview', 'live'], ['eventview', 'live', '--json'],
                     ['replay'], ['replay', '-a', "/$odd"], ['eventrec', '--clean']) {
        my ($tool, @options) = @$command;
        my $text = run("$b/bin/$tool", @options, $log);
        is plain($text), 'plain', join ' ', $tool, map { s/[^ -~]/?/gr } @options, $damage ? 'of a damaged log' : ();
        cmp_ok length $text, '>', 10, '... which says something' unless $tool eq 'eventrec' || "@options" =~ /check/;
    }
}

# A program with such a name, and such a log: what is said when it is recorded.
SKIP: {
    skip "no /bin/true is here", 1 unless -x '/bin/true';
    symlink '/bin/true', "$folder/$odd" or die;
    is plain(run("$b/bin/eventrec", '-o', "$folder/rec$odd.paw", "$folder/$odd")), 'plain', 'eventrec';
    is plain(run("$b/bin/eventrec", '-o', "$folder/rec2$odd.paw", "$folder/none$odd")), 'plain',
        'eventrec of what is not there';
}

# start($prog, @command) -- a program of ours under such a name, which does as a line of its standard input says, and answers
sub start {
    my ($prog, @command) = @_;
    my $its = {};

    system('cp', "$b/prog/$prog", "$folder/$prog$odd") == 0 or die;
    open my $err, '>&', \*STDERR or die;
    open STDERR, '>', "$folder/its" or die;
    $its->{pid} = open2($its->{out}, $its->{in}, @command);
    open STDERR, '>&', $err or die;
    return $its;
}

sub does {
    my ($its, $line) = @_;
    print {$its->{in}} "$line\n";
    $its->{in}->flush;
    return (readline $its->{out}) // '';
}

sub end {
    my ($its) = @_;
    close $its->{in};
    waitpid $its->{pid}, 0;
}

# A program with such a name while it runs.
SKIP: {
    skip 'no telemetry in this variety', 1 if ($ENV{VARIETY} // 'cool') eq 'rash';
    my $its = start('steady', "$b/bin/eventrec", '-o', "$folder/live$odd.paw", '--', "$folder/steady$odd");
    is does($its, 10), "10\n", 'a program runs';
    my $list = run("$b/bin/eventctl");
    is plain($list), 'plain', 'eventctl: the list';
    my ($pid) = $list =~ m{^(\d+) +steady\\033\[31m.*, collected, into \Q$folder\E/live\\033.*\.paw$}m;
    ok defined $pid, 'which has the program, and names the log' or diag $list;
    for my $words ([], ['traceback', 5], ['flush'], [$odd], ["-$odd"], ["+K$odd"]) {
        my $text = run("$b/bin/eventctl", $pid // $$, @$words);
        is plain($text), 'plain', join ' ', 'eventctl PID', map { s/[^ -~]/?/gr } @$words;
    }
    like run("$b/bin/eventctl", $pid // $$), qr/^process \d+ steady\\033\[31m/m, 'eventctl names it, too';
    is plain(run("$b/bin/eventctl", $odd)), 'plain', 'eventctl of what is no process';
    end($its);
    my $said = run('cat', "$folder/its");
    is plain($said), 'plain', 'and eventrec in the end';
    like $said, qr/-> \Q$folder\E\/live\\033/, 'which names the log';
}

# One who listens at such a place, into such files, to such a program, and to those who send anything.
SKIP: {
    skip 'no telemetry in this variety', 1 if ($ENV{VARIETY} // 'cool') eq 'rash';
    my $place = "$folder/sock$odd";
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        open STDERR, '>', "$folder/listener" or POSIX::_exit(99);
        { no warnings; exec "$b/bin/eventrec", '--listen', "unix:$place", '-o', "$folder/sent$odd" }
        POSIX::_exit(99);
    }
    for (1 .. 500) {
        last if -S $place;
        select undef, undef, undef, 0.02;
    }
    my $its = start('ways', "$folder/ways$odd", "unix:$place");
    is does($its, 10), "10\n", 'a program sends';
    end($its);
    for my $sent ($odd x 100, "\x8fPAWlnk\n1 $odd\n", "\x8fPAWask\n$odd\n", "\x8fPAWlnk\n1 0000000000004711 0000000000000000\n$odd" . $odd x 100) {
        my $socket = IO::Socket::UNIX->new(Peer => $place) or next;
        syswrite $socket, $sent;
        shutdown $socket, 1;
        1 while sysread $socket, my $room, 4096;
    }
    is plain(run("$b/bin/eventctl", "unix:$place", "+K$odd")), 'plain', 'eventctl of a listener';
    is plain(run("$b/bin/eventctl", "unix:$place$odd", 'flush')), 'plain', 'and of none';
    kill TERM => $pid;
    waitpid $pid, 0;
    my $said = run('cat', "$folder/listener");
    is plain($said), 'plain', 'a listener';
    like $said, qr/^eventrec: listens on unix:\Q$folder\E\/sock\\033/m, 'which says where it is';
    like $said, qr/^eventrec: \d+ events .* -> \Q$folder\E\/sent\\033.*\.1\.paw \(.*ways\\033.*, process \d+\)$/m, 'and who has sent what';
    is plain(run('cat', "$folder/its")), 'plain', 'the program that sends';
}

# What the library itself says in a program.
SKIP: {
    skip 'the library is not preloaded in a sanitized build', 4 if $ENV{SAN};
    skip 'no telemetry in this variety', 4 if ($ENV{VARIETY} // 'cool') eq 'rash';
    local $ENV{LD_PRELOAD} = abs_path("$b/lib/libpawprint.so");
    for (['PAWPRINT_LOG', "$folder/none$odd/a.paw"], ['PAWPRINT_KINDS', $odd]) {
        my ($name, $value) = @$_;
        local @ENV{'PAWPRINT_LOG', $name} = ("$folder/kinds.paw", $value);
        my $text = run($^X, '-e', '1');
        is plain($text), 'plain', "the library, of $name";
        like $text, qr/^pawprint: .*\\033/, '... which it names';
    }
}

# What is not a control stays as it is.
like run("$b/bin/eventcnv", "$folder/log0$odd.paw"), qr/\\033\[31m\\302\\23332m\\23333m\\177\\007\\342\\202\\r\\302\\205\xc3\xa4"/,
    'a letter that is not ASCII stays, and the bytes of the others are to be seen';

done_testing;
