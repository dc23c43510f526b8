#!/usr/bin/env perl
# dlerror.t -- what a failed lookup of the program's has left for dlerror is there, whatever the library looks up meanwhile
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my ($so, $rec) = ("$B/lib/libpawprint.so", "$B/bin/eventrec");
my $dir = tempdir(CLEANUP => 1);

plan skip_all => 'no telemetry of objects in this variety' unless ($ENV{VARIETY} // 'cool') eq 'cool';
plan skip_all => 'a sanitizer has its own malloc' if $ENV{SAN};
plan skip_all => 'this glibc does not say what is at an address' # and then its dlsym is called
    if ((split / /, `getconf GNU_LIBC_VERSION`)[1] // 0) < 2.35;

my %under = (
    'the library alone' => "env LD_PRELOAD=$so",
    'a recording' => "$rec --force -o $dir/a.paw --",
    'with stacks' => "$rec --force -s 8 -o $dir/a.paw --",
    'our malloc' => "$rec --force -m manage -o $dir/a.paw --",
);

chomp(my @calls = `$B/prog/dlerror`);
cmp_ok scalar(@calls), '>=', 14, 'a program makes first calls of many functions';
for my $what (sort keys %under) {
    my (@failed, @found);
    for my $call (@calls) {
        push @failed, $call if `$under{$what} $B/prog/dlerror $call no_such_function 2>/dev/null` !~ /undefined symbol: no_such_function$/;
        push @found, $call if `$under{$what} $B/prog/dlerror $call puts 2>/dev/null` ne "nothing\n";
    }
    is "@failed", '', "$what: a message is there after the first call of any";
    is "@found", '', "$what: and none after a lookup that has found something";
}

# The memory of an exception is allocated before its arguments are evaluated.
SKIP: {
    skip 'no g++', scalar keys %under if system('command -v g++ >/dev/null 2>&1') != 0;
    open my $out, '>', "$dir/throws.cc" or die;
    print $out <<'CC';
#include <dlfcn.h>
#include <cstdio>
#include <stdexcept>
int main() {
  try {
    if (dlopen("/no/such/plugin.so", RTLD_NOW) == nullptr)
      throw std::runtime_error(dlerror());
  } catch (const std::exception &e) {
    puts(e.what());
  }
}
CC
    close $out;
    system("g++ -O1 -o $dir/throws $dir/throws.cc") == 0 or die;
    like `$under{$_} $dir/throws 2>/dev/null`, qr{^/no/such/plugin\.so: cannot open}, "$_: an exception has the message"
        for sort keys %under;
}
done_testing;
