#!/usr/bin/perl
# replay.t -- recorded heaps replayed on good allocators, and on bad ones
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir make_log run spew);
use JSON::PP qw(decode_json);
use Test::More;

my $B = $ENV{B} || 'build/cool';
my $SAN = $ENV{SAN} || '';
my $cc = $ENV{CC} || 'cc';

sub replay { run("$B/bin/replay", @_) }

# Replay as JSON; dies where there is none.
sub table {
    my ($status, $out, $err) = replay('--json', @_);
    my $doc = eval { decode_json($out) };

    die "no JSON ($status): $out$err" unless $doc;
    return ($status, $doc, $err);
}

my $churn = make_log('churn');
my $single = make_log('single');

subtest 'the table' => sub {
    my ($status, $out, $err) = replay('-a', 'libc,pawprint,none', $churn);
    my @lines = split /\n/, $out;

    is($status, 0, 'status');
    is($err, '', 'a log that lacks nothing is replayed without a word');
    like($lines[0], qr/^allocator\s+operations\s+seconds\s+ns\/op\s+peak asked\s+peak resident\s+ratio$/, 'columns');
    is(scalar @lines, 4, 'a line for each allocator');
    like($lines[1], qr/^libc\s+\d+\s+[\d.]+\s+[\d.]+\s+\d+\s+\d+\s+[\d.]+$/, 'numbers');
};

subtest 'merged and recorded, on libc and on our pools, with every object checked' => sub {
    for my $log ($churn, $single) {
        my %operations;
        for my $order (qw(merged recorded)) {
            my ($status, $doc) = table('--verify', '-j', $order, '-a', 'libc,pawprint', $log);
            is($status, 0, "$order: status");
            ok($doc->{exact}, "$order: exact") or diag("@{$doc->{not_exact}}");
            for my $row (@{$doc->{allocators}}) {
                is($row->{faults}, 0, "$order, $row->{allocator}: no fault");
                is($row->{failures}, 0, "$order, $row->{allocator}: nothing fails");
            }
            is($doc->{threads}, $order eq 'merged' ? 1 : $log eq $churn ? 4 : 1, "$order: threads");
            $operations{$order} = $doc->{operations};
            is($doc->{operations}, $doc->{allocations} + $doc->{frees} + $doc->{resizes}, "$order: operations add up");
        }
        is($operations{merged}, $operations{recorded}, 'both do the same');
    }
};

subtest 'threads free what others allocated, in any schedule' => sub {
    for my $round (1 .. 5) {
        my ($status, $doc) = table('--verify', '-n', 2, '-a', 'libc', $churn);
        is($status, 0, "round $round");
        cmp_ok($doc->{crossings}, '>', 1000, 'objects cross from thread to thread');
    }
    my $pipeline = make_log('pipeline');
    for my $round (1 .. 5) {
        my ($status, $doc) = table('--verify', '-a', 'libc', $pipeline);
        is($status, 0, "round $round: no thread overtakes the one whose objects it frees");
        is($doc->{crossings}, 30000, 'each object crosses');
    }
};

subtest 'a free is missing, of one of two threads' => sub {
    my ($status, $doc) = table('--verify', '-a', 'libc', make_log('lost'));

    is($status, 0, 'status');
    is($doc->{resizes}, 20000, 'resizes');
    is($doc->{allocations}, 20001, 'allocations');
    is($doc->{frees}, 20000, 'frees, the one that is presumed among them');
};

subtest 'pools with class and parameters' => sub {
    my ($status, $doc, $err) = table('--verify', '-a', 'pawprint,libc', make_log('pools'));

    is($status, 0, 'status');
    is($err, '', 'silent');
    is($_->{faults}, 0, "$_->{allocator}: no fault") for @{$doc->{allocators}};
    is($doc->{allocations}, 900, 'allocations');
    is($doc->{frees}, 150 + 300, 'frees, with those of the pool that was destroyed');
};

subtest 'another registry, another machine' => sub {
    for my $kind (qw(foreign wide)) {
        my ($status, $doc) = table('--verify', '-a', 'libc,pawprint', make_log($kind));

        is($status, 0, "$kind: status");
        is($doc->{operations}, 3, 'what is called PoolAlloc and fits is one; what does not fit is not');
        is($doc->{peak_asked}, 150, 'sizes are the right parameters');
    }
};

