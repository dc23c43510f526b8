# layers.t -- the includes are as the table of the house has them, and the check of that notices where they are not
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw($Dir run slurp spew);
use File::Path qw(make_path remove_tree);
use Test::More;

plan skip_all => 'the same with and without sanitizers' if $ENV{SAN};

my $perl = $ENV{PERL} || $^X;
my $root = "$Dir/house";

{
    my ($status, $out, $err) = run($perl, 'tool/layers');
    is $status, 0, "the project's own includes are right" or diag $err;
    like $out, qr/^layers: [1-9]\d* files, [1-9]\d* includes, /, 'and were really looked at';
}
for my $other (qw(avers cites)) {
    my ($status, $out, $err) = run($perl, "tool/$other");
    is $status, 0, "tool/$other has nothing to say" or diag $err;
}

SKIP: {
    skip 'no nm', 7 unless grep { -x "$_/nm" } split /:/, $ENV{PATH};
    my ($status, $out, $err) = run($perl, 'tool/calls', $ENV{B} || 'build/cool');
    is $status, 0, 'files call each other only where the house says so' or diag $err;

    # Two objects that call each other: in one room, in two, and where the table has them.
    my $calls = sub {
        my ($rooms, $table, $more) = (@_, '');
        my ($a, $b) = @$rooms;

        remove_tree($root);
        make_path("$root/design", map { ("$root/code/$_", "$root/b/obj/$_") } @$rooms);
        spew("$root/design/house.md", "| room | files that call each other | why |\n|---|---|---|\n$table\n");
        for (["$a/A", 'A', 'B'], ["$b/B", 'B', 'A']) {
            my ($file, $own, $other) = @$_;
            spew("$root/code/$file.c", "void $other(void);\nvoid $own(void);\nvoid $own(void)\n{\n  $other();\n}\n" . ($own eq 'B' ? $more : ''));
            system(split(' ', $ENV{CC} || 'cc'), '-c', '-o', "$root/b/obj/$file.o", "$root/code/$file.c") == 0 or die;
        }
        my ($status, undef, $err) = run($perl, 'tool/calls', "$root/b", $root);
        return "$status $err";
    };
    is $calls->(['emit', 'emit'], ''), "1 code: emit/A emit/B call each other: emit/A.c (B) -> emit/B.c (A) -> emit/A.c\n",
        'who calls in a circle is named';
    is $calls->(['emit', 'emit'], '| emit | A B | why not |'), '0 ', 'but where it is said';
    like $calls->(['emit', 'mm'], '| emit | A B | why not |'), qr{^1 code: emit/A mm/B call each other: .*\n.*emit/A emit/B do not call each other$},
        'and in two rooms always; and what is said must be so';
    is $calls->(['emit', 'emit'], '| emit | A B | why not |', "void Alone(void);\nvoid Alone(void)\n{\n}\n"),
        "1 code/emit/B.c: nobody else uses Alone: it could be static\n", 'a function that nobody else uses is named';
    like $calls->(['emit', 'emit'], '| emit | A B | why not |', "void alone(void);\nvoid alone(void)\n{\n}\n"),
        qr{^1 code/emit/B\.c: alone is shared, so its name has a capital$}, 'so is one without a capital';
    like $calls->(['emit', 'mm'], '', "void A(void)\n{\n}\n"), qr{^1 code/mm/B\.c: A has its name in code/emit/A\.c, too$}m,
        'and one that two files define';
}

# A house with the project's tables and one harmless file in each room, and on top of these the files given.
sub build {
    my (%files) = @_;
    my %all = (
        'base/types.h'   => '', 'eventdef.h'     => '', 'format/block.h' => '#include "base/types.h"',
        'plinth/plinth.h' => '#include "base/types.h"', 'emit/event.h'   => "#include \"eventgen.h\"\n",
        'mm/pool.h'      => '#include "emit/event.h"', 'log/log.h'      => '#include "format/block.h"',
        'analyse/views.h' => '#include "log/log.h"', 'replay.c'       => '#include "log/log.h"', %files,
    );

    remove_tree($root);
    make_path(map { "$root/code/$_" } qw(base format plinth emit mm log analyse collect), 'analyse/deep');
    make_path("$root/design");
    spew("$root/design/house.md", slurp('design/house.md'));
    spew("$root/code/$_", $all{$_} . "\n") for keys %all;
    return run($perl, 'tool/layers', $root);
}

sub refuses {
    my ($sentence, $message, %files) = @_;
    my ($status, $out, $err) = build(%files);

    ok $status == 1 && $err =~ /^\Q$message\E/m, $sentence or diag "status $status: $err";
}

sub accepts {
    my ($sentence, %files) = @_;
    my ($status, $out, $err) = build(%files);

    ok $status == 0 && $err eq '', $sentence or diag "status $status: $err";
}

accepts('a house in order');
accepts('system headers and comments', 'base/a.c' => "#include <stdio.h>\n/*\n#include \"mm/pool.h\"\n*/\n// \"\n");
accepts('a neighbour by its bare name', 'base/a.c' => '#include "types.h"');
accepts('folders within a room', 'analyse/deep/a.c' => '#include "analyse/views.h"');

