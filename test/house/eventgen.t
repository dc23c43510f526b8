# eventgen.t -- the generator: every error is named and nothing is written; every format compiles and works
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
my $registry = "$Dir/little.h";

# Generates from a registry's text: status, output, messages.
sub generate {
    my ($text) = @_;

    spew($registry, $text);
    return run($perl, 'code/eventgen.pl', $registry);
}

# The generator refuses: this message, at this line (counted behind version(), which has 10), and no output.
sub refuses {
    my ($sentence, $text, $line, $message) = @_;
    my ($status, $out, $err) = generate(version() . $text);
    my $at = "$registry:" . (10 + $line) . ': ';

    subtest $sentence => sub {
        is $status, 1, 'status 1';
        is $out, '', 'nothing on standard output';
        like $err, qr/^\Q$at\E.*$message/m, "names file, line and reason";
        unlike $err, qr/ at \S+ line \d+/, 'no stack trace';
    };
}

# ---- Errors

my $foo = event('Foo', '0x0101', 'PAW');
refuses('a code used twice', $foo . event('Bar', '0x0101', 'P'), 6, 'code 0x0101 is used twice: also for Foo');
refuses('a name used twice', $foo . event('Foo', '0x0102', 'P'), 6, 'name Foo is used twice: also in line 11');
refuses('codes that do not rise', event('Bar', '0x0102', 'P') . $foo, 4, 'codes must rise');
refuses('a retired code, before', "RETIRED(Old, 0x0101)\n$foo", 2, 'code 0x0101 is used twice: also for Old');
refuses('a retired code, behind', "${foo}RETIRED(Old, 0x0101)\n", 6, 'code 0x0101 is used twice: also for Foo');
refuses('a retired name', "RETIRED(Foo, 0x0100)\n$foo", 2, 'name Foo is used twice');
refuses("a code of the file format's", event('Foo', '0x00ff', 'P'), 1, 'code 0x00ff is not within 0x0100 to 0x7fff');
refuses('code 0', event('Foo', '0', 'P'), 1, 'code 0x0000 is not within');
refuses('a code of types defined at run time', event('Foo', '0x8000', 'P'), 1, 'code 0x8000 is not within');
refuses('a code that is no number', event('Foo', 'CODE', 'P'), 1, 'RELATION: argument 2 is no number: CODE');
refuses('a code that C reads as octal', event('Foo', '0601', 'P'), 1, 'is no number: 0601');
refuses('a code that is far too long', event('Foo', '0x100000101', 'P'), 1, 'is no number');
refuses('an unknown kind', event('Foo', '0x0101', 'P', kind => 'Arean'), 1, 'no kind is called Arean');
refuses('always that is neither', event('Foo', '0x0101', 'P', always => 'MAYBE'), 1, 'always is TRUE or FALSE');
refuses('a letter that is no format letter', event('Foo', '0x0101', 'PXW'), 1, 'format letter X in PXW');
refuses('a small letter', event('Foo', '0x0101', 'p'), 1, 'format letter p in p');
refuses('S that is not last', event('Foo', '0x0101', 'PSW'), 1, 'format PSW: S is not last');
refuses('two S', event('Foo', '0x0101', 'SS'), 1, 'format SS: S is not last');
refuses('a format with 33 letters', event('Foo', '0x0101', 'W' x 33), 1, 'has more than 32 letters');
refuses('a name that is none', event('Fo-o', '0x0101', 'P'), 1, 'does not parse');
refuses('a name that begins with a digit', event('1Foo', '0x0101', 'P'), 1, 'argument 1 is no identifier: 1Foo');
refuses('a kind used twice', "KIND(Pool, 7, \"again\")\n", 1, 'kind Pool is registered twice');
refuses('a kind with a long name', "KIND(KindOfSixteenLet, 7, \"long\")\n", 1, 'has a name of 16 letters or more');
refuses('a kind out of order', "KIND(More, 9, \"gap\")\n", 1, 'kind More has value 9 where 7 comes next');

refuses('a kind that is off but none', "OFF(Nobody)\n", 1, 'OFF: no kind is called Nobody');
refuses('a kind that is off twice', "OFF(Pool)\nOFF(Pool)\n", 2, 'kind Pool is off twice');
like +(generate(version() . "OFF(Pool)\n" . event('Foo', '0x0101', 'P')))[1], qr/^#define EventKindsDEFAULT 0x007d/m,
  'a kind that is off is not in the default';

