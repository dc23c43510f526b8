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
