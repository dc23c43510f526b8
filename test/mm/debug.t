#!/usr/bin/perl
# debug.t -- eventrec -m manage --debug: what a program does wrong with memory, by whom, and who allocated and freed it
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
no warnings 'portable'; # addresses have more than 32 bits
use lib 'test/lib';
use Cwd qw(abs_path);
use EndToEnd qw($Dir run);
use Test::More;

my $B = $ENV{B} // 'build/cool';
plan skip_all => 'no program is managed under sanitizers' if $ENV{SAN};

my @debug = ("$B/bin/eventrec", '-m', 'manage', '--debug', '--force', '-o', "$Dir/debug.paw", '--');
my $variety = $ENV{VARIETY} // 'cool';
my %says = (
    freed => 'free or resize of an object that is free already',
    inner => 'free or resize of an address inside an object',
    foreign => 'free or resize of what is no object',
    before => 'the memory before an object was written to',
    behind => 'the memory behind an object was written to',
    later => 'an object was written to after it was freed',
);
# Act => what is found, and whether the object is known, and was freed
my %acts = (
    'twice' => 'freed', 'twice-later' => 'freed', 'twice-there' => 'freed', 'here-and-there' => 'freed',
    'resize-freed' => 'freed', 'inner' => 'inner', 'inner-aligned' => 'inner', 'resize-inner' => 'inner',
    'stack' => 'foreign', 'global' => 'foreign', 'never' => 'foreign', 'beyond' => 'behind', 'before' => 'before',
    'after-free' => 'later', 'late' => 'later', 'flood' => 'later',
);

# frames($err, $what) -- the lines of frames below the line that begins so
sub frames {
    my ($err, $what) = @_;
    my ($lines) = $err =~ /^pawprint: $what[^\n]*by thread \d+:\n((?:pawprint:   0x[^\n]*\n)*)/m;
    return defined $lines ? split /\n/, $lines : ();
}

# functions(@frames) -- the functions of the program that these lines are in
sub functions {
    return map { /misuse\+(0x[0-9a-f]+)/ ? `addr2line -f -e $B/prog/misuse $1 2>/dev/null` =~ /^(\w+)/ : () } @_;
}

for my $size (1, 16, 100, 1025, 16385, 100_000, 3_000_000) {
    for my $act (sort keys %acts) {
        my $what = $acts{$act};
        next if $act eq 'never' && $size > 16384 || $act =~ /^inner|^resize-inner/ && $size < 32;
        next if $act eq 'after-free' && $size < 8;
        my ($status, $out, $err) = run(@debug, "$B/prog/misuse", $act, $size);
        my ($p) = $out =~ /^(0x[0-9a-f]+)$/m;
        my $ok = is $status, 134, "$act of $size bytes: the program is aborted";
        $ok &= like $err, qr/^pawprint: $says{$what}: .*; pool 0x[0-9a-f]+, class SGFDebug$/m, 'because of that';
        $ok &= unlike $out, qr/not reached/, 'before it ends' if $act eq 'flood';
        $ok &= like $err, qr/^pawprint: $says{$what}: .*\b\Q$p\E, an object of $size bytes; /m, 'the object is named'
            if $what ne 'foreign' && $what ne 'before';
        $ok &= cmp_ok scalar(frames($err, 'found')), '>', 0, 'and who did it';
        $ok &= cmp_ok scalar(frames($err, 'allocated \d+\.\d{9} s before')), '>', 0, 'and who allocated it'
            if $what ne 'foreign' && $what ne 'before';
        $ok &= cmp_ok scalar(frames($err, 'freed \d+\.\d{9} s before')), '>', 0, 'and who freed it'
            if $what =~ /freed|later/;
        diag $err unless $ok;
    }
}

# The frames are those of the program.
{
    my ($status, $out, $err) = run(@debug, "$B/prog/misuse", 'twice', 40);
    my %at = map { my $call = $_; $call => (map { /misuse\+(0x[0-9a-f]+)/ ? $1 : () } frames($err, $call))[0] }
        qw(found allocated freed);
    my %function = map { $_ => `addr2line -f -e $B/prog/misuse $at{$_} 2>/dev/null` =~ /^(\w+)/ ? $1 : '' } keys %at;
  SKIP: {
        skip 'no addr2line', 1 if grep { $_ eq '' } values %function;
        is_deeply \%function, {found => 'twice', allocated => 'twice', freed => 'twice'}, 'the innermost one is the caller';
    }
    isnt $at{found}, $at{freed}, 'at two different places';
  SKIP: {
        skip 'no telemetry in this variety', 1 if $variety eq 'rash';
        my ($dumped, $lines) = run("$B/bin/eventcnv", '-E', 'PoolMisuse', "$Dir/debug.paw");
        like $lines, qr/ PoolMisuse pool=\S+ addr=0x[0-9a-f]+ what="free or resize of an object that is free already"$/m,
            'the log has it, too';
    }
}

# What is found when the program ends is told once, with the events of the object, none of which repeats it.
{
    my ($status, $out, $err) = run(@debug, "$B/prog/misuse", 'late', 48);
    is scalar(() = $err =~ /$says{later}/g), 1, 'a write after free is told once';
  SKIP: {
        skip 'no events per object in this variety', 1 if $variety ne 'cool';
        like $err, qr/^pawprint: -0\.\d{9} \d+ PoolAlloc .*\npawprint: -0\.\d{9} \d+ PoolFree /m, 'with the events of the object';
    }
}