subtest 'a log that lacks something' => sub {
    my ($status, $out, $err) = replay('-a', 'libc', make_log('part'));
    is($status, 0, 'is replayed');
    like($err, qr/^replay: not exact: .*5 events discarded while recording/m, 'discarded events are named');
    like($err, qr/1 free or resize of an object whose allocation is not in the log/, 'unmatched frees too');
    like($err, qr/1 allocation at an address that was never freed/, 'and overlaps');

    ($status, $out, $err) = replay('-a', 'libc', make_log('none'));
    is($status, 1, 'without Object events there is nothing to replay');
    like($err, qr/^replay: \S+: nothing to replay: /m, 'which is said');
    like($err, qr/^replay: not exact: no Object events in the log/m, 'with the reason');

    my ($more, $doc) = table('-a', 'libc', make_log('family'));
    is($doc->{process}, 5000, 'of a family, the busiest is replayed');
    like("@{$doc->{not_exact}}", qr/1 other process left out/, 'and the others are named');
    ($more, $doc) = table('--process', 4711, '-a', 'libc', "$Dir/family.paw");
    is($doc->{process}, 4711, '--process chooses');
    ($more, my $other) = table('--process', 5000, '-a', 'libc', "$Dir/family.paw");
    ($status, my $all) = table('--process', 'all', '-a', 'libc,none', "$Dir/family.paw");
    is($status, 0, '--process all');
    is_deeply([map { [@$_{qw(process operations peak_asked)}, scalar @{$_->{allocators}}] } @{$all->{processes}}],
        [map { [@$_{qw(process operations peak_asked)}, 2] } sort { $a->{process} <=> $b->{process} } $doc, $other],
        'replays each by itself, as if it had been chosen');
    is(scalar(grep { grep { /left out/ } @{$_->{not_exact}} } @{$all->{processes}}), 0, 'and leaves out none');
    for my $name (qw(libc none)) {
        my ($sum) = grep { $_->{name} eq $name } @{$all->{sum}{allocators}};
        my @each = map { grep { $_->{name} eq $name } @{$_->{allocators}} } @{$all->{processes}};
        my %want = (name => $name, ran => scalar @each);
        for my $one (@each) { $want{$_} += $one->{$_} for qw(operations seconds peak_asked peak_resident) }
        ok(abs(delete($sum->{seconds}) - delete $want{seconds}) < 1e-6, "$name: the sum of all seconds");
        is_deeply($sum, \%want, 'and of the rest') or diag explain $sum;
    }
    ($status, $out, $err) = replay('--process', 'all', '-a', 'libc', "$Dir/family.paw");
    like($out, qr/\nsum of 2 processes, each with its own peak\nallocator .*\nlibc .*\n\z/, 'and their sum');
    is_deeply([$out =~ /^process (\d+) \(.*\)\nallocator /mg], [4711, 5000], 'a table for each, which names it');
    like($err, qr/^replay: not exact: process \d+ \(.*\): /m, 'and so does what is not exact');
    ($status, undef, $err) = replay('--process', 'all', '-a', 'libc', "$Dir/none.paw");
    is($status, 1, 'of nothing all is nothing');
    like($err, qr/nothing to replay/, 'which is said');
    SKIP: {
        skip 'programs are recorded by the cool variety', 3 if ($ENV{VARIETY} // 'cool') ne 'cool' || $ENV{SAN};
        system "$B/bin/eventrec --force -o $Dir/short.paw -- perl -e 'for (1 .. 4) { if (!fork) { exec q(/bin/true) } wait }' 2>/dev/null";
        ($status, $out, $err) = replay('--process', 'all', '-a', 'libc', "$Dir/short.paw");
        is($status, 0, 'processes that have allocated nothing are no fault');
        like($err, qr/^replay: \S+: 4 processes have no allocation$/m, 'but counted');
        unlike($err . $out, qr/nothing to replay|\(true\)/, 'and not told one by one');
    }
    ($status, $out, $err) = replay('--process', 17, $churn);
    is($status, 1, 'a process that is not there');
    like($err, qr/no process is called '17'/, 'is named');
};

subtest 'objects larger than memory' => sub {
    plan skip_all => "the sanitizer's malloc refuses them" if $SAN;
    my ($status, $doc) = table('-a', 'libc,pawprint', make_log('huge'));

    is($status, 0, 'status');
    for my $row (@{$doc->{allocators}}) {
        cmp_ok($row->{peak_resident}, '<', 1 << 26, "$row->{allocator}: are not filled");
        cmp_ok($row->{failures}, '>=', 1, "$row->{allocator}: what cannot be had fails, and is counted");
    }
    ok(!$doc->{exact}, 'and is not exact');
};

subtest 'recorded time' => sub {
    my ($status, $doc) = table('-s', '1x', '-a', 'libc', $churn);
    my ($half) = (table('-s', '0.5x', '-a', 'libc', $churn))[1];

    is($status, 0, 'status');
    cmp_ok($doc->{allocators}[0]{seconds}, '>=', 0.1, 'at least as long as the recording, which was 0.12 s');
    cmp_ok($half->{allocators}[0]{seconds}, '>=', 0.2, 'or twice as long');
    is((table('-s', '1000x', '-a', 'libc', $churn))[0], 0, 'or as short as can be');
};

subtest 'usage' => sub {
    my @cases = (
        [['-a', 'libc,,none', $churn], 2, qr/--allocator: an empty name/],
        [['-a', '/nonexistent.so', $churn], 1, qr/\/nonexistent\.so: No such file.*pawprint, libc, jemalloc, mimalloc, tcmalloc, none or the path of a shared/],
        [['-a', 'libc:M_ARENA_MAX', $churn], 2, qr/the setting 'M_ARENA_MAX' has no value/],
        [['-a', 'libc:M_BLAH=1', $churn], 2, qr/'M_BLAH' is no setting of libc: M_ARENA_MAX, .*tunable/],
        [['-a', 'pawprint:spare=0', $churn], 2, qr/'spare=0' is no setting of our pools, which are CLASS\.PARAMETER=NUMBER/],
        [['-a', 'libc:' . join(':', map { "M_ARENA_MAX=$_" } 1 .. 9), $churn], 2, qr/more settings than 8/],
        [['-a', 'x' x 5000, $churn], 2, qr/the path is too long/],
        [['-s', 'fast', $churn], 2, qr/--speed: 'fast' is neither max nor a number/],
        [['-s', '0x', $churn], 2, qr/--speed/],
        [['-j', 'both', $churn], 2, qr/threads/],
        [['-n', '0', $churn], 2, qr/--repeat/],
        [['--search', '-n', 3, $churn], 2, qr/--search decides how often each runs/],
        [['--search', '--verify', $churn], 2, qr/--search decides/],
        [[], 2, qr/no log is given/],
        [[$churn, $churn], 2, qr/one log at a time/],
        [["$Dir/absent.paw"], 1, qr/absent\.paw: No such file/],
    );
    for my $case (@cases) {
        my ($status, $out, $err) = replay(@{$case->[0]});
        is($status, $case->[1], "@{$case->[0]}: status");
        like($err, $case->[2], 'message');
    }
    spew("$Dir/empty.paw", '');
    spew("$Dir/text.paw", "no log\n" x 1000);
    for my $log ("$Dir/empty.paw", "$Dir/text.paw") {
        my ($status, $out, $err) = replay('-a', 'libc', $log);
        is($status, 1, "$log: status");
        like($err, qr/^replay: \Q$log\E: /, 'named');
        is($out, '', 'no table');
    }
    my ($status, $out, $err) = replay('-a', 'libc', make_log('newer'));
    is($status, 1, 'events newer than this program are refused');
    like($err, qr/newer.*--force/, 'and the way out is named');
    is((replay('-a', 'libc', '--force', "$Dir/newer.paw"))[0], 0, 'which works');
};

subtest 'a temporary file that cannot be written' => sub {
    plan skip_all => 'no /dev/full' unless -e '/dev/full';
    local $ENV{TMPDIR} = "$Dir/no/such/folder";
    is((replay('-a', 'libc', $churn))[0], 0, 'memory takes its place where there is no folder');
};

# A library with a malloc that goes wrong as told after its first 300 calls.
sub library {
    my ($name, $flags) = @_;

    spew("$Dir/bad.c", <<'END');
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char room[64 << 20] __attribute__((aligned(4096)));
static size_t next, calls;
static size_t *header(void *p) { return (size_t *)p - 2; }
static void *take(size_t size, size_t align)
{
  size_t at = __atomic_fetch_add(&next, size + align + 48, __ATOMIC_SEQ_CST);
  char *p = room + (at + 32 + align - 1) / align * align;
  if (p + size > room + sizeof room)
    return NULL;
  header(p)[0] = size;
  return p;
}
void *malloc(size_t size)
{
  if (calls == 0 && getenv("OWN_STATUS") != NULL)
    _exit(atoi(getenv("OWN_STATUS")));
  int late = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) > 300;
  (void)late;
#ifdef OVERLAP
  static char *last;
  if (late && last != NULL && size < 32)
    return last;
  if (late && size >= 32)
    return last = take(size, 16);
#endif
#ifdef ALIGN
  if (late)
    return (char *)take(size + 8, 16) + 8;
#endif
#ifdef CRASH
  if (late)
    *(volatile char *)8 = 1;
#endif
#ifdef LEAVE
  if (late)
    _exit(3);
#endif
#ifdef NONE
  if (late)
    return NULL;
#endif
  return take(size, 16);
}
void free(void *p) { (void)p; }
void *realloc(void *p, size_t size)
{
  void *new = malloc(size);
  if (p != NULL && new != NULL) {
#ifndef LOSE
    memcpy(new, p, header(p)[0] < size ? header(p)[0] : size);
#endif
  }
  return new;
}
#ifndef FEW
void *calloc(size_t n, size_t size) {
  void *p = malloc(n * size);
#ifdef DIRTY
  return p == NULL ? p : memset(p, 7, n * size);
#else
  return p == NULL ? p : memset(p, 0, n * size);
#endif
}
int posix_memalign(void **p, size_t align, size_t size) { *p = take(size, align); return *p == NULL ? 12 : 0; }
#endif
END
    spew("$Dir/bad.c", "int nothing;\n") if $name eq 'nomalloc';
    system(split(' ', $cc), '-O1', '-w', '-fno-builtin', '-shared', '-fPIC', map({ "-D$_" } split ' ', $flags), '-o', "$Dir/$name.so",
        "$Dir/bad.c") == 0 or die "cannot compile $name";
    return "$Dir/$name.so";
}

