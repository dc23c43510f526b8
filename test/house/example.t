#!/usr/bin/env perl
# example.t -- allocators of one's own, with registries of their own, built from what is installed; their logs in the
# unmodified tools; and emitters of two registries in one process
#
# Takes long.
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $B = abs_path($ENV{B} // 'build/cool');
my $cc = $ENV{CC} // 'gcc';
my $perl = $ENV{PERL} // 'perl';
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);

# Of whoever called us: the number of its jobs is not ours.
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL)};
delete @ENV{grep { /^PAWPRINT_/ } keys %ENV};
my $said = `make -s install DESTDIR=$dir/root PREFIX=/opt/paw CC='$cc' SAN='@{[$ENV{SAN} // '']}' VARIETY=@{[$ENV{VARIETY} // 'cool']} 2>&1`;
is $?, 0, 'Pawprint is installed' or BAIL_OUT($said);
my $share = "$dir/root/opt/paw/share/pawprint";
ok -e "$share/$_", "with $_" for qw(code/eventgen.pl examples/emitter.mk examples/tiny/Makefile examples/malloc/twomalloc.c examples/big.c);

# In an empty folder, which the sources are not in.
mkdir "$dir/built";
chdir "$dir/built" or die;
$said = `make -s -f $share/examples/tiny/Makefile CC='$cc' PERL='$perl' CFLAGS='-O0 -Werror' 2>&1`;
is $?, 0, 'the example builds from the installed place, in an empty folder' or BAIL_OUT($said);
is $said, '', 'without a warning';
my %ours = map { $_ => 1 } `ar t $B/lib/libpawprint.a` =~ /\S+/g;
is join(' ', grep { !$ours{$_} } `ar t build/emitter.a` =~ /\S+/g), '', 'of what is not in the library nothing is in the emitter';

