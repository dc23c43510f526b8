#!/usr/bin/perl
# reportpage.pl -- makes a C header of the page of the report: what stands before the data, and what stands behind it
#
# SPDX-License-Identifier: BSD-2-Clause
#
#   reportpage.pl FOLDER          prints the header: reportPageHead, reportPageTail, lists of strings that end with NULL
#   reportpage.pl FOLDER DATA     prints the whole page, with the data of that file: for tests
#
# The page's policy allows the one style and the one script that are in it, by their hashes, and nothing else.
use strict;
use warnings;
use Digest::SHA qw(sha256_base64);

# The scripts, each after those that it needs while it is read.
my @SCRIPTS = qw(units decode model numbers paint view graph lanes collections pointer icicle tables events page);
my $PIECE = 2000; # bytes in a string literal: compilers must take 4095

my ($folder, $data) = @ARGV;
die "usage: reportpage.pl FOLDER [DATA]\n" if !defined $folder;

sub slurp {
    my ($path) = @_;
    open my $file, '<:raw', $path or die "$path: $!\n";
    local $/;
    return scalar <$file>;
}

sub hash {
    my ($text) = @_;
    my $sum = sha256_base64($text);
    return 'sha256-' . $sum . '=' x (-length($sum) % 4);
}

# Names are the script's own; comments of whole lines, which are for those who read the sources, stay there.
sub script {
    my %there = map { m{([^/]+)\.js$} ? ($1 => 1) : () } glob "$folder/*.js";
    delete @there{@SCRIPTS};
    die 'reportpage.pl: not in its list: ' . join(' ', sort keys %there) . "\n" if %there;
    my $text = join '', map { slurp("$folder/$_.js") } @SCRIPTS;
    $text =~ s/^\s*\/\/.*\n//mg;
    die "reportpage.pl: a script that would end its element\n" if $text =~ m{</script|<!--}i;
    return qq{\n"use strict";\n(function () {\n${text}})();\n};
}

# literals($text) -- a list of C string literals
sub literals {
    my ($text) = @_;
    my @pieces;
    while (length $text) {
        my $piece = substr $text, 0, $PIECE, '';
        $piece =~ s/([\\"])/\\$1/g;
        $piece =~ s/\n/\\n/g;
        $piece =~ s/\?\?/?\\?/g;
        $piece =~ s/([^\x20-\x7e])/sprintf '\\%03o', ord $1/ge;
        push @pieces, join "\n", map { qq{    "$_"} } grep { length } split /(?<=\\n)/, $piece;
    }
    return join(",\n", @pieces, '    NULL');
}

my $style = slurp("$folder/page.css") =~ s{/\*.*?\*/\n?}{}sgr;
my $script = script();
my %put = (STYLE => $style, SCRIPT => $script, 'STYLE-HASH' => hash($style), 'SCRIPT-HASH' => hash($script));
my $page = slurp("$folder/page.html") =~ s/@(STYLE|SCRIPT|STYLE-HASH|SCRIPT-HASH)@/$put{$1}/gr;
my ($head, $tail) = split /\@DATA\@/, $page, 2;
die "reportpage.pl: $folder/page.html has no place for data\n" if !defined $tail;

if (defined $data) {
    print $head, slurp($data), $tail;
    exit 0;
}
print "/* reportpage.h -- the page of the report, made by code/report/reportpage.pl */\n",
    "static const char *const reportPageHead[] = {\n", literals($head), "};\n",
    "static const char *const reportPageTail[] = {\n", literals($tail), "};\n";
