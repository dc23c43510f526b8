# touched.t -- how much of a large object a program has touched is told when it goes, and replay touches as much
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use Cwd qw(abs_path);
use EndToEnd qw($Dir run);
use JSON::PP qw(decode_json);
use Test::More;

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'who looks for leaks at the end has touched all, and a sanitizer takes memory of its own' if $ENV{SAN};

my $B = abs_path($ENV{B} // 'build/cool');
my $log = "$Dir/touches.paw";
my $page = 2 << 20; # a page may be a large one

# touched($how, @options) -- by address and size: what the program says, what the log says
sub touched {
    my ($how, @options) = @_;
    my ($status, $out) = run("$B/bin/eventrec", '--force', '-o', $log, @options, '--', "$B/prog/touches", $how);
    my (%said, %told);

    $said{"$1 $2"} = $3 while $out =~ /^(\S+) (\d+) (\d+)$/mg;
    my (undef, $lines) = run("$B/bin/eventcnv", '-E', 'PoolTouch', $log);
    while ($lines =~ /PoolTouch pool=\S+ addr=(\S+) size=(\d+) touched=(\d+)/g) {
        $told{"$1 $2"} = $3 if $2 >= 32 << 20;
    }
    return (\%said, \%told);
}

sub agrees {
    my ($said, $told, $what) = @_;
    my @wrong = grep { !defined $told->{$_} || $told->{$_} < $said->{$_} || $told->{$_} > $said->{$_} + $page } sort keys %$said;

    ok scalar(keys %$said), "$what: the program has said something";
    is_deeply \@wrong, [], "$what: what was touched of each object is told" or diag explain $said, $told;
    return;
}

for my $how (qw(exit _exit)) {
    my ($said, $told) = touched($how);
    agrees($said, $told, $how);
    is scalar(keys %$told), scalar(keys %$said), 'and of no other';
}
agrees(touched('exit', '-s', '8'), 'with stacks');
agrees(touched('exit', '-s', '8', '--stack-frees'), 'with those of frees');

# Our own pool keeps memory: who had it before may have touched more, and counting takes no more than its share of the time.
my ($said, $told) = touched('exit', '-m', 'manage');
my @known = grep { defined $told->{$_} } sort keys %$said;
cmp_ok scalar(@known), '>=', 3, 'under our own pool most objects are told, too';
is_deeply [grep { $told->{$_} < $said->{$_} || $told->{$_} > (split)[1] } @known], [], 'with what was touched at least'
    or diag explain $said, $told;

my (undef, $killed) = touched('kill');
ok !(grep { / @{[44 << 20]}$/ } keys %$killed), 'of one that is killed, it is not known what lives';
ok scalar(grep { / @{[64 << 20]}$/ } keys %$killed), 'but what has gone';
my ($status, $out) = run("$B/bin/eventcnv", '--check', $log);
is $status, 0, 'the log is sound';

# What is known is touched in the replay, and no more; where it is not known, all of it.
touched('exit');
sub peak {
    my ($of) = @_;
    my ($status, $out) = run("$B/bin/replay", '-n', 1, '--json', '-a', 'libc', $of);
    return decode_json($out)->{allocators}[0]{peak_resident};
}
my $known = peak($log);
run("$B/bin/eventcnv", '--force', '-f', 'paw', '-e', 'name != "PoolTouch"', '-o', "$Dir/unknown.paw", $log);
my $unknown = peak("$Dir/unknown.paw");
cmp_ok $known, '<', 60 << 20, "a replay has in memory what the program had ($known)";
cmp_ok $unknown, '>', 150 << 20, "and all, where that is not known ($unknown)";
done_testing;