SKIP: {
    skip 'a sanitized program preloads no malloc', 1 if $SAN;
    subtest 'libraries, good and bad' => sub {
        my @cases = (
            ['good', '', 0, qr/^$/],
            ['few', 'FEW', 1, qr/is not aligned to|has no posix_memalign/],
            ['overlap', 'OVERLAP', 1, qr/was overwritten by another at byte \d+/],
            ['align', 'ALIGN', 1, qr/is not aligned to 16/],
            ['lose', 'LOSE', 1, qr/lost its contents in a resize, at byte 0/],
            ['dirty', 'DIRTY', 1, qr/is not zero at byte 0/],
            ['crash', 'CRASH', 1, qr/crash\.so: killed by signal 11/],
            ['leave', 'LEAVE', 1, qr/leave\.so: ended with status 3 before the replay was over/],
            ['nomalloc', '', 1, qr/nomalloc\.so: could not be loaded, or has no malloc/],
        );
        for my $case (@cases) {
            my ($name, $flags, $expected, $message) = @$case;
            my ($status, $out, $err) = replay('--verify', '-a', library($name, $flags), $single);
            is($status, $expected, "$name: status");
            like($err, $message, "$name: what is wrong");
        }
        my ($status, $doc) = table('-a', library('none', 'NONE'), $single);
        is($status, 0, 'an allocator that has no memory any more: status');
        cmp_ok($doc->{allocators}[0]{failures}, '>', 1000, 'what failed is counted');
        like("@{$doc->{not_exact}}", qr/allocations failed/, 'and told');

        my $text = spew("$Dir/text.so", "no library\n");
        my ($late, $out, $err) = replay('-a', "libc,$text", $single);
        is($late, 1, 'a file that is no library: status');
        like($err, qr/text\.so: could not be loaded/, 'is named');
        like($out, qr/^libc +\d/m, 'and does not keep the others from their turn');
        ($late, undef, $err) = replay('-n', 1, '-a', library('own', '') . ':OWN_STATUS=7:OWN_OTHER:8', $single);
        like($err, qr/own\.so:OWN_STATUS=7:OWN_OTHER:8: ended with status 7/, 'settings are in its environment');
        is((replay('-n', 1, '-a', library('own', '') . ':OWN_OTHER=8', $single))[0], 0, 'and others in those of others');
    };
    subtest 'allocators by name' => sub {
        for my $name (qw(jemalloc mimalloc tcmalloc)) {
            my ($status, $out, $err) = replay('-n', 1, '-a', $name, $single);
            next if $err =~ /^replay: $name: lib\S+ is in none of the usual places; give its path$/;
            is($status, 0, "$name runs");
            like($out, qr/^$name +\d/m, 'and is called that');
        }
        pass('those that are installed');
    };
}