my $relation = "RELATION(Foo, 0x0101, TRUE, Arena, PW)\n";
my $doc = "DOC(Foo, \"%a and %b\")\n";
my $a = "PARAM(Foo, 0, P, a, \"one\")\n";
my $b = "PARAM(Foo, 1, W, b, \"two\")\n";
my $bar = event('Bar', '0x0102', '0');
is +(generate(version() . $relation . $doc . $a . $b))[0], 0, 'the registry that the next ones break is right';
refuses('no PARAM', $relation . "DOC(Foo, \"x\")\n", 1, 'format PW has 2 parameters, PARAM rows are there for 0');
refuses('a PARAM too few', $relation . "DOC(Foo, \"%a\")\n" . $a, 1, 'PARAM rows are there for 1');
refuses('a PARAM too many', $relation . $doc . $a . $b . "PARAM(Foo, 2, W, c, \"\")\n", 5, 'one more than format PW');
refuses('a PARAM for format 0', $bar . "PARAM(Bar, 0, W, a, \"\")\n", 3, 'one more than format 0');
refuses('a wrong index', $relation . $doc . $a . $b =~ s/1/2/r, 4, 'has index 2 where 1 comes next');
refuses('a wrong letter', $relation . $doc . $a . $b =~ s/W/U/r, 4, 'letter U where format PW has W');
refuses('a parameter name used twice', $relation . $doc . $a . $b =~ s/b,/a,/r, 4, 'two parameters are called a');
refuses('a PARAM for another event', $relation . $doc . $a . $b . $bar . $b, 7, 'PARAM for Foo under RELATION of Bar');
refuses('a PARAM before any event', $a, 1, 'PARAM for Foo without a RELATION above it');
refuses('no DOC', $relation . $a . $b, 1, 'Foo has no DOC row');
refuses('two DOC', $relation . $doc . $doc . $a . $b, 3, 'Foo has two DOC rows');
refuses('a DOC that takes an address for the number of a string', $relation . $doc =~ s/%a/%*a/r . $a . $b, 2,
        'DOC names %\*a, which is no W or U');
refuses('a DOC that names an unknown parameter', $relation . $doc =~ s/%b/%c/r . $a . $b, 2, 'DOC names %c, which');
refuses('a DOC for another event', $relation . $doc . $a . $b . $bar . $doc, 7, 'DOC for Foo under RELATION of Bar');
refuses('a DOC with an escape', $relation . "DOC(Foo, \"a\\n\")\n" . $a . $b, 2, 'no escapes but');

refuses('a word that is no row', "$foo\nRELATON(Bar, 0x0102, TRUE, Arena, P)\n", 7, 'no kind of row is called RELATON');
refuses('a row with too few arguments', "RELATION(Foo, 0x0101, TRUE, Arena)\n", 1, 'takes 5 arguments, not 4');
refuses('a row with too many', "RELATION(Foo, 0x0101, TRUE, Arena, P, 1)\n", 1, 'takes 5 arguments, not 6');
refuses('a row without arguments', "RELATION()\n", 1, 'does not parse');
refuses('a row without end', "RELATION(Foo, 0x0101, TRUE, Arena, P\n", 1, 'does not parse');
refuses('a semicolon', "$foo;\n", 6, 'not a row: ;');
refuses('prose', "${foo}and so on\n", 6, 'not a row: and so on');
refuses('a comment without end', "$foo/* so\n", 6, 'a comment without end');
refuses('a string without end', "$relation DOC(Foo, \"so)\n", 2, 'does not parse');
refuses('an #include', "#include \"more.h\"\n$foo", 1, '#include has no place');
refuses('a row under #if', "#if 1\n$foo#endif\n", 2, 'a row inside #if');
refuses('a version twice', "#define EventVersionMAJOR 2\n$foo", 1, 'EventVersionMAJOR is defined twice');

