#!/usr/bin/env perl
# executed.t -- a program that a recorded one executes writes to the log, though it may not open it: PAWPRINT_LOG, and no eventrec
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $cnv = "$B/bin/eventcnv";
my $dir = tempdir(CLEANUP => 1); # nobody else may look into it
my $open = tempdir(CLEANUP => 1);

plan skip_all => 'no telemetry of objects in this variety' unless ($ENV{VARIETY} // 'cool') eq 'cool';
plan skip_all => 'a sanitizer has its own malloc' if $ENV{SAN};

chmod 0755, $open or die;
copy("$B/lib/libpawprint.so", "$open/libpawprint.so") or die "$open: $!";

# program($text) -- a file with a program in Perl that anybody may read
sub program {
    my ($name, $text) = @_;
    open my $out, '>', "$open/$name" or die;
    print $out $text;
    close $out;
    return "$open/$name";
}

# recorded($logs, @command) -- run it with its own logs; what it has printed
sub recorded {
    my ($logs, @command) = @_;
    unlink glob "$dir/*.paw";
    my $pid = open(my $out, '-|') // die;
    if ($pid == 0) {
        @ENV{qw(LD_PRELOAD PAWPRINT_LOG)} = ("$open/libpawprint.so", $logs);
        open STDERR, '>', "$dir/err" or die;
        exec { $command[0] } @command or die;
    }
    local $/;
    my $said = <$out>;
    close $out;
    return $said // '';
}

my $count = 500;

# whole($log) -- how many of the executed program's objects it has, and the status of --check
sub whole {
    my ($log) = @_;
    my $n = () = `$cnv -k Object $log 2>/dev/null` =~ /\bPool(?:Alloc|ResizeEnd) .*size=5[45]\d\d\d\b/g;
    return "$n, " . (system("$cnv --check $log 2>/dev/null") >> 8);
}

# clean(@logs) -- who has become another user may not remove what it has in /dev/shm
sub clean { system("$B/bin/eventrec --clean @_ >/dev/null 2>&1"); return }

# It says of each descriptor of a log that it has whether a program that it executes would have it.
my $works = program('works', <<'P');
for (1 .. 500) { my $x = 'x' x (54_320 + $_) }
for my $fd (glob '/proc/self/fd/*') {
    next unless (readlink($fd) // '') =~ /\.paw$/;
    (my $info = $fd) =~ s/fd/fdinfo/;
    open my $in, '<', $info or next;
    my ($flags) = join('', <$in>) =~ /^flags:\s+(\d+)/m;
    print oct($flags) & 02000000 ? 'ours ' : 'left ';
}
P
my %how = (
    'is executed' => '',
    'is started' => 'exit(system($^X, @ARGV) >> 8);',
    'is started by a child' => 'if (fork == 0) { exec $^X, @ARGV } wait; exit 0;',
);
for my $what (sort keys %how) {
    my $starts = program('starts', "$how{$what} exec \$^X, \@ARGV;\n");
    is recorded("$dir/a.paw", $^X, $starts, $works), 'ours ', "a program $what: it has its log's descriptor once, and leaves it to nobody";
    is whole("$dir/a.paw"), "$count, 0", 'and is recorded';
}
is recorded("$dir/a.paw", '/usr/bin/env', '-i', $^X, $works), '', 'a program without our environment has no descriptor of the log';
is recorded("$dir/a.paw,$dir/b.paw", $^X, program('twice', 'exec $^X, @ARGV'), $works), 'ours ours ', 'of two logs it has two';
is whole("$dir/a.paw") . ' ' . whole("$dir/b.paw"), "$count, 0 $count, 0", 'and is recorded in both';

SKIP: {
    skip 'only root can become another user', 5 if $> != 0;
    my $changes = '$) = $( = 65534; $< = $> = 65534; ';
    for my $what (sort keys %how) {
        my $starts = program('starts', "$changes $how{$what} exec \$^X, \@ARGV;\n");
        recorded("$dir/a.paw", $^X, $starts, $works);
        is whole("$dir/a.paw"), "$count, 0", "another user's program $what, and is recorded";
        clean("$dir/a.paw");
    }
    recorded("$dir/a.paw,$dir/b.paw", $^X, program('starts', "$changes exec \$^X, \@ARGV;\n"), $works);
    is whole("$dir/a.paw") . ' ' . whole("$dir/b.paw"), "$count, 0 $count, 0", 'in two logs, too';
    clean("$dir/a.paw", "$dir/b.paw");
    skip 'no mount namespaces here', 1 if system("unshare -m sh -c 'mount -t tmpfs none $dir' 2>/dev/null") != 0;
    recorded("$dir/a.paw", qw(unshare -m sh -c), "mount -t tmpfs none $dir; exec $^X $works");
    is whole("$dir/a.paw"), "$count, 0", 'a program that sees another folder in the place of the log is recorded';
}
done_testing;
