# man.t -- the manual pages and the README say what the programs say of themselves
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Cwd qw(abs_path);
use lib 'test/lib';
use EndToEnd qw($Dir run slurp);
use Registry;
use Test::More;

plan skip_all => 'the same with and without sanitizers' if $ENV{SAN};

my $B = $ENV{B} || 'build/cool';
my @tools = grep { -x "$B/bin/$_" } qw(eventrec eventcnv eventview eventctl replay);

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

# eventview(1) and the words of the summary that tell what is not as it should be.
{
    my ($trouble) = slurp('code/analyse/summaryprint.c') =~ /^static void textTrouble(.*?)^\}/ms;
    my %said = map { $_ => 1 } $trouble =~ /"(?:\\n)?([a-z]+(?: [a-z]+)?)(?: {2,}|", )/g;
    my ($words) = slurp('man/eventview.1') =~ /^The lines of the summary mean the following\.\n(.*?)^\.SH/ms;
    my %explained = map { $_ => 1 } $words =~ /^\.TP\n\.B (.*)$/mg;
    cmp_ok scalar(keys %said), '>', 5, 'the summary tells what is not as it should be';
    is_deeply [grep { $_ ne 'sizes' && !$explained{$_} } sort keys %said], [], 'and eventview(1) explains the words';
}

# One version: that of the newest section of NEWS.
{
    my ($news) = slurp('NEWS') =~ /^(\d+(?:\.\d+)+)$/m;
    my @pages = glob 'man/*.[137]';

    for my $tool (@tools) {
        my (undef, $said) = run("$B/bin/$tool", '--version');
        is $said, "$tool (Pawprint) $news\n", "$tool --version says what NEWS does";
    }
    is join(' ', grep { slurp($_) !~ /^\.TH \S+ \d \S+ "Pawprint \Q$news\E" /m } @pages), '', 'and so do the manual pages';
}

# pawprint(3) and pawprint.h: the one declares what the other shows, and nothing else.
{
    my ($synopsis) = slurp('man/pawprint.3') =~ /^\.SH SYNOPSIS\n(.*?)(?=^\.SH)/ms;
    my %shown = map { $_ => 1 } $synopsis =~ /\b((?:Event|BT)\w+)[(\[]/g;
    my %declared = map { $_ => 1 } slurp('code/emit/pawprint.h') =~ /^extern [^(\[;]*?(\w+)[(\[]/mg;

    is_deeply [sort keys %shown], [sort keys %declared], 'pawprint(3) shows all of pawprint.h';

    my $calls = join '', map { "  (void)$_;\n" } sort keys %shown;
    my $source = "#include \"emit/pawprint.h\"\nint main(void)\n{\n${calls}  return 0;\n}\n";
    is compileFails($ENV{CC} || 'gcc', $source, "$Dir/page", '-c'), '', 'and its names compile';
}

# pawlog(3) and pawlog.h.
{
    my ($synopsis) = slurp('man/pawlog.3') =~ /^\.SH SYNOPSIS\n(.*?)(?=^\.SH)/ms;
    my %shown = map { $_ => 1 } $synopsis =~ /\b(Paw\w+)\(/g;
    my %declared = map { $_ => 1 } slurp('code/log/pawlog.h') =~ /^PAW_API [^(;]*?(\w+)\(/mg;

    cmp_ok scalar(keys %declared), '>', 50, 'pawlog.h declares functions';
    is_deeply [sort keys %shown], [sort keys %declared], 'pawlog(3) shows all of them';
}

# pawprint(7) and the variables that are read.
{
    my ($section) = slurp('man/pawprint.7') =~ /^\.SH ENVIRONMENT\n(.*?)(?=^\.SH)/ms;
    my %written = map { $_ => 1 } $section =~ /^\.B (PAWPRINT_\w+)/mg;
    my %read = map { $_ => 1 } map { slurp($_) =~ /"(PAWPRINT_[A-Z_]+)"/g } glob 'code/*/*.[ch] code/*.[ch]';

    is_deeply [sort keys %written], [sort keys %read], 'pawprint(7) has the variables that are read';
}

# The program of pawprint(3), as a reader would copy it.
SKIP: {
    skip 'rash has no telemetry', 2 if ($ENV{VARIETY} // '') eq 'rash';
    my ($program) = slurp('man/pawprint.3') =~ /^\.SH EXAMPLES\n\.nf\n(.*?)^\.fi/ms;

    $program =~ s/\\-/-/g;
    $program =~ s/<pawprint\.h>/"emit\/pawprint.h"/;
    is compileFails($ENV{CC} || 'gcc', $program, "$Dir/example", '-Wl,--no-as-needed', "$B/lib/libpawprint.so",
                    '-Wl,-rpath,' . abs_path("$B/lib")), '', 'the example of pawprint(3) compiles';
    local $ENV{PAWPRINT_LOG} = "$Dir/example.paw";
    system "$Dir/example";
    my ($status, $text) = run("$B/bin/eventcnv", "$Dir/example.paw");
    like $text, qr/UserWord id=1 value=42\n.*CacheMiss line=0x1000 size=64 reason="cold"/, 'and does what it should';
}

done_testing;
