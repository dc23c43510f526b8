#!/usr/bin/perl
# symbols.t -- functions, files and lines, held against what addr2line and nm say of the same files
#
# Takes long.
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp spew run $Dir);
use Config;
use JSON::PP ();
use Profile qw(profile);
use Test::More;

my $B = $ENV{B} // 'build/cool';
my $objects = ($ENV{VARIETY} // 'cool') eq 'cool' && !$ENV{SAN};
my $seed = $ENV{SEED} // time;
diag "SEED=$seed";
srand $seed;

sub has { my ($program) = @_; return scalar grep { -x "$_/$program" } split /:/, $ENV{PATH} }

# Code with functions inlined into others, in folders that debug information names in several ways.
my @sources = map { "code/symbols/$_.c" } qw(inflate functable dwarflines);

# built($name, $compiler, @flags) -- a shared library of the sources; undef if that does not work
sub built {
    my ($name, $compiler, @flags) = @_;

    return undef unless has($compiler);
    my ($status) = run($compiler, qw(-std=gnu11 -O2 -fPIC -shared -D_GNU_SOURCE -Icode), @flags, '-o', "$Dir/$name",
        @sources);
    return $status == 0 ? "$Dir/$name" : undef;
}

# addresses($file, $n) -- inside functions, by nm
sub addresses {
    my ($file, $n) = @_;
    my @functions = map { /^(\S+) (\S+) [tTwW] / && hex($2) > 0 ? [hex $1, hex $2] : () } qx(nm -S $file 2>/dev/null);

    return map { my $f = $functions[rand @functions]; sprintf '%x', $f->[0] + int rand $f->[1] } 1 .. $n;
}

# answers($text) -- of each address its functions and lines
sub answers {
    my ($text) = @_;
    my @answers;

    for (split /\n/, $text) {
        s/ \(discriminator \d+\)$//;
        s/:\?$/:0/;
        s/^:/??:/;
        s/^\(inlined by\) //;
        if (/^0x[0-9a-f]+$/) { push @answers, [] } else { push @{$answers[-1]}, s{/\./}{/}gr }
    }
    return map { join "\n", @$_ } @answers;
}

# ours($file, $addresses, @more) -- what we say; names as the linker has them
sub ours {
    my ($file, $addresses, @more) = @_;

    spew("$Dir/addresses", join '', map { "0x$_\n" } @$addresses);
    my ($status, $out, $err) = run('sh', '-c', "exec env PATH=/nowhere $B/prog/symbolize $file @more < $Dir/addresses");
    return ($status, $err, answers($out));
}

# compared($what, $file, $oracle, $of) -- the same as an oracle says, for the file or for another one with the same code
sub compared {
    my ($what, $file, $oracle, $of, @more) = @_;

  SKIP: {
        skip "$what: not compiled", 1 unless $file && -e $file;
        skip "$what: no $oracle", 1 unless has($oracle);
        skip "$what: no nm", 1 unless has('nm');
        my @addresses = addresses($of // $file, 3000);
        my ($status, $err, @ours) = ours($file, \@addresses, @more);
        my @theirs = answers((run($oracle, qw(-a -f -i -e), $of // $file, map { "0x$_" } @addresses))[1]);
        my @wrong = grep { $ours[$_] ne $theirs[$_] } 0 .. $#addresses;
        my $inlined = grep { /\n.*\n/ } @ours;
        ok($status == 0 && @wrong == 0 && $inlined > 0, "$what: " . @addresses . " addresses, $inlined of inlined functions")
            or diag map { "$addresses[$_]: ours\n$ours[$_]\ntheirs\n$theirs[$_]\n" } @wrong[0 .. (@wrong > 3 ? 2 : $#wrong)];
    }
    return;
}

my %file;
for my $compiler (qw(gcc clang)) {
    for my $flags ('-g -gdwarf-4', '-g -gdwarf-5', '-g -gdwarf-5 -gz', '-g -gdwarf-4 -gdwarf64', '-gdwarf-3') {
        my $name = "$compiler$flags" =~ s/[ ]//gr;
        next if $flags =~ /64/ && $compiler eq 'clang';
        $file{$name} = built($name, $compiler, split / /, $flags);
        # GNU's addr2line of 2023 does not find the inlined functions of clang's DWARF 5.
        compared("$compiler $flags", $file{$name}, $compiler eq 'clang' && $flags =~ /5/ ? 'llvm-addr2line' : 'addr2line');
    }
}

# ---- Assembly written by hand, whose symbols need not have a type or a size ----

SKIP: {
    skip 'no gcc, or no nm', 1 unless has('gcc') && has('nm');
    spew("$Dir/hand.s", <<'S');
        .text
        .globl typed, global, sized
        .type typed, @function
typed:  nop
        ret
local:  nop
        ret
global: nop
        ret
        .type sized, @function
sized:  nop
inner:  nop
        ret
        .size sized, . - sized
        .section .note.GNU-stack, "", @progbits
S
    my ($status) = run('gcc', '-shared', '-nostdlib', '-o', "$Dir/hand", "$Dir/hand.s");
    my %at = map { /^(\S+) . (\w+)$/ ? ($2 => hex $1) : () } qx(nm $Dir/hand);
    skip 'it cannot be linked', 1 if $status != 0 || !$at{typed};
    my @names = map { s/\n.*//sr } (ours("$Dir/hand", [map { sprintf '%x', $_ } map { ($_, $_ + 1) } @at{qw(typed local global sized inner)}]))[2 .. 11];
    is("@names", 'typed typed local local global global sized sized sized sized',
        'a symbol without type and size names what follows it, but not within a function');
}

# ---- Files that were split, stripped, replaced, taken away ----

my $whole = $file{'gcc-g-gdwarf-5'};
SKIP: {
    skip 'no gcc, or no objcopy', 8 unless $whole && has('objcopy') && has('nm') && has('readelf');
    my @addresses = addresses($whole, 200);
    my (undef, undef, @whole) = ours($whole, \@addresses);
    my ($build) = (run('readelf', '-n', $whole))[1] =~ /Build ID: (\w+)/;
    skip 'no build id', 8 unless $build;

    mkdir "$Dir/split";
    run('objcopy', '--only-keep-debug', $whole, "$Dir/split/lib.debug");
    run('objcopy', '--strip-debug', "--add-gnu-debuglink=$Dir/split/lib.debug", $whole, "$Dir/split/lib");
    my ($status, $err, @split) = ours("$Dir/split/lib", \@addresses);
    is_deeply(\@split, \@whole, 'debug information beside the file is found by its name');

    mkdir "$Dir/$_" for 'debug', 'debug/.build-id', 'debug/.build-id/' . substr $build, 0, 2;
    my $kept = "$Dir/debug/.build-id/" . substr($build, 0, 2) . '/' . substr($build, 2) . '.debug';
    rename "$Dir/split/lib.debug", $kept;
    (undef, $err, @split) = ours("$Dir/split/lib", \@addresses);
    isnt($split[0], $whole[0], 'and not if it is gone');
    like($split[0], qr/^[\w.]+\n\?\?:0$/, 'but then functions are known');
    local $ENV{PAWPRINT_DEBUG_PATH} = "$Dir/none:$Dir/debug";
    (undef, $err, @split) = ours("$Dir/split/lib", \@addresses);
    is_deeply(\@split, \@whole, 'it is found by its build id in the folders of PAWPRINT_DEBUG_PATH');
    run('objcopy', '--compress-debug-sections', $kept);
    (undef, $err, @split) = ours("$Dir/split/lib", \@addresses);
    is_deeply(\@split, \@whole, 'also if it is compressed');
    (undef, $err, @split) = ours("$Dir/split/gone", \@addresses, $build);
    is_deeply(\@split, \@whole, 'even if the file itself is gone');
    like($err, qr/gone: No such file or directory/, 'which is told');

    ($status, $err, @split) = ours($whole, \@addresses, '00' x 20);
    like("$err$split[0]", qr/another build id than the module .*\?\?:0$/s, 'a file with another build id is another one');
    ($status, $err, @split) = ours($whole, \@addresses, '-', 1_000_000_000);
    like("$err$split[0]", qr/changed after it was loaded.*\?\?:0$/s, 'so is one that is younger, if no build id is known');

    delete $ENV{PAWPRINT_DEBUG_PATH};
    run('objcopy', '--strip-all', '--remove-section=.gnu_debuglink', $whole, "$Dir/stripped");
    my %dynamic = map { /^(\S+) T (\S+)/ ? ($2 => 1) : () } qx(nm -D $Dir/stripped);
    my @known = grep { (split /\n/, $whole[$_], 2)[0] =~ /^\w+$/ } 0 .. $#addresses;
    ($status, $err, @split) = ours("$Dir/stripped", \@addresses);
    is(scalar(grep { $split[$_] ne "??\n??:0" && !$dynamic{(split /\n/, $split[$_])[0]} } @known), 0,
        'a stripped file has the names of its dynamic symbols');
    is(scalar(() = $err =~ /no symbols for some of its code/g), 1, 'and what it lacks is told once');
}

# ---- A debug file that has no end ----

SKIP: {
    skip 'no gcc, or no objcopy', 4 unless $whole && has('objcopy') && has('nm');
    my ($bare, $debug) = ("$Dir/bare", "$Dir/bare.debug");
    run('objcopy', '--only-keep-debug', '--remove-section=.note.gnu.build-id', $whole, $debug);
    run('objcopy', '--strip-debug', '--remove-section=.note.gnu.build-id', "--add-gnu-debuglink=$debug", $whole, $bare);
    my @addresses = addresses($whole, 20);
    my (undef, $err, @lines) = ours($bare, \@addresses);
    unlike("$err$lines[0]", qr/debug file|\?\?:0/, 'without a build id a debug file is known by its checksum');
    skip 'no sparse files here', 3 unless truncate $debug, 8 << 40;
    my ($status, $out);
    ($status, $out, $err) = run('sh', '-c', "exec timeout 10 $B/prog/symbolize $bare < $Dir/addresses");
    is($status, 0, 'one of 8 TiB is not read to its end');
    like($out, qr/^\w+\n\?\?:0$/m, 'functions are known all the same');
    is(scalar(() = $err =~ m{/bare: its debug file is left out: .*--build-id}g), 1, 'and what is left out is told once');
}

# ---- Names that stand in a file that several share (.gnu_debugaltlink), as dwz makes them ----

# linked($name, $code, @flags) -- a shared library of assembler code, in which labels are in no symbol table
sub linked {
    my ($name, $code, @flags) = @_;
    my ($status) = run(qw(gcc -shared -nostdlib -o), "$Dir/$name", @flags, spew("$Dir/$name.s", $code));
    return $status == 0;
}

SKIP: {
    my $id = join '', map { sprintf '%02x', $_ } 1 .. 20;
    skip 'no gcc, or no readelf', 4 unless has('gcc') && has('readelf');
    # A string at 4, and at 12 a function with that name.
    my $theirs = linked('shared.debug', <<'END', "-Wl,--build-id=0x$id");
    .section .debug_str, "", @progbits
    .string "pad"
    .string "theirName"
    .section .debug_abbrev, "", @progbits
    .byte 1, 0x3c, 1, 0, 0
    .byte 2, 0x2e, 0, 0x03, 0x0e, 0, 0
    .byte 0
    .section .debug_info, "", @progbits
    .long 2f - 1f
1:  .short 4
    .long 0
    .byte 8, 1, 2
    .long 4
    .byte 0
2:
END
    my $bytes = join ', ', map { "0x$_" } $id =~ /../g;
    # One function has its name there, another one is what is described there.
    my $ours = linked('shares', <<"END");
    .text
.Lone: nop
    nop
.Ltwo: nop
    ret
.Lend:
    .section .debug_abbrev, "", \@progbits
    .byte 1, 0x11, 1, 0x11, 0x01, 0x12, 0x06, 0, 0
    .byte 2, 0x2e, 0, 0x03, 0xa1, 0x3e, 0x11, 0x01, 0x12, 0x06, 0, 0
    .byte 3, 0x2e, 0, 0x31, 0xa0, 0x3e, 0x11, 0x01, 0x12, 0x06, 0, 0
    .byte 0
    .section .debug_info, "", \@progbits
    .long 2f - 1f
1:  .short 4
    .long 0
    .byte 8, 1
    .quad .Lone
    .long .Lend - .Lone
    .byte 2
    .long 4
    .quad .Lone
    .long .Ltwo - .Lone
    .byte 3
    .long 12
    .quad .Ltwo
    .long .Lend - .Ltwo
    .byte 0
2:
    .section .gnu_debugaltlink, "", \@progbits
    .string "shared.debug"
    .byte $bytes
END
    skip 'the assembler does not take this', 4 unless $theirs && $ours;
    my ($text) = (run('readelf', '-SW', "$Dir/shares"))[1] =~ /\] \.text +PROGBITS +(\w+)/;
    my @places = map { sprintf '%x', hex($text) + $_ } 0, 3;
    my ($status, $err, @names) = ours("$Dir/shares", \@places);
    is_deeply(\@names, ["theirName\n??:0", "theirName\n??:0"], 'a file beside that several share has the names') or diag $err;
    mkdir "$Dir/$_" for 'many', 'many/.build-id', 'many/.build-id/' . substr $id, 0, 2;
    rename "$Dir/shared.debug", "$Dir/many/.build-id/" . substr($id, 0, 2) . '/' . substr($id, 2) . '.debug';
    ($status, $err, @names) = ours("$Dir/shares", \@places);
    is("@names", "??\n??:0 ??\n??:0", 'where it is gone there are none');
    local $ENV{PAWPRINT_DEBUG_PATH} = "$Dir/many";
    ($status, $err, @names) = ours("$Dir/shares", \@places);
    is_deeply(\@names, ["theirName\n??:0", "theirName\n??:0"], 'it is found by its build id');
    linked('shared.debug', "    .section .debug_str, \"\", \@progbits\n    .string \"pad\"\n    .string \"another\"\n",
           '-Wl,--build-id=0x' . 'ff' x 20);
    ($status, $err, @names) = ours("$Dir/shares", \@places);
    is($names[0], "theirName\n??:0", 'and one with another build id is another one');
}

# ---- What is no module ----

SKIP: {
    skip 'no mkfifo', 1 if system('mkfifo', "$Dir/fifo") != 0;
    symlink '/dev/tty', "$Dir/tty";
    for my $path ("$Dir/fifo", '/dev/zero', "$Dir/tty", '/proc/kmsg', 'Makefile', "$Dir", '/proc/self/mem') {
        my ($status, $err, @none) = ours($path, ['1000']);
        ok($status == 0 && "@none" eq "??\n??:0", "$path is no module");
    }
}

# ---- A recording ----

SKIP: {
    skip 'what is sanitized, or has no events of objects, is not recorded here', 6 unless $objects && has('g++');
    spew("$Dir/site.cc", <<'END');
#include <cstdlib>
struct Pool { void *get(size_t n); };
static inline void *inner(size_t n)
{
  void *p = malloc(n);
  asm volatile("" : : "r"(p) : "memory");
  return p;
}
__attribute__((noinline)) void *Pool::get(size_t n)
{
  void *p = inner(n);
  asm volatile("" : : "r"(p) : "memory");
  return p;
}
int main() { Pool pool; for (int i = 0; i < 10; ++i) free(pool.get(100 + i)); return 0; }
END
    run('g++', qw(-O2 -g -o), "$Dir/site", "$Dir/site.cc");
    run("$B/bin/eventrec", qw(-s 1 -o), "$Dir/site.paw", "$Dir/site");
    my $words = "inner at $Dir/site.cc:5 (inlined by) Pool::get at $Dir/site.cc:11";
    $words =~ s/Pool::get/_ZN4Pool3getEm/ unless has('c++filt');
    my ($status, $out, $err) = run("$B/bin/eventcnv", '--symbols', "$Dir/site.paw");
    like($out, qr/ size=104 site=0x[0-9a-f]+\["\Q$words\E"\]\n/, 'text has the functions of a site behind its address');
    ($status, $out) = run("$B/bin/eventcnv", qw(--symbols --describe), "$Dir/site.paw");
    like($out, qr/ allocates 104 bytes at 0x[0-9a-f]+ for 0x[0-9a-f]+\["\Q$words\E"\]\n/, 'so has the description');
    ($status, $out) = run("$B/bin/eventcnv", qw(--symbols -f json), "$Dir/site.paw");
    my ($event) = grep { ($_->{params}{size} // 0) == 104 && $_->{params}{site} }
        map { JSON::PP->new->decode($_) } split /\n/, $out;
    is($event->{params}{site_symbol}, $words, 'json has a member for them');
    ($status, $out) = run("$B/bin/eventcnv", qw(--symbols -f csv), "$Dir/site.paw");
    my @columns = split /,/, ($out =~ /^(.*)\n/)[0];
    my ($column) = grep { $columns[$_] eq 'site_symbol' } 0 .. $#columns;
    my ($line) = grep { /,PoolAllocSite,/ && /,104,/ } split /\n/, $out;
    is((split /,/, $line)[$column] // '', "\"$words\"", 'csv has a column');
    ($status, $out) = run("$B/bin/eventcnv", qw(--symbols -f folded), "$Dir/site.paw");
    like($out, qr/^site;(?:Pool::get|_ZN4Pool3getEm);inner 1045$/m, 'folded has a frame for each function');
    ($status, $out) = run("$B/bin/eventcnv", qw(-f folded), "$Dir/site.paw");
    like($out, qr/^site;site\+0x[0-9a-f]+ 1045$/m, 'and without --symbols the module');

    # So have stacks, with all their functions.
    my $functions = 'inner < ' . (has('c++filt') ? 'Pool::get' : '_ZN4Pool3getEm') . ' < main';
    run("$B/bin/eventrec", qw(-s 16 -o), "$Dir/stacks.paw", "$Dir/site");
    ($status, $out) = run("$B/bin/eventcnv", '--symbols', "$Dir/stacks.paw");
    like($out, qr/ size=104 stack=\d+\["\Q$functions\E(?: < [^" ]+)*"\]\n/, 'text has the functions of a stack');
    like($out, qr/ StackFrame stack=\d+ /, 'the events that tell of frames have their own alone');
    ($status, $out) = run("$B/bin/eventcnv", qw(--symbols -E PoolAllocStack -e), 'size == 104', "$Dir/stacks.paw");
    like($out, qr/\A[^\n]* stack=\d+\["\Q$functions\E/, 'also where the frames are not chosen');
    ($status, $out) = run("$B/bin/eventcnv", qw(--symbols -f json -E PoolAllocStack -e), 'size == 104', "$Dir/stacks.paw");
    like(JSON::PP->new->decode($out)->{params}{stack_symbol}, qr/^\Q$functions\E/, 'json has a member for them');
    ($status, $out) = run("$B/bin/eventcnv", qw(--symbols -f csv -E PoolAllocStack -e), 'size == 104', "$Dir/stacks.paw");
    like($out, qr/,stack_symbol.*\n.*,"\Q$functions\E/, 'and csv a column');
    run("$B/bin/eventrec", qw(-s 2 -o), "$Dir/shallow.paw", "$Dir/site");
    ($status, $out) = run("$B/bin/eventcnv", '--symbols', "$Dir/shallow.paw");
    like($out, qr/ size=104 stack=\d+\["[^"]* < \.\.\."\]\n/, 'what lies beyond the depth is not known');

    ($status, $out) = run("$B/bin/eventview", qw(sites --json), "$Dir/site.paw");
    my %by = map { $_->{function} // '' => "$_->{allocated_objects} $_->{allocated_bytes}" }
        grep { ($_->{module} // '') =~ m{/site$} } @{JSON::PP->new->decode($out)->{sites}};
    is_deeply(\%by, {inner => '10 1045'}, 'a function that was inlined is a caller of its own');

    run("$B/bin/eventcnv", qw(--symbols -f pprof -o), "$Dir/site.pb", "$Dir/site.paw");
    my ($sample) = grep { $_->{stack}[0] eq 'inner' } @{profile("$Dir/site.pb")->{samples}};
    $words = join ' (inlined by) ', map { "$sample->{stack}[$_] at $sample->{lines}[$_]" } 0 .. $#{$sample->{stack}};
    is($words, $event->{params}{site_symbol}, 'a profile has the functions of a call, with files and lines');

    mkdir "$Dir/new\nline" or die "mkdir: $!";
    link "$Dir/site", "$Dir/new\nline/site" or die "link: $!";
    run("$B/bin/eventrec", qw(-s 1 -o), "$Dir/newline.paw", "$Dir/new\nline/site");
    ($status, $out) = run("$B/bin/eventview", qw(sites --json), "$Dir/newline.paw");
    my ($own) = grep { ($_->{function} // '') eq 'inner' } @{JSON::PP->new->decode($out)->{sites}};
    is($own->{module}, "$Dir/new\nline/site", 'a path may have a newline, which the kernel tells as \\012');

    SKIP: {
        skip 'the code is for x86-64', 2 unless $Config{archname} =~ /x86_64/;
        spew("$Dir/entered.c", <<'END');
#include <stdlib.h>
void enters(void);
/* malloc returns to `entered`, which nothing calls, and before which no function is. */
__asm__(".text\n.type before, @function\nbefore: ret\n.size before, .-before\n.skip 16, 0x90\n"
        ".type entered, @function\nentered: add $8, %rsp\nret\n.size entered, .-entered\n"
        ".globl enters\n.type enters, @function\nenters: sub $8, %rsp\nmov $4321, %edi\nlea entered(%rip), %rax\n"
        "push %rax\njmp malloc@plt\n.size enters, .-enters\n.section .note.GNU-stack, \"\", @progbits\n.text\n");
int main(void) { enters(); return 0; }
END
        run('gcc', qw(-O1 -o), "$Dir/entered", "$Dir/entered.c");
        run("$B/bin/eventrec", qw(-s 1 -o), "$Dir/entered.paw", "$Dir/entered");
        ($status, $out, $err) = run("$B/bin/eventcnv", '--symbols', "$Dir/entered.paw");
        like($out, qr/ size=4321 site=0x[0-9a-f]+\["entered in entered"\]\n/, 'a function that is entered by a return is found');
        unlike($err, qr/no symbols/, 'without a word');
    }

    # A log that has its symbols is read where the program is gone.
    my (undef, $text) = run("$B/bin/eventcnv", '--symbols', "$Dir/site.paw");
    ($status, $out, $err) = run("$B/bin/eventcnv", qw(-f paw --symbols -o), "$Dir/symbols.paw", "$Dir/site.paw");
    is($status, 0, 'a log gets its symbols') or diag $err;
    rename "$Dir/site", "$Dir/gone";
    ($status, $out, $err) = run("$B/bin/eventcnv", '--check', "$Dir/symbols.paw");
    is("$status$out$err", '0', 'it is whole');
    ($status, $out, $err) = run("$B/bin/eventcnv", qw(--symbols -k -User), "$Dir/symbols.paw");
    my @had = sort grep { / site=/ } split /\n/, $text;
    is_deeply([sort grep { / site=/ } split /\n/, $out], \@had, 'where the program is gone it has all that was known');
    unlike($err, qr/site: No such file/, 'and no file is looked for');
    ($status, $out, $err) = run("$B/bin/eventcnv", qw(--describe -E), "SymbolFunction,SymbolFile", "$Dir/symbols.paw");
    like($out, qr/is in function "inner" \(frame 0\)\n.* is from line 5 of "\Q$Dir\E\/site.cc" \(frame 0\)\n/,
        'the symbols are events');
    run("$B/bin/eventcnv", qw(-f paw -E PoolAllocSite -o), "$Dir/again.paw", "$Dir/symbols.paw");
    ($status, $out, $err) = run("$B/bin/eventcnv", qw(--symbols), "$Dir/again.paw");
    is_deeply([sort grep { / site=/ } split /\n/, $out], \@had, 'a part of it has them, too');
    rename "$Dir/gone", "$Dir/site";
    ($status, $out, $err) = run("$B/bin/eventcnv", qw(--symbols --follow), "$Dir/site.paw");
    is($status, 2, '--symbols is not for a log that is followed');
}
# A function that a program has compiled itself, by the file that it leaves: what V8 and Java write when asked.
SKIP: {
    skip 'programs are recorded by the cool variety', 1 unless $objects;
    my ($status, $path, $err) = run("$B/bin/eventrec", '-s', 8, '-o', "$Dir/compiled.paw", '--', "$B/prog/compiled");
    skip 'no code is compiled here', 1 if $status == 77;
    chomp $path;
    is($status, 0, 'a program that compiles is recorded') or diag $err;
    my %by = map { $_->{function} // '' => "$_->{allocated_objects} $_->{allocated_bytes}" }
        @{JSON::PP->new->decode((run("$B/bin/eventview", qw(sites --json), "$Dir/compiled.paw"))[1])->{sites}};
    is($by{'jitted function'}, '7 ' . 7 * 4711, 'what it compiled is a caller by its name');
    my $java = (run("$B/bin/eventrec", '-s', 1, '-o', "$Dir/java.paw", '--', "$B/prog/compiled", 'java'))[1];
    like((run("$B/bin/eventview", 'sites', "$Dir/java.paw"))[1], qr/ jitted function$/m, 'also where numbers have 0x before them');
    unlink $java =~ s/\n//r;
    my ($text) = (run("$B/bin/eventcnv", qw(--symbols -f folded), "$Dir/compiled.paw"))[1];
    like($text, qr/^compiled(?:;[^;]+)*;jitted function @{[7 * 4711]}$/m, 'and so it is in folded stacks');
    ($status, my $out, $err) = run("$B/bin/eventcnv", qw(-f paw --symbols -o), "$Dir/told.paw", "$Dir/compiled.paw");
    unlink $path;
    ok(!-e $path, 'when the file is gone');
    ($text) = (run("$B/bin/eventcnv", qw(--symbols), "$Dir/told.paw"))[1];
    my $named = () = $text =~ /jitted function/g;
    cmp_ok($named, '>', 0, 'a log that was given its symbols still has the name');
    ($text) = (run("$B/bin/eventcnv", qw(--symbols), "$Dir/compiled.paw"))[1];
    unlike($text, qr/jitted function/, 'and one that was not has it no more');
}
done_testing();