subtest 'settings that are tried' => sub {
    my ($status, $doc) = table('--search', '--time', 10, '-a', 'libc', $single); # busy machines are slow
    my @best = grep { $_->{best} } @{$doc->{allocators}};
    is($status, 0, 'status');
    cmp_ok(scalar @{$doc->{allocators}}, '<=', 6, 'a few are left');
    ok((grep { $_->{name} eq 'libc' } @{$doc->{allocators}}), 'and libc as it is, with which all are compared');
    cmp_ok(scalar @best, '>', 0, 'some are the best');
    is_deeply([grep { $_->{name} =~ /:/ && !@{$_->{environment}} } @{$doc->{allocators}}], [], 'how to have them is said');
    ($status, my $out) = replay('--search', '--time', 1, '-a', 'libc,pawprint', $single);
    like($out, qr/\n\nbest +to be exported\n(?:\S+ +(?:nothing: it is what programs have|LD_PRELOAD=\S+ PAWPRINT_MODE=manage(?: PAWPRINT_POOLS=\S+)?|[A-Z_]+=\S+(?: [A-Z_]+=\S+)*)\n)+\z/,
         'in words, too');

    # The time is that of all of it.
    ($status, $doc, my $said) = table('--search', '--time', 0.001, '-a', 'pawprint,libc', $single);
    is($status, 0, 'no time at all: status');
    my @ran = grep { !exists $_->{error} } @{$doc->{allocators}};
    is_deeply([map { $_->{name} } @ran], ['libc'], 'one has run, with which the others would be compared');
    my $rest = @{$doc->{allocators}} - 1;
    like($said, qr/^replay: not all settings were tried: the time was over before $rest of \d+ had run once \(--time\)$/m, 'and how many have not is said');

    # Of our pools, parameters of the classes that the program has.
    (undef, my $ours) = table('--search', '--time', 1, '-a', 'pawprint', $single);
    my @tried = map { $_->{name} } @{$ours->{allocators}};
    ok((grep { $_ eq 'pawprint' } @tried), 'our pools as they are stay');
    is_deeply([grep { !/^(?:libc|pawprint(?::(?:Arena|SGF)\.\w+=\d+)?)$/ } @tried], [], 'beside parameters that matter') or diag "@tried";

    (undef, my $all) = table('--search', '--time', 1, '--process', 'all', '-a', 'libc', make_log('family'));
    ok(!exists $all->{sum}, 'settings differ from process to process, and have no sum');
    is_deeply([map { @{$_->{allocators}} > 5 ? 'many' : 'few' } @{$all->{processes}}], [('many') x @{$all->{processes}}],
              'of each process settings are tried anew');

    # Who interrupts gets what is known; how long the first runs take is not known.
    my ($known, $text);
    for my $wait (1, 4, 16, 64) {
        my $pid = open(my $in, '-|') // die;
        if (!$pid) {
            open STDERR, '>', "$Dir/err";
            exec "$B/bin/replay", '--json', '--search', '--time', 3000, '-a', 'libc', $churn;
        }
        select undef, undef, undef, $wait;
        kill INT => $pid;
        $text = do { local $/; <$in> };
        close $in;
        $known = eval { decode_json($text) };
        last if $known && grep { $_->{best} } @{$known->{allocators}};
    }
    ok($known && (grep { $_->{best} } @{$known->{allocators}}), 'interrupted') or diag($text);
};

