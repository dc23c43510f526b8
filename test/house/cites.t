# cites.t -- what the sources cite is there, and the check of that notices what is not
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw($Dir run spew);
use File::Path qw(make_path remove_tree);
use Test::More;

plan skip_all => 'the same with and without sanitizers' if $ENV{SAN};

my $perl = $ENV{PERL} || $^X;
my $root = "$Dir/house";

# What tool/cites says of a header with this comment.
sub said {
    my ($comment) = @_;

    remove_tree($root);
    make_path("$root/code/base", "$root/design", "$root/test");
    spew("$root/design/a.md", "## .one\n## Two `.two`\n**.one.bold** Bold.\n`.one.tick` Tick, not `.inside`.\n"
                              . "| .req.row | a row |\n");
    spew("$root/design/b.md", "**.other.page** Another.\n");
    spew("$root/test/atest.c", '');
    spew("$root/code/base/a.h", "/* a.h -- a header\n *\n * $comment\n */\nint x = {\n  .no.tag = 1};\n");
    my ($status, $out, $err) = run($perl, 'tool/cites', $root);
    return $status == 0 && $err eq '' ? '' : $err;
}

{
    my ($status, $out, $err) = run($perl, 'tool/cites');
    is $status, 0, 'what the project cites is there' or diag $err;
    like $out, qr/^cites: [1-9]\d{2,} names, all there$/, 'and was really looked for';
}

for my $right ('Design: design/a.md .one, .two      Tests: test/atest.c', 'design/a.md .one.bold and .one.tick',
               'see .req.row and (.other.page)', 'a file such as share/man/man3/none.3 or .c') {
    is said($right), '', $right;
}
for my $wrong (['Tests: test/atest.c, test/btest.c', 'there is no test/btest.c'],
               ['Design: design/c.md', 'there is no design/c.md'],
               ['design/b.md .one', 'design/b.md has no .one'],
               ['design/a.md .one, .three', 'design/a.md has no .three'],
               ['design/a.md .inside', 'design/a.md has no .inside'],
               ['as .one.none says', 'no design page has .one.none']) {
    my ($comment, $why) = @$wrong;

    is said($comment), "code/base/a.h:3: $why\n", $comment;
}

# The files that tests find from their own folder.
make_path("$root/test/room");
spew("$root/test/beside.cc", '');
spew("$root/test/room/b.t", join "\n", 'compile("$Bin/../beside.cc"); use lib "$FindBin::Bin/../lib";', 'compile("$Bin/beside.cc", "$FindBin::Bin/../gone.cc")');
is join("", grep { m{^test} } split /^/, (run($perl, 'tool/cites', $root))[2]), "test/room/b.t:2: there is no test/room/beside.cc\ntest/room/b.t:2: there is no test/room/../gone.cc\n",
    'files that tests name from where they are and that are not there';
unlink "$root/test/room/b.t";

# The programs that tests run.
make_path("$root/test/prog");
spew("$root/test/prog/some.c", '');
spew("$root/test/prog/other.cc", '');
spew("$root/code/base/a.h", '');
spew("$root/test/a.t", join "\n", 'run("$B/prog/some 1", "${B}/prog/other.so", "$b/prog/$any", "build/cool/prog/some");',
                                  q(run("$B/prog/none", '${B}/prog/gone.so')), 'run("build/hot/prog/lost $b/prog/so")');
is +(run($perl, 'tool/cites', $root))[2], join('', map { "test/a.t:$_->[0]: there is no test/prog/$_->[1].*\n" }
   [2, 'none'], [2, 'gone'], [3, 'lost'], [3, 'so']), 'programs that tests run and that are not there';

done_testing;
