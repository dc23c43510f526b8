#!/usr/bin/perl
# settings.t -- PAWPRINT_POOLS gives parameters of arenas and pools, whatever the program asks for
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw($Dir run);
use Test::More;

my $B = $ENV{B} // 'build/cool';
plan skip_all => 'no program is managed under sanitizers' if $ENV{SAN};
plan skip_all => 'this variety emits nothing' if ($ENV{VARIETY} // 'cool') eq 'rash';

# Record a program with these settings: what it says on standard error, and its parameters by name.
sub recorded {
    my ($settings, @command) = @_;
    local $ENV{PAWPRINT_POOLS} = $settings;
    delete $ENV{PAWPRINT_POOLS} unless defined $settings;
    my ($status, undef, $err) = run("$B/bin/eventrec", '--force', '-o', "$Dir/run.paw", @command);
    is($status, 0, 'recorded with ' . substr($settings // 'none', 0, 60)) or diag $err;
    my (undef, $text) = run("$B/bin/eventcnv", '-E', 'PoolParam,ArenaSpare', "$Dir/run.paw");
    my %param;
    push @{$param{$2}}, $1 while $text =~ /PoolParam .* value=(\d+) name="(\w+)"/g;
    push @{$param{limit}}, $1 while $text =~ /ArenaSpare .* limit=(\d+)/g;
    return ($err, \%param);
}

my @managed = ('-m', 'manage', $^X, '-e', '1');
my (undef, $plain) = recorded(undef, @managed);
is_deeply($plain, {emptySlabs => [4], limit => [32 << 20]}, 'the pool of malloc as it is');
my ($err, $set) = recorded('Arena.spare=77777,SGF.emptySlabs=9', @managed);
is_deeply($set, {emptySlabs => [9], limit => [77777]}, 'and as it is asked for');
unlike($err, qr/PAWPRINT_POOLS/, 'without a word');

# A program's own pools, with parameters of its own; the last setting counts.
($err, $set) = recorded('MVFF.spare=1,MVFF.spare=12345,AMS.whatever=1,MVFF.align=8', 'sh', '-c', "echo | $B/prog/mvff >$Dir/out");
is_deeply([@$set{qw(spare align)}], [[12345], [16]], 'a program with pools of its own') or diag explain $set;
like $err, qr/^pawprint: PAWPRINT_POOLS: MVFF\.align: only the program can know that/m, 'which alone knows how objects must be aligned';

# What a format says of its objects nobody else can know, nor how large the objects of a program are.
for my $case (['AMS.align=1024', 'collects', 300], ['AMS.align=24', 'collects', 300], ['AMS.header=8', 'collects', 300]) {
    my ($setting, $program, @arguments) = @$case;
    ($err, $set) = recorded("AMS.queue=4096,$setting", "$B/prog/$program", @arguments);
    like $err, qr/^pawprint: PAWPRINT_POOLS: \Q@{[$setting =~ s|=.*||r]}\E: only the program can know that, so it is left aside$/m, "$setting is refused";
    is_deeply [@$set{qw(align header queue)}], [[16], [0], [4096]], 'and nothing else is' or diag explain $set;
}
($err, $set) = recorded('MFS.unitSize=8', 'sh', '-c', "$B/test/pooltest events >$Dir/out");
like $err, qr/^pawprint: PAWPRINT_POOLS: MFS\.unitSize: only the program can know that, so it is left aside$/m, 'the size of objects is refused';
is $set->{unitSize}[0], 3000, 'and is what the program says';
($err, $set) = recorded('AMS.align=16,AMS.header=0', "$B/prog/collects", 300);
unlike $err, qr/PAWPRINT_POOLS/, 'what the format says, too, is no reason to complain';

for my $wrong ('SGF.emptySlab=9', 'SGF.emptySlabs=', 'SGF.emptySlabs', 'spare=1', '.spare=1', 'Arena.spare=1x', 'Arena.=1') {
    ($err, $set) = recorded("Arena.spare=5,$wrong,SGF.emptySlabs=7", @managed);
    is(() = $err =~ /^pawprint: PAWPRINT_POOLS: \Q$wrong\E: it is no CLASS\.PARAMETER=NUMBER, or the class has no such parameter$/mg, 1,
       "$wrong is told once") or diag $err;
    is_deeply($set, {emptySlabs => [7], limit => [5]}, 'and the others hold');
}
($err, $set) = recorded('Arena.spare=5,' . 'SGF.emptySlabs=9,' x 40, @managed);
is_deeply($set, $plain, 'what is too long is left aside');
like($err, qr/^pawprint: PAWPRINT_POOLS: it is too long, and is left aside$/m, 'which is told');

done_testing;