for my $value ('one', '1.0', '01', '-1', '', '(1)') {
    my ($status, $out, $err) = generate(version() =~ s/(EventVersionMINOR ).*/$1$value/r . $foo);
    ok $status == 1 && $out eq '' && $err =~ /^\Q$registry\E:3: EventVersionMINOR is no number: \Q$value\E$/m,
        "version '$value'";
}
for my $major (0, 2) {
    my ($status, $out, $err) = generate("\n\n" . version($major, 0, 0) . $foo);
    ok $status == 1 && $out eq '' && $err =~ /^\Q$registry\E:3: EventVersionMAJOR is $major: it must be 1, the version of the file format/, "major version $major";
}
for my $part (qw(MAJOR MEDIAN MINOR)) {
    my ($status, $out, $err) = generate(version() =~ s/#define EventVersion$part.*\n//r . $foo);
    ok $status == 1 && $out eq '' && $err =~ /^\Q$registry\E:1: EventVersion$part is not defined$/m, "no $part";
}
{
    my ($status, $out, $err) = generate('');
    ok $status == 1 && $out eq '' && $err =~ /EventVersionMAJOR.*no KIND rows/s, 'an empty file';
    ($status, $out, $err) = generate(version() . event('A', '0x0100', 'X') . "oops\n" . event('B', '0x0100', 'P'));
    my @errors = split /\n/, $err;
    is scalar(@errors), 3, 'all errors are named in one run' or diag $err;
    ($status, $out, $err) = run($perl, 'code/eventgen.pl', "$Dir/absent.h");
    ok $status == 1 && $out eq '' && $err =~ /^\Q$Dir\E\/absent\.h:0: cannot be read: No such file/, 'no file';
    ($status, $out, $err) = run($perl, 'code/eventgen.pl', $registry, 'more');
    ok $status == 2 && $out eq '' && $err =~ /^usage: /, 'two arguments';
}
SKIP: {
    skip 'no /dev/full', 1 unless -w '/dev/full';
    is system("$perl code/eventgen.pl code/eventdef.h > /dev/full 2>$Dir/stderr") >> 8, 1, 'a full disk is a failure';
}

# ---- What is right

{
    my ($status, $out, $err) = run($perl, 'code/eventgen.pl');
    ok $status == 0 && $err eq '' && $out =~ /#define EventPoolAllocCODE 0x0601\n/, "the project's own, by default";
    my @again = run($perl, 'code/eventgen.pl', 'code/eventdef.h');
    is $again[1], $out, 'the same output each time';
    unlike $out, qr/[ \t]\n/, 'no blanks at ends of lines';
}
is +(generate(version() . "// RELATION( \"\n/* \" */ " . $foo =~ s/\(/ \n (\n/gr))[0], 0,
    'comments, and rows over several lines';

# A program with one event of each format, whose arguments have known values; what it prints is checked byte by byte.
my %argument = (P => '(void *)0x%x', A => '(Addr)0x%x', W => '0x%xu', U => '0x%xu', D => '%d.5', S => '"s%x"');
my %pack = (P => 'J', A => 'J', W => 'J', U => 'L', D => 'd', S => 'Z*');

sub program {
    my ($formats, $text) = @_;
    my (@lines, @expected);
    my $code = 0x100;

    for my $format (@$formats) {
        my @letters = $format eq '0' ? () : split //, $format;
        my (@arguments, $bytes);

        $bytes = '';
        for my $i (0 .. $#letters) {
            my $letter = $letters[$i];
            my $value = 1 + int rand 0xffffff;

            push @arguments, sprintf $argument{$letter}, $value;
            $value = $letter eq 'D' ? "$value.5" : sprintf 's%x', $value if $letter =~ /[DS]/;
            $bytes .= pack $pack{$letter}, $value;
        }
        push @lines, "  EVENT_$format(" . join(', ', "Event$code", @arguments) . ");\n";
        push @expected, sprintf "kind=1 size=%d code=%x %s\n", 8 + length $bytes, $code, unpack 'H*', $bytes;
        $$text .= event("Event$code", sprintf('0x%04x', $code), $format, kind => 'Pool');
        ++$code;
    }
    return ("int main(void)\n{\n@lines  return 0;\n}\n", join '', @expected);
}

my $seed = $ENV{SEED} // time;
srand $seed;
diag "SEED=$seed" if $ENV{SEED};
note "SEED=$seed";
my %formats = map { $_ => 1 } qw(0 P A W U D S PAW WS), 'PAWUD' x 6 . 'US';
while (keys %formats < 60) {
    my $format = join '', map { (qw(P A W U D))[rand 5] } 1 .. 1 + rand(rand() < 0.2 ? 32 : 12);
    substr $format, -1, 1, 'S' if rand 3 < 1;
    $formats{$format} = 1;
}
my $text = version();
my ($body, $expected) = program([sort keys %formats], \$text);
my ($status, $out, $err) = generate($text);
is $status, 0, 'random formats generate' or diag $err;
spew("$Dir/eventgen.h", $out);
for my $cc (compilers()) {
    is compileFails($cc, stubs() . $body, "$Dir/program", '-O1'), '', "random formats compile ($cc)";
    my ($ran, $printed) = run("$Dir/program");
    ok $ran == 0 && $printed eq $expected, "and write what they should ($cc)";
}

# The text for a log's header
{
    my $source = "#include <stdio.h>\n#include \"eventgen.h\"\n"
        . "int main(void) { fputs(EventRegistryTEXT, stdout); return 0; }\n";
    ($status, $out, $err) = generate(version() . "RETIRED(Old, 0x0100)\n" . $relation
                               . "DOC(Foo, \"say \\\"%a\\\\%*b\\\" \" \"100%\")\n" . $a . $b . $bar);
    is $err, '', 'a registry with all kinds of rows is right';
    # Only the text is wanted: the structs need the emitter.
    spew("$Dir/eventgen.h", $out =~ s/^typedef struct.*?^}.*?$//gmsr);
    is compileFails((compilers())[0], $source, "$Dir/program"), '', 'the text compiles';
    is +(run("$Dir/program"))[1], <<'END', 'the text has kinds, events and descriptions, and nothing retired';
kind: 0 Arena
kind: 1 Pool
kind: 2 Trace
kind: 3 Seg
kind: 4 Ref
kind: 5 Object
kind: 6 User
event: 0x0101 Foo Arena 1 PW a b
describe: 0x0101 say "%a\%*b" 100%
event: 0x0102 Bar Arena 1 0
describe: 0x0102 happens
END
}

done_testing;
