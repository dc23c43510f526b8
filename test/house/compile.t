# compile.t -- annotations that must compile, and annotations that must not
#
# Takes long.
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw($Dir run spew);
use Registry;
use Test::More;

plan skip_all => 'the same with and without sanitizers' if $ENV{SAN};

my $perl = $ENV{PERL} || $^X;
my $text = version();
my %event = (P => 'One', A => 'Two', W => 'Three', U => 'Four', D => 'Five', S => 'Six', PAW => 'Seven', 0 => 'Eight');
my $code = 0x100;
$text .= event($event{$_}, sprintf('0x%04x', $code++), $_, always => $_ eq 'PAW' ? 'FALSE' : 'TRUE')
    for qw(P A W U D S PAW 0);
spew("$Dir/eventdef.h", $text);
my ($status, $out, $err) = run($perl, 'code/eventgen.pl', "$Dir/eventdef.h");
is $status, 0, 'the registry is right' or diag $err;
spew("$Dir/eventgen.h", $out);

my $values = <<'END';
enum Colour { RED = 1, BLUE = 2 };
struct Bits { unsigned few : 3; long many : 40; };
union Either { void *p; Word w; };
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
int main(void)
{
  char c = 'c'; signed char sc = 1; unsigned char uc = 2; short s = 3; unsigned short us = 4; int i = 5;
  unsigned u = 6; long l = 7; unsigned long ul = 8; long long ll = 9; unsigned long long ull = 10; _Bool b = 1;
  enum Colour colour = BLUE; struct Bits bits = {1, 2}; union Either either = {0}; size_t size = 11;
  float f = 1; double d = 2; long double ld = 3; const volatile int cvi = 4; const double cd = 5;
  char text[10] = "text"; const char *cs = text; char *const sc_ = text; unsigned char bytes[4] = {0};
  void *p = &i; const void *cp = p; volatile int *vp = &i; int *restrict rp = &i; int array[3] = {0};
  Addr addr = (Addr)p; struct Bits *sp = &bits; void (*function)(void) = 0; uint16_t u16 = 1; int64_t i64 = 2;
END

sub source { return stubs() . $values . "  $_[0]\n  return 0;\n}\n" }

my @pointers = qw(p cp vp rp array addr sp cs text bytes &i &bits main function NULL (void*)0 &array "text");
my @integers = qw(c sc uc s us i u l ll ull b colour RED bits.few bits.many size cvi u16 i64 sizeof(i) 'c' 1 -1 0ul
                  i==1 i++ TRUE either.w);
my @doubles = qw(f d cd 1.0 1.0f f*2 d+i);
my @strings = qw(cs text sc_ "text" text+1 NULL?cs:text);
my %fits = (P => \@pointers, A => \@pointers, W => \@integers, U => \@integers, D => \@doubles, S => \@strings);
my %fitsNot = (
    P => [qw(i 0 size either.w colour b f d ld bits either)],
    A => [qw(i 0 size ul f d bits either)],
    W => [qw(p cp addr array cs NULL "text" function f d ld 1.0 bits either)],
    U => [qw(p cp addr array cs NULL "text" function f d ld 1.0 bits either)],
    D => [qw(p addr array cs NULL i u l b colour 1 ld bits either)],
    S => [qw(p addr array bytes i 0 f NULL vp bits)],
);

for my $cc (compilers()) {
    for my $letter (qw(P A W U D S)) {
        my $macro = "EVENT_$letter($event{$letter}, ";
        my $all = join ' ', map { "$macro$_);" } @{$fits{$letter}};

        is compileFails($cc, source($all), "$Dir/program"), '', "$letter takes @{$fits{$letter}} ($cc)";
        # One compilation each, or the first error would hide that the others are none.  -w: the errors are no warnings.
        my @taken = grep { compileFails($cc, source("$macro$_);"), "$Dir/program", '-w', '-fsyntax-only') eq '' }
                    @{$fitsNot{$letter}};
        is "@taken", '', "$letter takes none of @{$fitsNot{$letter}} ($cc)";
    }
    my %wrong = (
        "another event's macro"            => 'EVENT_P(Seven, p);',
        'fewer parameters than registered' => 'EVENT_PAW(Seven, p, addr);',
        'more parameters than registered'  => 'EVENT_PAW(Seven, p, addr, 1, 2);',
        'an event that is not registered'  => 'EVENT_P(Ten, p);',
        'a format that no event has'       => 'EVENT_WW(Seven, 1, 2);',
        'a parameter where there is none'  => 'EVENT_0(Eight, 1);',
    );
    for my $what (sort keys %wrong) {
        isnt compileFails($cc, source($wrong{$what}), "$Dir/program", '-w'), '', "$what does not compile ($cc)";
    }
    like compileFails($cc, source('EVENT_P(Seven, p);'), "$Dir/program", '-w'), qr/EventSevenFORMAT_P\b/,
        "the message names event and format ($cc)";
    like compileFails($cc, source('EVENT_P(One, i);'), "$Dir/program", '-w'), qr/event: P takes a pointer/,
        "the message says what fits ($cc)";
    is compileFails($cc, source('if (i) EVENT_0(Eight); else EVENT_P(One, p);'), "$Dir/program"), '',
        "an annotation is one statement ($cc)";
}

# ---- When arguments are evaluated, and what the varieties leave

sub printed {
    my ($statements, @flags) = @_;
    my $message = compileFails($ENV{CC} || 'cc', source($statements), "$Dir/program", @flags);

    return $message ne '' ? $message : (run("$Dir/program"))[1];
}
my $last = ' printf("%d\n", i);';
is printed("EVENT_W(Three, i++);$last"), "kind=0 size=16 code=102 0500000000000000\n6\n", 'arguments are evaluated once'
    if length(pack 'J', 0) == 8 && unpack('C', pack 'S', 1) == 1;
is printed("stubWanted = 0; EVENT_W(Three, i++);$last"), "5\n", 'an event that is not wanted evaluates none';
like printed("stubRoom = 0; EVENT_W(Three, i++);$last"), qr/^kind=0 size=\d+6\n$/, 'without room nothing is committed';
like printed("stubRoom = 0; EVENT_S(Six, text);$last"), qr/^kind=0 size=135\n$/, 'nor copied';
like printed('int event = 1, header = 2, room = 3, length = 4; EVENT_W(Three, event + header + room + length);'),
    qr/ 0a0+$|0a$/m, "the caller's names are its own";
my $both = "EVENT_PAW(Seven, p, addr, i++); EVENT_W(Three, i++);$last";
like printed($both), qr/code=106.*code=102.*\n7\n$/s, 'cool has all events';
like printed($both, '-DVARIETY_HOT'), qr/\A[^\n]*code=102[^\n]*\n6\n\z/, 'hot has those registered with always=TRUE';
is printed($both, '-DVARIETY_RASH'), "5\n", 'rash has none';
isnt printed('EVENT_P(One, i);', '-DVARIETY_RASH'), '', 'and still looks at the types';
is compileFails($ENV{CC} || 'cc', source($both), "$Dir/program", '-O1', '-DVARIETY_RASH'), '',
    'rash compiles optimised';
SKIP: {
    skip 'no nm', 1 if system('command -v nm >/dev/null 2>&1') != 0;
    unlike +(run('nm', "$Dir/program"))[1], qr/EventReserve|EventCommit/, "no code is left of rash's events";
}

done_testing;