# Each floor that a room may not use
my %may = (base => [], format => ['base'], plinth => ['base'], emit => [qw(base format plinth)], mm => [qw(base emit plinth)],
           log => [qw(base format)], analyse => [qw(base log)]);
my %header = (base => 'base/types.h', format => 'format/block.h', plinth => 'plinth/plinth.h', emit => 'emit/event.h',
              mm => 'mm/pool.h', log => 'log/log.h', analyse => 'analyse/views.h');
for my $room (sort keys %may) {
    for my $other (sort keys %header) {
        my %files = ("$room/a.c" => "\n#include \"$header{$other}\"");

        if ($other eq $room || grep { $_ eq $other } @{$may{$room}}) {
            accepts("$room may use $other", %files);
        } else {
            refuses("$room may not use $other", "code/$room/a.c:2: $room may not use $other (code/$header{$other})",
                    %files);
        }
    }
}
accepts('analyse may use the registry', 'analyse/a.c' => '#include "eventdef.h"');
refuses('log may not', 'code/log/a.c:1: log may not use registry (code/eventdef.h)',
        'log/a.c' => '#include "eventdef.h"');
accepts('eventrec meets the collector', 'eventrec.c' => '#include "collect/a.h"', 'collect/a.h' => '#include "plinth/plinth.h"');
refuses('replay does not', 'code/replay.c:1: replayer may not use plinth', 'replay.c' => '#include "plinth/plinth.h"');
refuses('eventcnv does not', 'code/eventcnv.c:1: readers may not use plinth',
        'eventcnv.c' => '#include "plinth/plinth.h"');
refuses('eventview has no mm', 'code/eventview.c:1: readers may not use mm', 'eventview.c' => '#include "mm/pool.h"');
for my $tool (qw(eventrec eventcnv eventview eventctl replay)) {
    refuses("$tool has no emitter", "code/$tool.c:1: ", "$tool.c" => '#include "emit/event.h"');
}
refuses('a chain that nobody may build',
        'code/analyse/views.h:1: must never reach emit: code/analyse/views.h -> code/log/log.h -> '
        . 'code/mm/pool.h -> code/emit/event.h',
        'log/log.h' => '#include "mm/pool.h"');

refuses('a circle of two', 'code/base/b.h:1: a circle of includes: code/base/a.h -> code/base/b.h -> code/base/a.h',
        'base/a.h' => '#include "base/b.h"', 'base/b.h' => '#include "base/a.h"');
refuses('a file that includes itself', 'code/base/a.h:1: a circle of includes: code/base/a.h -> code/base/a.h',
        'base/a.h' => '#include "a.h"');
accepts('two ways to one file are no circle', 'base/a.h' => "#include \"base/b.h\"\n#include \"base/types.h\"",
        'base/b.h' => '#include "base/types.h"');
refuses('a .c that is included', 'code/base/a.c:1: includes code/base/b.c, which is no header',
        'base/a.c' => '#include "b.c"', 'base/b.c' => '');
refuses('an include that is not there', 'code/base/a.c:1: #include "base/no.h": no such file',
        'base/a.c' => '#include "base/no.h"');
refuses('an include by macro', 'code/base/a.c:1: #include HEADER: no such file', 'base/a.c' => '#include HEADER');
refuses('a file of ours in angle brackets', 'code/base/a.c:1: #include <mm/pool.h>: a file of ours is included in quotes',
        'base/a.c' => '#include <mm/pool.h>');
refuses('a way round', 'code/base/a.c:1: #include "../mm/pool.h": no such file', 'base/a.c' => '#include "../mm/pool.h"');
for my $spelling ('#import "mm/pool.h"', '%:include "mm/pool.h"', "#include \\\n  \"mm/pool.h\"") {
    refuses("spelt $spelling", 'code/base/a.c:1: base may not use mm (code/mm/pool.h)', 'base/a.c' => $spelling);
}
refuses('what is no C', 'code/base/a.inc:1: neither C nor a page', 'base/a.inc' => '');
refuses('two files of one name', 'code/mm/pool.h:1: code/emit/pool.h has the same name, in another room', 'emit/pool.h' => '');
refuses('a file in no room', 'code/odd.c:1: in no room of the house', 'odd.c' => '');

# The tables themselves
build();
my $page = slurp('design/house.md');
for my $wrong (['no table', $page =~ s/may use/might use/r, 'no table with the columns'],
               ['a room that is not there', $page =~ s/\| base plinth emit \|/| base plinth emti |/r, 'no room is called emti'],
               ['a row with a column too few', $page =~ s/^\| mm \|/|/mr, 'columns instead of 4']) {
    my ($sentence, $text, $message) = @$wrong;

    spew("$root/design/house.md", $text);
    my ($status, $out, $err) = run($perl, 'tool/layers', $root);
    ok $status == 1 && $err =~ /\Q$message\E/, $sentence or diag "status $status: $err";
}

done_testing;
