# man.t -- the manual pages and the README say what the programs say of themselves
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use Registry;
use Test::More;

plan skip_all => 'the same with and without sanitizers' if $ENV{SAN};

my $B = $ENV{B} || 'build/cool';
my @tools = grep { -x "$B/bin/$_" } qw(eventrec eventcnv eventview replay);

# All options of a text, long and short, without their arguments; roff's escaped hyphens are hyphens.
sub options {
    my ($text) = @_;
    my %options;

    $text =~ s/\\f[BRIP]|"//g;
    $text =~ s/\\-/-/g;
    $options{$1} = 1 while $text =~ /(?<![\w-])(--[a-z][a-z-]*|-[a-zA-Z])\b/g;
    return \%options;
}

# The lines of a page that introduce options: those behind .TP in the section OPTIONS.
sub pageOptions {
    my ($page) = slurp($_[0]) =~ /^\.SH OPTIONS\n(.*?)(?=^\.SH)/ms;

    return options(join '', $page =~ /^\.TP\n(.*\n)/mg);
}

for my $tool (@tools) {
    my ($status, $help) = run("$B/bin/$tool", '--help');
    my $said = options(join '', map { /^( {2,6}-.*?)(?: {2,}\S.*)?$/ ? "$1\n" : () } split /\n/, $help);
    my $written = pageOptions("man/$tool.1");

    is_deeply [sort keys %$written], [sort keys %$said], "$tool(1) has the options of $tool --help";

    # What the README tells people to type.
    for my $line (grep { /^    \Q$tool\E / } split /\n/, slurp('README.md')) {
        my $own = $line =~ s/ -- .*| [#>|] .*//r;
        my @unknown = grep { !$said->{$_} } sort keys %{options($own)};
        is "@unknown", '', "README:$line";
    }
}

SKIP: {
    my @headers = glob 'code/pawprint.h code/*/pawprint.h';
    my ($header) = grep { -e } @headers;

    skip 'no pawprint.h yet', 1 unless defined $header;
    my ($synopsis) = slurp('man/pawprint.3') =~ /^\.SH SYNOPSIS\n(.*?)(?=^\.SH)/ms;
    my %names = map { $_ => 1 } $synopsis =~ /\b((?:Event|BT)\w+)[(\[]/g;
    my $calls = join '', map { "  (void)$_;\n" } sort keys %names;
    my $source = "#include \"" . $header =~ s{^code/}{}r . "\"\nint main(void)\n{\n${calls}  return 0;\n}\n";

    is compileFails($ENV{CC} || 'gcc', $source, "$Dir/page", "-I$B/gen", '-c'), '',
        'pawprint.h declares all of pawprint(3)';
}

done_testing;
