#!/usr/bin/perl
# site.t -- where each allocation was asked for: the caller itself, and what the tools make of it
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
no warnings 'portable'; # addresses have more than 32 bits
use File::Temp qw(tempdir);
use Test::More;

my $B = $ENV{B} // 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};

my $dir = tempdir(CLEANUP => 1);

sub record {
  my ($name, @options) = @_;
  my $out = `$B/bin/eventrec -o $dir/$name.paw @options $B/prog/site 2>$dir/err`;

  is $?, 0, "$name: recorded";
  return ($out, [`$B/bin/eventcnv $dir/$name.paw`]);
}

sub numbers { my %of; $of{$1} = $2 while $_[0] =~ /"(\w+)":\s*([\d.]+)/g; return \%of }

for my $mode ('observe', 'manage') {
  my ($out, $lines) = record($mode, '-s', 1, '-m', $mode);
  my @wrong;

  for ($out =~ /^(.*)$/mg) {
    my ($name, $low, $high, $size) = /^(\w+) (\S+) (\S+) (\d+)$/ or next;
    my @at = map { / size=$size (?:align=\d+ )?site=(\S+)$/ ? hex $1 : () } @$lines;
    push @wrong, "$name: " . join ' ', map { sprintf '%#x', $_ } @at
      unless @at == 1 && $at[0] > hex $low && $at[0] < hex $high;
  }
  is_deeply \@wrong, [], "$mode: every way to allocate tells its caller, once";
  is scalar(grep(/ Pool(?:Alloc|AllocZero|AllocAligned|ResizeEnd) /, @$lines)), 0, 'and none without it';
  my ($base, $length) = map { / ModuleLoad base=(\S+) size=(\d+) path=".*\/prog\/site"/ ? (hex $1, $2) : () } @$lines;
  my ($low) = $out =~ /^byMalloc (\S+)/m;
  ok defined $base && hex $low >= $base && hex $low < $base + $length, 'the program is among the modules';
}

my ($out, $lines) = record('plain');
is scalar(grep(/Site |ModuleLoad/, @$lines)), 0, 'nobody asks, nobody is told';

# But for addresses in code that are there all the same.
{
  system "$B/bin/eventrec -k +Sync -o $dir/threads.paw -- $B/prog/churn 3 50 > /dev/null 2>&1";
  my @lines = `$B/bin/eventcnv --symbols -E ModuleLoad,ThreadStart,ThreadCreate $dir/threads.paw`;
  my ($base, $length) = map { / ModuleLoad base=(\S+) size=(\d+) path=".*\/prog\/churn"/ ? (hex $1, $2) : () } @lines;
  my @starts = map { / Thread(?:Start|Create) .*start=(\w+)/ && $1 ne '0x0' ? hex $1 : () } @lines;
  is scalar(@starts), 6, 'of a thread it is recorded where it starts';
  is scalar(grep { !defined $base || $_ < $base || $_ >= $base + $length } @starts), 0, 'and which module that is in';
  is scalar(grep { / start=\w+\["run/ } @lines), 6, 'so that the function has its name';
  system "$B/bin/eventrec -E ThreadStart --force -o $dir/threads.paw -- $B/prog/churn 3 50 > /dev/null 2>&1";
  is scalar(grep { / start=\w+\["run/ } `$B/bin/eventcnv --symbols $dir/threads.paw`), 3, 'also where nothing else is recorded';
}

# Meaning: counts and replay are as without sites.
my %count;
for my $log ('observe', 'plain') {
  my $json = `$B/bin/eventview --json $dir/$log.paw`;
  $count{$log} = join ' ', map { $json =~ /"$_":\s*(\d+)/ ? "$_=$1" : "no $_" } qw(allocations frees resizes);
}
is $count{observe}, $count{plain}, "the summary is the same ($count{plain})";
my $replay = `$B/bin/replay -a libc,pawprint --verify $dir/observe.paw 2>&1`;
is $?, 0, 'it can be replayed' or diag $replay;
unlike $replay, qr/not exact/, 'exactly';

like `PAWPRINT_MODE=odd LD_PRELOAD=$B/lib/libpawprint.so /bin/true 2>&1`, qr/^pawprint: PAWPRINT_MODE: odd: .*manage/, 'a mode that is none is told';

done_testing;