{
    my $log = "$dir/tiny.paw";
    my $out = `PAWPRINT_LOG=$log build/tiny`;
    my ($got, $put) = $out =~ /^(\d+) cells got, (\d+) put$/;
    ok $got, 'it runs' or diag $out;

    my @lines = split /\n/, `$B/bin/eventcnv $log 2>$dir/err`;
    is $?, 0, 'eventcnv reads its log';
    is slurp("$dir/err"), '', 'and has nothing to say about it';
    my %count;
    ++$count{(split)[2]} for @lines;
    is $count{CellGet}, $got, 'each cell that it got';
    is $count{CellPut}, $put, 'and each that it put';
    like $lines[0], qr/^0\.000000000 \d+\/\d+ HeapOpen heap=0x[0-9a-f]+ size=200000 name="demo"$/, 'with names, parameters and letters of its own';
    like $lines[-6], qr/ HeapFull heap=0x[0-9a-f]+ size=\d+ filled=(?:1|0\.9\d+)$/, 'doubles';
    is $count{Round}, int(($got + 1 + 999) / 1000), 'and types that it defines while it runs';
    like `$B/bin/eventcnv --describe -E HeapFull $log`, qr/ heap 0x[0-9a-f]+ has no \d+ bytes: it is [01]\.?\d* full$/, 'in words';
    is scalar(() = `$B/bin/eventcnv -k Heap $log` =~ /\n/g), 2, 'its kinds can be chosen';
    like `$B/bin/eventcnv --verbose -n 1 $log`, qr/\bHeap\b/, 'and are named';
    is join('', map { s/^\S+ \S+ //r . "\n" } (split /\n/, `$B/bin/eventcnv --describe $log`)[-5 .. -1]) =~ s/0x[0-9a-f]+/ADDR/r =~ s/: [0-9.e+]+\n(?="[^"]*": ")/: $put\n/r, <<"END", 'what programs tell has no rows in its registry, and is told';
string 1 is "cells until it was full"
labels ADDR["cells until it was full"] with string "cells until it was full"
"cells until it was full": $got
"cells until it was full": $put
"cells until it was full": "no more"
END
    $out = `PAWPRINT_LOG=$dir/none.paw PAWPRINT_KINDS=Object build/tiny 2>&1`;
    like $out, qr/pawprint: kinds: .*Object.*Heap.*Cell.*Note/, 'it knows none of Pawprint\'s kinds';
    unlike `nm build/tiny`, qr/ArenaCreate|PoolAlloc/, 'nor its memory manager';
}

# A shared library, preloaded.
$said = `make -s -f $share/examples/malloc/Makefile OUT=two CC='$cc' PERL='$perl' CFLAGS='-O0 -Werror' 2>&1`;
is "$?$said", '0', 'a shared library with a malloc and a registry of its own builds, without a warning' or BAIL_OUT($said);
my $two = "$dir/built/two/libtwo.so";
is join(' ', sort grep { !/^_/ } map { /^[0-9a-f]+ [A-Z] (\w+)/ ? $1 : () } `nm -D --defined-only $two`),
    'aligned_alloc calloc free malloc malloc_usable_size memalign posix_memalign realloc', 'nothing of the emitter is seen outside';

my $work = 'my @a = map { "x" x $_ } 1 .. 2000; $_ = undef for @a[500 .. 1000]; if ($ARGV[0]) { fork for 1, 2; '
    . 'push @a, "y" x $_ for 1 .. 500; 1 while wait > 0; kill KILL => $$ if $ARGV[0] > 1 } print "done\n"';
{
    local $ENV{PAWPRINT_LOG} = "$dir/two.paw";
    is `LD_PRELOAD=$two $perl -e '$work' 2>&1`, "done\n", 'it serves a program';
}
is `$B/bin/eventcnv --check $dir/two.paw 2>&1`, '', 'its log is whole';
my $summary = `$B/bin/eventview summary $dir/two.paw`;
like $summary, qr/^allocations +\d{4,},/m, 'the views of the heap understand its events, by their names';
like $summary, qr/^unmatched +0 /m, 'and find nothing unmatched';
like `$B/bin/replay -a libc -n 1 $dir/two.paw 2>&1`, qr/libc/, 'replay runs it';
is $?, 0, 'to its end';

# Both emitters in one process: Pawprint's sees each call, and the allocator tells of it itself.  They must agree.
SKIP: {
    skip 'programs are recorded by the cool variety', 1 if ($ENV{VARIETY} // 'cool') ne 'cool';
    skip 'nothing else can be preloaded into an eventrec with a sanitizer', 1 if $ENV{SAN};

    # both($name, $log) -- the counts of all processes of a log, by Pawprint's registry and by the allocator's
    my $both = sub {
        my ($name, $log, $processes) = @_;
        is `$B/bin/eventcnv --check $log 2>&1`, '', "$name: the log is whole, and nothing is told of it";
        my (%ours, %theirs, %heaps);
        for (split /\n/, `$B/bin/eventcnv $log`) {
            my ($pid, $event, $rest) = m{^\S+ (\d+)/\d+ (\w+)(.*)} or next;
            my $its = $event eq 'HeapGrow' || $rest =~ / list=\d+$/ || $event eq 'PoolFree' && $heaps{$pid} && $rest =~ / pool=\Q$heaps{$pid}\E /;
            $heaps{$pid} = $1 if $event eq 'PoolAlloc' && $rest =~ / pool=(\S+) .*list=/;
            ++$theirs{$pid}{$1 eq 'Alloc' ? 'cells' : 'frees'} if $its && $event =~ /^Pool(Alloc|Free)$/;
            next if $its;
            ++$ours{$pid}{cells} if $event =~ /^Pool(?:Alloc|AllocZero|AllocAligned|ResizeEnd)$/;
            ++$ours{$pid}{frees} if $event eq 'PoolFree' || $event eq 'PoolResizeEnd' && $rest !~ / old=0x0 /;
        }
        is scalar(keys %ours), $processes, "$name: as many processes as there were";
        is_deeply \%theirs, \%ours, "$name: both have told of the same cells";
        return \%ours;
    };
    my $lib = "$B/lib/libpawprint.so";
    my $record = sub {
        my ($log, @words) = @_;
        return `LD_PRELOAD=$two $B/bin/eventrec --force -o $log $perl -e '$work' @words 2>&1`;
    };

    like $record->('rec.paw'), qr/\Adone\neventrec: \d+ events \(0 discarded\), [^\n]*\n\z/, 'recorded by eventrec: no warning';
    my $cells = $both->('eventrec', 'rec.paw', 1);
    cmp_ok((values %$cells)[0]{cells}, '>', 4000, 'and that is not nothing');
    my @processes = grep { /^ +\d+ +\d+ events, \d+ thread/ } split /\n/, `$B/bin/eventview rec.paw`;
    is scalar(@processes), 2, 'the summary has each emitter by itself';
    is scalar(() = `$B/bin/eventcnv -E ProcessExec rec.paw` =~ /\n/g), 1, 'and one that tells beside another is nobody who has executed something';
    like $record->('fork.paw', 1), qr/^eventrec: \d+ events \(0 discarded\)/m, 'with children';
    $both->('children', 'fork.paw', 4);
    like $record->('kill.paw', 2), qr/^eventrec: \d+ events \(0 discarded\)/m, 'with children, all killed';
    $both->('killed', 'kill.paw', 4);
    for (['ours first', "$lib $two"], ['ours last', "$two $lib"]) {
        my ($name, $preload) = @$_;
        my $log = "$dir/" . $name =~ s/ /-/r . '.paw';
        my $told = $name eq 'ours first' ? qr// : qr/pawprint: not seen: \S+: its malloc or operator new comes before libpawprint\.so[^\n]*\n/;
        like `PAWPRINT_LOG=$log LD_PRELOAD='$preload' $perl -e '$work' 2>&1`, qr/\A${told}done\n\z/,
            "without a collector, $name: only that is told which is not seen";
        if ($name eq 'ours first') {
            $both->($name, $log, 1);
            next;
        }
        # The allocator serves the program, and asks nobody behind it.
        is `$B/bin/eventcnv --check $log 2>&1`, '', "$name: the log is whole";
        cmp_ok scalar(() = `$B/bin/eventcnv -E PoolAlloc $log` =~ / list=/g), '>', 4000, 'and has what the allocator tells';
        is scalar(() = `$B/bin/eventview summary $log` =~ /^ +\d+ +\d+ events, /mg), 2, 'beside what ours does';
    }

    # eventctl sees and switches both.
    my ($in, $from);
    my $pid = do {
        local @ENV{qw(PAWPRINT_LOG LD_PRELOAD)} = ("$dir/ctl.paw", "$lib $two");
        require IPC::Open2;
        IPC::Open2::open2($from, $in, $perl, '-e', '$| = 1; while (1) { my @a = map { "x" x $_ } 1 .. 100; print "done\n"; last unless <STDIN> }');
    };
    my $on = sub { print {$in} "\n"; scalar <$from> };
    scalar <$from>;
    my $shown = `$B/bin/eventctl $pid`;
    my @registries = $shown =~ /^registry 1\.\d+\.\d+ of (\d+) events, [0-9a-f]{8}$/mg;
    is scalar(@registries), 2, 'eventctl shows both emitters, by their registries' or diag $shown;
    is scalar(() = $shown =~ /^process $pid /mg), 2, 'each as a process';
    like $shown, qr/^Heap +yes /m, 'with the kinds of the one';
    like $shown, qr/^Arena +yes /m, 'and of the other';
    is scalar(() = `$B/bin/eventctl` =~ /^$pid +perl, registry .* of \d+ events, [0-9a-f]{8}, /mg), 2, 'its list, too';
    my %sent;
    my $sent = sub { my ($kind) = @_; return [`$B/bin/eventctl $pid` =~ /^$kind +(yes|no) /mg] };
    is system("$B/bin/eventctl $pid stop"), 0, 'stop';
    is_deeply $sent->('\\w+'), [('no') x @{$sent->('\\w+')}], 'is for both';
    is system("$B/bin/eventctl $pid start"), 0, 'start';
    is_deeply [$sent->('Heap'), $sent->('Arena')], [['yes'], ['yes']], 'too';
    is system("$B/bin/eventctl $pid -Heap,-Arena"), 0, 'a list may have kinds of both';
    is_deeply [$sent->('Heap'), $sent->('Arena'), $sent->('Pool')], [['no'], ['no'], ['yes']], 'each is switched where it is';
    is system("$B/bin/eventctl $pid Heap"), 0, 'only this one';
    is_deeply [$sent->('Heap'), $sent->('Pool')], [['yes'], ['no']], 'then the others have none';
    like `$B/bin/eventctl $pid +Hap,-Heap 2>&1`, qr/no kind is called 'Hap'/, 'a name that none has is a mistake';
    is_deeply $sent->('Heap'), ['yes'], 'for which nothing is switched';
    system "$B/bin/eventctl $pid all";
    $on->();
    my $back = `$B/bin/eventctl $pid traceback 1000`;
    like $back, qr/ HeapGrow /, 'traceback has events of the one';
    like $back, qr/ ModuleLoad /, 'and of the other';
    is system("$B/bin/eventctl $pid flush"), 0, 'flush';
    close $in;
    waitpid $pid, 0;
    is `$B/bin/eventcnv --check $dir/ctl.paw 2>&1`, '', 'the log is whole';
}

# An allocator in a program that is linked with the library defines the events of allocators, which that has: it gets those.
SKIP: {
    skip 'nothing is recorded by the rash variety', 4 if ($ENV{VARIETY} // 'cool') eq 'rash';
    skip 'the library needs the sanitizer\'s', 4 if $ENV{SAN};
    open my $out, '>', 'own.c' or die;
    print $out <<'END';
#include <pawprint.h>
int main(void)
{
  static char room[4096];
  EventCode create, alloc, release;
  if (EventTypeDefine(&create, "PoolCreate", "PPS", "pool arena class", "") != 0 ||
      EventTypeDefine(&alloc, "PoolAlloc", "PAW", "pool addr size", "") != 0 ||
      EventTypeDefine(&release, "PoolFree", "PA", "pool addr", "") != 0)
    return 1;
  EventEmit(create, room, (void *)0, "ownpool");
  for (int i = 0; i < 100; ++i)
    EventEmit(alloc, room, room + 16 * i, (EventWord)16);
  for (int i = 0; i < 40; ++i)
    EventEmit(release, room, room + 16 * i);
  return 0;
}
END
    close $out;
    $said = `$cc -o own own.c -I$share/code -I$dir/root/opt/paw/include -L$B/lib -lpawprint -Wl,-rpath,$B/lib 2>&1`;
    is "$?$said", '0', 'it builds';
    is `PAWPRINT_LOG=own.paw ./own 2>&1; echo \$?`, "0\n", 'it gets them';
    like `$B/bin/eventview live own.paw 2>&1`, qr/ 60 objects, 960 bytes, class ownpool$/m, 'live has its objects';
    like `$B/bin/replay -a libc -n 1 own.paw 2>&1`, qr/libc/, 'and replay';
}

# A program with an emitter that everybody sees, built without the flags that keep it inside, beside libpawprint.so.
SKIP: {
    skip 'programs are recorded by the cool variety', 4 if ($ENV{VARIETY} // 'cool') ne 'cool';
    my $flags = "-std=gnu11 -O0 -D_GNU_SOURCE -Iseen -I$share/examples/tiny -I$share/code";
    $said = `make -s -f $share/examples/tiny/Makefile OUT=seen CC='$cc' PERL='$perl' EMITTER_CFLAGS='$flags' EMITTER_LIBS='-rdynamic -ldl -lpthread' 2>&1`;
    is "$?$said", '0', 'the example builds with all of its names visible';
    my ($got, $put) = `$B/bin/eventrec -o seen.paw seen/tiny 2>err` =~ /^(\d+) cells got, (\d+) put$/;
    like slurp('err'), qr/\Aeventrec: \d+ events \(0 discarded\), [^\n]*\n\z/, 'and is recorded with ours';
    is `$B/bin/eventcnv --check seen.paw 2>&1`, '', 'its log is whole';
    is scalar(() = `$B/bin/eventcnv -E CellGet,PoolCreate,Round seen.paw 2>err` =~ /\n/g), ($got // 0) + 1 + int((($got // 0) + 1000) / 1000), 'and has what both have told';
}

chdir '/';
done_testing;
