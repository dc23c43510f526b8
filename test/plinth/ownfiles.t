#!/usr/bin/env perl
# ownfiles.t -- a program that closes all descriptors, or wants their numbers for itself, keeps its files to itself, and
# its log is whole; and no other file is taken for the log
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp until_);
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
        # Who finds it closed, or another file, writes again; what was not written by the end is added.
        $said =~ s/^pawprint: cannot write the log: .*: (?:Bad file descriptor|it is another file now)\n//mg;
        system "$B/bin/eventrec --clean $log 2>/dev/null" if $said =~ s/^pawprint: not all could be written: .*\n//mg;
        $said =~ s/^ownfiles: (?:foreign bytes in|lines are missing in) .*\n//mg && $status == 256 and $status = 0 if $blocks > 0;
        cmp_ok $blocks, '<=', $rounds, "$mode, without a collector: a block at most goes astray each time";
    }
    is "$status: $said", '0: ', "$mode, without a collector: all is as the program expects";
    whole("$mode, without a collector", $log);
    ($status, $said) = run({}, "$B/bin/eventrec", '-o', $log, ownfiles($mode, 3));
    is $status, 0, "$mode, with a collector: all is as the program expects" or diag $said;
    whole("$mode, with a collector", $log);
}

# The log is gone when the program opens it again, and another file has its number: a text, or the log of another recording.
# again($log, $inode, $how) -- such a file in its place, made by $how; FALSE: it does not come to that
sub again {
    my ($log, $inode, $how) = @_;
    my @other;

    unlink $log;
    for my $i (1 .. 100) {
        $how->();
        last if (stat $log)[1] == $inode;
        rename $log, "$log.$i" or die;
        push @other, "$log.$i";
    }
    unlink @other;
    return -e $log && (stat _)[1] == $inode;
}

sub regions { return map { ($_, s/\.log\z//r) } grep { (readlink // '') =~ /^\Q$dir\E/ } glob '/dev/shm/pawprint-*.log' }
END { local $?; unlink regions() if $dir }

my $work = 'my @y = map { "y" x 777 . $_ } 1 .. 20000; $| = 1; print "end\n"';
my $closes = <<'END';
my ($how, $work) = @ARGV;
$| = 1;
my @x = map { "x$_" } 1 .. 5000;
syscall 436, 3, 0xffffffff, 0; # close_range
print "ready\n";
sysread STDIN, my $byte, 1;
exec $^X, '-e', $work if $how eq 'exec';
if ($how eq 'fork' && fork) { wait; exit }
eval $work;
END

# lost($by, $how) -- a program that has closed all, and whose log is gone: its number, a handle to let the program go on, and the
# process.  What records it, $by eventrec or itself, is gone, too, or stays.
sub lost {
    my ($by, $how, $log) = @_;
    my @command = ($^X, '-e', $closes, $how, $work);
    pipe my $in, my $go or die;
    unlink $log, "$dir/out";
    my $pid = fork // die "fork: $!";

    if ($pid == 0) {
        @ENV{qw(LD_PRELOAD PAWPRINT_LOG)} = ("$B/lib/libpawprint.so", $log) if $by eq 'itself';
        close $go;
        open STDIN, '<&', $in or die;
        open STDOUT, '>', "$dir/out" or die;
        open STDERR, '>', "$dir/err" or die;
        exec $by eq 'itself' ? () : ("$B/bin/eventrec", '-o', $log, '--'), @command or POSIX::_exit(99);
    }
    until_(sub { slurp("$dir/out") =~ /^ready$/m && -s $log }) or die slurp("$dir/err");
    my $inode = (stat $log)[1];
    if ($by ne 'itself') { kill 'KILL', $pid; waitpid $pid, 0 }
    return ($inode, $go, $pid);
}

sub lets_go {
    my ($go, $what) = @_;
    print $go "\n";
    close $go;
    ok until_(sub { slurp("$dir/out") =~ /^end$/m }), "$what: the program goes on to its end";
    select undef, undef, undef, 0.3; # its parts end
    return;
}

for my $case (map { my $by = $_; map { [$by, $_] } qw(same fork exec) } qw(eventrec itself)) {
    my ($by, $how) = @$case;
    my ($log, $what) = ("$dir/again.paw", "recorded by $by, then $how");
    my ($text, $other) = ("a text of somebody else\n", qr/^recording: (.*)$/m);

    SKIP: {
        my ($inode, $go) = lost($by, $how, $log);
        my $there = again($log, $inode, sub { open my $out, '>', $log or die; print $out $text; close $out });
        lets_go($go, $what);
        skip 'the number of the log is not given again here', 1 if !$there;
        is slurp($log), $text, "$what: a text with the number of the log is left alone";
    }
    SKIP: {
        my ($inode, $go) = lost($by, $how, $log);
        my $there = again($log, $inode, sub { system "$B/bin/eventrec -o $log true 2>/dev/null" });
        my $before = slurp($log);
        lets_go($go, $what);
        skip 'the number of the log is not given again here', 2 if !$there;
        ok $before eq slurp($log), "$what: so is the log of another recording";
        is scalar `$B/bin/eventcnv --check $log 2>&1`, '', "$what: which lacks nothing";
    }
    # The log itself, under its name again, is written to.
    my ($inode, $go, $pid) = lost($by, $how, $log);
    my $size = -s $log;
    rename $log, "$log.away";
    rename "$log.away", $log;
    lets_go($go, $what);
    cmp_ok -s $log, '>', $size, "$what: the log itself is opened again";
    unlink $log, regions();
}

done_testing;