# Where the system has no address space for a pool the program's own malloc serves, and finds nothing: that is said.
for my $options ([@debug], [grep { $_ ne '--debug' } @debug]) {
    my ($status, $out, $err) = run(@$options, 'sh', '-c', 'ulimit -v 60000; exec "$@"', 'sh', "$B/prog/misuse", 'late', 48);
    my $said = () = $err =~ /^pawprint: PAWPRINT_MODE: manage: there is no memory for a pool, so the program's own malloc serves it$/mg;
    is "$status $said", '0 1', 'a program for whose pool there is no memory says so once' or diag $err;
}

# So they are in the child of a fork, of what its parent did; and what its log has of its own calls is right, too.
for my $deep ([], ['-s', 16]) {
    my ($recorder, @options) = @debug;
    my ($status, $out, $err) = run($recorder, @$deep, @options, "$B/prog/misuse", 'twice-forked', 40);
    my %function = map { my $call = $_; $call => join ' ', functions(frames($err, $call)) } qw(found allocated freed);
    is $status, 134, "a child that frees what its parent had freed is aborted (@$deep)";
  SKIP: {
        skip 'no addr2line', 3 if $function{found} eq '';
        like $function{allocated}, qr/^takeBefore twiceForked main\b/, 'who had allocated it is right';
        like $function{freed}, qr/^giveBefore twiceForked main\b/, 'and who had freed it';
        like $function{found}, qr/^giveBefore twiceForked main\b/, 'and who does it again';
    }
    next if !@$deep;
  SKIP: {
        skip 'no events per object in this variety', 1 if $variety ne 'cool';
        my ($dumped, $lines) = run("$B/bin/eventview", 'sites', '--top', 1000, "$Dir/debug.paw");
        my %count = map { /\b(takeBefore|takeInChild)\b/ ? ($1 => $_) : () } split /\n/, $lines;
        is scalar(keys %count), 2, 'callers in parent and child are told apart' or diag $lines;
    }
}

# A program that knows nothing of us: Python, one thread of which frees what another one frees again later.
SKIP: {
    my $script = <<'END';
import ctypes, threading
libc = ctypes.CDLL(None)
libc.strdup.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
p = libc.strdup(b"x" * 99)
first = threading.Thread(target=libc.free, args=(p,))
first.start()
first.join()
libc.free(p)
END
    skip 'no python3 with ctypes', 6 if system("python3 -c 'import ctypes' 2>/dev/null") != 0;
    my ($status, $out, $err) = run(@debug, 'python3', '-c', $script);
    my %thread = map { $_ => $err =~ /^pawprint: $_[^\n]*by thread (\d+):$/m ? $1 : 0 } qw(found allocated freed);
    is $status, 134, 'python3, which frees an object twice, is aborted';
    my $messages = () = $err =~ /^pawprint: $says{freed}: 0x[0-9a-f]+, an object of 100 bytes; /mg;
    is $messages, 1, 'with one message';
    ok $thread{found} == $thread{allocated} && $thread{freed} != 0 && $thread{freed} != $thread{found},
        'which says that another thread had freed it' or diag $err;
    like((frames($err, 'allocated'))[0], qr/libc\.so\.6\+0x[0-9a-f]+.*\b_*strdup\b/, 'what had allocated it');
    like join("\n", frames($err, $_)), qr/\bffi_call\b(?s:.*)python3/, "and the way on which it was $_" for qw(found freed);
}

# The program may go on.
for my $act (qw(twice inner global beyond late)) {
    local $ENV{PAWPRINT_ON_ERROR} = 'report';
    my ($status, $out, $err) = run(@debug, "$B/prog/misuse", $act, 48, 100);
    my $told = () = $err =~ /^pawprint: $says{$acts{$act}}: /mg;
    is $status, 0, "$act, a hundred times: the program goes on to its end";
    is $told, 100, 'having been told of each';
}

# Where no numbers are left for the frames of stacks, the place itself is named all the same.
SKIP: {
    skip 'the library is built for a sanitizer', 1 if $ENV{SAN};
    local %ENV = (%ENV, PAWPRINT_MODE => 'manage', PAWPRINT_DEBUG => 1, PAWPRINT_BUFFER => 'none', LD_PRELOAD => abs_path("$B/lib/libpawprint.so"));
    my (undef, undef, $err) = run("$B/prog/manystacks");
    my @places = $err =~ /^pawprint: (?:found|allocated|freed)\b[^\n]*\npawprint:   \S+ \S*\/manystacks\+[^\n]*\n(?=pawprint: \w)/mg;
    is scalar @places, 3, 'after a million different frames a second free is told with its places' or diag $err;
}

# Without --debug the events say who allocated; and if they do not reach back so far, that is said.
SKIP: {
    skip 'no events per object in this variety', 2 if $variety ne 'cool';
    my @plain = grep { $_ ne '--debug' } @debug;
    my ($status, $out, $err) = run(@plain, "$B/prog/misuse", 'twice', 48);
    unlike $err, qr/reach back/, 'where the events of an object are there from its allocation on, nothing is said to be missing';
    ($status, $out, $err) = run(@plain, "$B/prog/misuse", 'old-twice', 48);
    like $err, qr/^pawprint: traceback: events of objects reach back for \d+\.\d{9} s: what happened to this one before is not known$/m,
        'else it is';
}

# What is right is right.
{
    my ($status, $out, $err) = run(@debug, $^X, '-e', 'my %h; $h{$_ % 1000} = "x" x ($_ % 300) for 1 .. 100000; print scalar keys %h');
    is "$status $out", '0 1000', 'perl runs';
    like $err, qr/\Aeventrec: [^\n]*\n\z/, 'and nothing is found';
    ($status, $out, $err) = run("$B/bin/eventrec", '--debug', '-o', "$Dir/none.paw", '--', 'true');
    is $status, 125, 'without -m manage there is no --debug';
    like $err, qr/--debug is about Pawprint's own pools; it needs --mode manage/, 'and that is said';
}
done_testing;
