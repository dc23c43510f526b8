#!/usr/bin/env perl
# ownfiles.t -- a program that closes all descriptors, or wants their numbers for itself, keeps its files to itself, and
# its log is whole
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);

plan skip_all => 'nothing is recorded in rash' if ($ENV{VARIETY} // '') eq 'rash';
plan skip_all => 'a sanitizer closes and opens by itself' if $ENV{SAN};

# run($what, $env, @command) -- status and what it says on standard error
sub run {
    my ($env, @command) = @_;
    my $pid = fork // die "fork: $!";

    if ($pid == 0) {
        $ENV{$_} = $env->{$_} for keys %$env;
        open STDOUT, '>', "$dir/out" or die;
        open STDERR, '>', "$dir/err" or die;
        exec @command or POSIX::_exit(99);
    }
    waitpid $pid, 0;
    my $status = $?;
    open my $in, '<', "$dir/err" or die;
    return ($status, join '', <$in>);
}

# whole($what, $log) -- nothing is missing in the log, and something is there
sub whole {
    my ($what, $log) = @_;
    my $said = `$B/bin/eventcnv --check $log 2>&1`;

    is "$?: $said", '0: ', "$what: the log is whole";
    cmp_ok -s $log, '>', 20000, "$what: and has something";
    unlink glob "$dir/own* $log";
    return;
}

sub ownfiles { return ("$B/prog/ownfiles", $_[0], $dir, $_[1]) }

# astray($log) -- puts what has gone into the program's own files behind the log, and says how many blocks that is
sub astray {
    my ($log) = @_;
    my $stray = '';

    for my $file (glob "$dir/own*") {
        open my $in, '<:raw', $file or die "$file: $!";
        local $/;
        $stray .= <$in> =~ s/my line\n//gr;
    }
    open my $out, '>>:raw', $log or die "$log: $!";
    print $out $stray;
    close $out or die "$log: $!";
    return scalar(() = $stray =~ /\x8fPAW(?:blk|hdr)\n/g);
}

for my $mode (qw(range from each dup2 dup3 raw)) {
    my ($log, $rounds) = ("$dir/$mode.paw", 20);
    my ($status, $said) = run({LD_PRELOAD => "$B/lib/libpawprint.so", PAWPRINT_LOG => $log}, ownfiles($mode, $rounds));

    # Past libc the numbers may become the program's own between a look and a write; then one block goes astray.
    if ($mode eq 'raw') {
        my $blocks = astray($log);
        $said =~ s/^pawprint: cannot write the log: .*: Bad file descriptor\n//mg; # who finds it closed writes again
        $said =~ s/^ownfiles: (?:foreign bytes in|lines are missing in) .*\n//mg && $status == 256 and $status = 0 if $blocks > 0;
        cmp_ok $blocks, '<=', $rounds, "$mode, without a collector: a block at most goes astray each time";
    }
    is "$status: $said", '0: ', "$mode, without a collector: all is as the program expects";
    whole("$mode, without a collector", $log);
    ($status, $said) = run({}, "$B/bin/eventrec", '-o', $log, ownfiles($mode, 3));
    is $status, 0, "$mode, with a collector: all is as the program expects" or diag $said;
    whole("$mode, with a collector", $log);
}

done_testing;
