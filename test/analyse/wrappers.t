#!/usr/bin/perl
# wrappers.t -- memory that containers of C++ and Rust ask for belongs to the functions of the program that fill them
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir run slurp spew);
use JSON::PP qw(decode_json);
use Test::More;

plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};

my $B = $ENV{B} || 'build/cool';

# Bytes by the functions of the program that asked for them, without the hashes that Rust's names have.
sub allocated {
    my ($log, @options) = @_;
    my ($status, $out, $err) = run("$B/bin/eventview", '--json', 'sites', @options, $log);
    my %bytes;

    is($status, 0, 'eventview') or diag $err;
    for my $site (@{decode_json($out)->{sites}}) {
        next if ($site->{module} // '') !~ m{^\Q$Dir\E/};
        my $name = ($site->{function} // '?') =~ s/::h[0-9a-f]{16}$|\[[0-9a-f]+\]//gr =~ s/^<(.*)>::build::<u64>$/$1::build/r;
        $bytes{$name} += $site->{allocated_bytes};
    }
    return \%bytes;
}

# The same where there is no c++filt: names as the linker knows them, for which that is asked here.
sub mangled {
    my ($log, @options) = @_;
    mkdir "$Dir/empty";
    my $bytes = do { local $ENV{PATH} = "$Dir/empty"; allocated($log, @options) };
    my %plain;
    for my $name (keys %$bytes) {
        chomp(my $plain = (run('c++filt', '-p', $name))[1]);
        $plain = $plain =~ s/::h[0-9a-f]{16}$|\[[0-9a-f]+\]//gr =~ s/^<(.*)>::build::<u64>$/$1::build/r;
        $plain{$plain} += $bytes->{$name};
    }
    return \%plain;
}

# A program that was compiled and recorded; undef: it cannot be compiled.
sub recorded {
    my ($name, @command) = @_;
    system("@command -o $Dir/$name >$Dir/errors 2>&1") == 0 or return;
    my ($status, undef, $err) = run("$B/bin/eventrec", '-s', 32, '-o', "$Dir/$name.paw", "$Dir/$name");
    is($status, 0, "$name: recorded") or diag $err;
    return "$Dir/$name.paw";
}

my $cxx = spew("$Dir/fills.cc", <<'END_CXX');
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>
#define FAR __attribute__((noinline))
struct Node { int v[20]; };
FAR void fillMap(std::map<int, std::string> &m) { for (int i = 0; i < 100; ++i) m[i] = std::string(50, 'a'); }
FAR void fillVector(std::vector<std::shared_ptr<Node>> &v) { for (int i = 0; i < 100; ++i) v.push_back(std::make_shared<Node>()); }
FAR void fillTable(std::unordered_map<int, long> &t) { for (int i = 0; i < 100; ++i) t[i] = i; }
FAR void reserve(std::vector<void *> &v) { v.reserve(4000); }
int main()
{
  static std::map<int, std::string> m; static std::vector<std::shared_ptr<Node>> v; static std::unordered_map<int, long> t;
  static std::vector<void *> r;
  fillMap(m); fillVector(v); fillTable(t); reserve(r);
  return 0;
}
END_CXX

for my $flags ('-O0 -g', '-O2 -g', '-O2') {
    subtest "C++, $flags" => sub {
        my $log = recorded('cxx' . $flags =~ s/\W//gr, "g++ $flags $cxx") // plan skip_all => 'cannot be compiled';
        plan skip_all => 'no c++filt' if `c++filt _Znwm 2>/dev/null` !~ /operator new/;
        my $got = allocated($log);
        is_deeply([sort keys %$got], [qw(fillMap fillTable fillVector reserve)], 'who filled the containers') or diag explain $got;
        is($got->{reserve}, 32_000, 'with all that they asked for');
        run("$B/bin/eventcnv", '--force', '-f', 'paw', '--symbols', '-o', "$Dir/told.paw", $log);
        is_deeply(allocated("$Dir/told.paw"), $got, 'the same if the log tells the names');
        is_deeply(mangled($log), $got, 'and without c++filt');
    };
}

my $rust = spew("$Dir/fills.rs", <<'END_RUST');
#[inline(never)] fn make(n: usize) -> Vec<u8> { vec![1; n] }
#[inline(never)] fn text(n: usize) -> String { let mut s = String::new(); for i in 0..n { s.push_str(&i.to_string()); } s }
mod inner {
    pub struct S;
    impl S { #[inline(never)] pub fn build<T: Default + Clone>(n: usize) -> Vec<T> { vec![T::default(); n] } }
}
fn main() { let (a, b, c) = (make(10000), inner::S::build::<u64>(100), text(100)); std::process::exit((a.len() + b.len() + c.len() == 0) as i32); }
END_RUST

for my $flags ('-O -g', '-g', '-O', '-O -g -C symbol-mangling-version=v0') {
    subtest "Rust, $flags" => sub {
        my $log = recorded('rust' . $flags =~ s/\W//gr, "rustc $flags $rust") // plan skip_all => 'cannot be compiled';
        plan skip_all => 'no c++filt' if `c++filt _Znwm 2>/dev/null` !~ /operator new/;
        my $got = allocated($log);
        is($got->{'fills::make'}, 10_000, 'a vector is of whom made it') or diag explain $got;
        is($got->{'fills::inner::S::build'}, 800, 'also in a method');
        cmp_ok($got->{'fills::text'} // 0, '>=', 190, 'and a string');
        is_deeply(mangled($log), $got, 'the same without c++filt');
        is_deeply([grep { !/^(?:fills::|main$)/ } keys %$got], [], 'nothing is the libraries\'');
    };
}

done_testing;