SKIP: {
    skip 'no eventrec', 1 unless -x "$B/bin/eventrec";
    skip 'no events of objects in this variety', 1 if ($ENV{VARIETY} // 'cool') ne 'cool';
    subtest 'a real program' => sub {
        my $log = "$Dir/perl.paw";
        my $program = 'my %h; for my $i (1 .. 30000) { $h{"key $i"} .= "x" x ($i % 40) } my @s = sort keys %h;';
        my ($status, $out, $err) = run("$B/bin/eventrec", '-o', $log, $^X, '-e', $program);
        is($status, 0, 'is recorded');
        ($status, my $doc, $err) = table('--verify', '-a', 'libc,pawprint', $log);
        is($status, 0, 'and replayed') or diag($err);
        ok($doc->{exact}, 'exactly') or diag("@{$doc->{not_exact}}");
        cmp_ok($doc->{allocations}, '>', 60000, 'all of it');
        for my $row (@{$doc->{allocators}}) {
            is($row->{faults}, 0, "$row->{allocator}: no fault");
            cmp_ok($row->{peak_resident}, '>', $doc->{peak_asked} / 2, "$row->{allocator}: takes memory") unless $SAN;
        }
    };
    subtest 'what the whole program would take' => sub {
        plan skip_all => 'a sanitized program takes memory of its own' if $SAN;
        my $log = "$Dir/whole.paw";
        my $program = 'my @x; push @x, "x" x 200 for 1 .. 100000; open my $f, "<", "/proc/self/status" or die; '
            . 'my $sum; $sum += $_ for 1 .. 8e6; print grep { /VmHWM/ } <$f>'; # much time of its own: a busy machine may double that of replays
        my ($status, $out) = run("$B/bin/eventrec", '-o', $log, $^X, '-e', $program);
        my $peak = $out =~ /(\d+) kB/ ? $1 * 1024 : 0;
        ($status, my $doc) = table('-n', 3, '-a', 'pawprint,libc', $log);
        for my $row (@{$doc->{allocators}}) {
            is($row->{runs}, 3, "$row->{name}: runs");
            for my $what (qw(cpuSeconds residentBytes)) {
                my ($low, $middle, $high) = @{$row->{$what} // []};
                ok(defined $high && $low <= $middle && $middle <= $high, "$row->{name}: $what is a range") or diag(explain($row));
            }
            cmp_ok(abs($row->{residentBytes}[1] / $peak - 1), '<', 0.1, "$row->{name}: near what it took") or diag("$peak");
        }
        ($status, $out) = replay('-n', 3, '-a', 'pawprint', $log);
        like($out, qr/^whole program .*\npawprint .*\nallocation takes \d+% \(\d+ to \d+%\) of the program's processor time with libc\n\z/m, 'libc is run to compare with, and not printed');
        unlike($out, qr/^libc/m, 'nowhere');
        my $share = $doc->{allocationShare};
        ok($share && $share->[0] <= $share->[1] && $share->[1] <= $share->[2] && $share->[1] > 0.02 && $share->[1] < 0.98,
           'the share of allocation in its time') or diag explain $share;
        ($status, $out) = replay('-n', 3, '-a', 'libc,none', $log);
        like($out, qr/^whole program .*\nlibc .*\nallocation .*\n\z/m, 'what is no allocator is not predicted');
        ($status, $out) = replay('-n', 2, '-a', 'pawprint', $log);
        unlike($out, qr/whole program/, 'nothing is predicted from two runs');
        my $without = "$Dir/without.paw";
        run("$B/bin/eventcnv", '-f', 'paw', '-o', $without, '-k', 'Object,Pool,Arena', $log);
        ($status, $out) = replay('-n', 3, '-a', 'pawprint', $without);
        unlike($out, qr/whole program/, 'nor where the program was not sampled');
        my $none = library('none', 'NONE');
        ($status, $out) = replay('-n', 3, '-a', "libc,$none", $log);
        like($out, qr/^\Q$none\E +cannot be predicted: allocations failed in its replay\nallocation .*\n\z/m, 'nor of an allocator that ran out of memory');
        ($status, $doc) = table('-n', 3, '-a', "libc,$none", $log);
        is_deeply([map { exists $_->{cpuSeconds}, $_->{unpredicted} } @{$doc->{allocators}}],
                  [1, undef, '', 'allocations failed in its replay'], 'of that one alone') or diag explain $doc->{allocators};
    };
    subtest 'what it would take with libc, recorded with another allocator' => sub {
        plan skip_all => 'a sanitized program takes memory of its own' if $SAN;
        my ($jemalloc) = grep { -e } map { "$_/libjemalloc.so.2" } '/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu',
            '/usr/lib64', '/usr/lib';
        my $log = "$Dir/with.paw";
        my $program = 'my @x; push @x, "x" x 200 for 1 .. 100000; select undef, undef, undef, 0.3';
        for my $with (['pawprint', '-m', 'manage'], ['jemalloc']) {
            my ($name, @options) = @$with;
            SKIP: {
                skip 'no jemalloc', 4 if $name eq 'jemalloc' && !$jemalloc;
                local $ENV{LD_PRELOAD} = $jemalloc if $name eq 'jemalloc';
                run("$B/bin/eventrec", '--force', '-o', $log, @options, $^X, '-e', $program);
                delete local $ENV{LD_PRELOAD};
                my ($status, $doc, $err) = table('-n', 3, '-a', 'libc', $log);
                is($status, 0, "$name: status") or diag($err);
                is($doc->{recordedWith}, $name, "$name: it is known");
                is(scalar @{$doc->{allocators}}, 1, "$name: and not printed");
                ($status, my $out) = replay('-n', 3, '-a', 'libc', $log);
                like($out, qr/^whole program .* to $name .* to $name\nlibc .*\n(allocation .* with $name\n)?\z/m,
                     "$name: compared with that");
            }
        }
    };
    subtest 'two programs that are one process, by exec' => sub {
        plan skip_all => 'a sanitized program takes memory of its own' if $SAN;
        my $log = "$Dir/exec.paw";
        my $wait = 'my $n = 0; while ((times)[0] + (times)[1] < %s) { ++$n }';
        my $second = spew("$Dir/second.pl", 'my @x = map { [$_] } 1 .. 10000; ' . sprintf $wait, 0.5);
        my $first = spew("$Dir/first.pl", 'my @x = map { "x" x 300 } 1 .. 60000; ' . sprintf($wait, 0.3) . " exec '$^X', '$second';");
        run("$B/bin/eventrec", '-o', $log, $^X, $first);
        my ($status, $doc) = table('-n', 3, '--process', 'all', '-a', 'libc', $log);
        is($status, 0, 'status');
        my @cpu = map { $_->{allocators}[0]{cpuSeconds}[1] // -1 } @{$doc->{processes}};
        my @peak = map { $_->{allocators}[0]{residentBytes}[1] // -1 } @{$doc->{processes}};
        cmp_ok($cpu[0], '>', 0.1, 'the first took its part of the time');
        cmp_ok($cpu[1], '>', 0.05, 'and the second its own');
        cmp_ok($cpu[0] + $cpu[1], '<', 0.75, 'which together are the whole');
        cmp_ok($peak[1], '<', 0.8 * $peak[0], 'and their memory differs') or diag "@cpu, @peak";
    };
    subtest 'threads whose data destructors free' => sub {
        plan skip_all => 'the library is not preloaded in a sanitized build' if $SAN;
        my $log = "$Dir/keys.paw";
        my ($status, undef, $err) = run("$B/bin/eventrec", '-o', $log, "$B/prog/inherits", 200, 'threads');
        is($status, 0, 'are recorded') or diag($err);
        ($status, my $doc, $err) = table('--verify', '-a', 'libc', $log);
        is($status, 0, 'and replayed') or diag($err);
        is($doc->{threads}, 201, 'each is one thread, with what it frees at its end');
        cmp_ok($doc->{frees}, '>=', 200, 'and frees it');
    };
}

done_testing();
