# build.t -- what `make' promises: help, nothing made twice, an installation that works away from the sources
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use File::Find qw(find);
use EndToEnd qw($Dir run slurp spew);
use Test::More;

plan skip_all => 'the same with and without sanitizers' if $ENV{SAN};

# This make is its own: what the outer one left in the environment would change it.
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES)};
my $B = $ENV{B} || 'build/cool';
my @make = ('make', 'CC=' . ($ENV{CC} || 'gcc'), 'VARIETY=' . ($ENV{VARIETY} || 'cool'));

{
    my ($status, $out) = run(@make, 'help');
    is $status, 0, 'make help';
    like $out, qr/^make $_\b/m, "tells of make $_" for qw(demo check bench install layers clean);
    like $out, qr/^$_=/m, "tells of $_" for qw(VARIETY CC SAN PREFIX);
    my ($bad, undef, $err) = run('make', 'VARIETY=lukewarm');
    ok $bad != 0 && $err =~ /VARIETY is cool, hot or rash, not `lukewarm'/, 'a misspelt variety is named';
}

sub made {
    my %made;
    find({no_chdir => 1, wanted => sub { $made{$_} = (stat)[9] if -f && !/\.paw$/ }},
         grep { -d } "$B/obj", "$B/pic", "$B/lib", "$B/bin", "$B/gen");
    return \%made;
}
{
    my ($status, $out, $err) = run(@make, 'all');
    is $status, 0, 'make all' or diag $err;
    my $before = made();
    is +(run(@make, 'all'))[0], 0, 'and again';
    is_deeply made(), $before, 'makes nothing twice';
}

# The benchmark compiles its own programs when it runs, as bench/run says: nobody else would see that they do not link.
for my $source (grep { !m{/ring\.c$} } glob 'bench/prog/*.c') {
    my ($status, undef, $err) = run($ENV{CC} || 'gcc', qw(-O2 -std=gnu11 -D_GNU_SOURCE -pthread -Icode), "-I$B/gen", '-o', "$Dir/bench",
        $source, "-L$B/lib", '-lpawprint');
    is $status, 0, "$source links" or diag $err;
}

# ---- The installation

my $dest = "$Dir/dest";
my $prefix = '/opt/pawprint';
my ($status, $out, $err) = run(@make, 'install', "DESTDIR=$dest", "PREFIX=$prefix");
is $status, 0, 'make install' or diag $err;
ok -s "$dest$prefix/lib/$_", "lib/$_" for qw(libpawprint.so libpawprint.a pkgconfig/pawprint.pc);
my $pc = slurp("$dest$prefix/lib/pkgconfig/pawprint.pc");
like $pc, qr/^prefix=\Q$prefix\E$/m, 'pawprint.pc knows the prefix, not the destination';
like $pc, qr/^Version: \d+\.\d+/m, 'and the version';
for my $page (glob 'man/*.[0-9]') {
    my ($name, $section) = $page =~ m{([^/]+)\.(\d)$};
    ok -s "$dest$prefix/share/man/man$section/$name.$section", "manual page $name($section)";
}
for my $tool (grep { -e "code/$_.c" } qw(eventrec eventcnv eventview replay)) {
    my $path = "$dest$prefix/bin/$tool";

    like +(run($path, '--version'))[1], qr/^$tool \(Pawprint\) \d/, "$tool --version, installed";
    my ($helped, $help) = run($path, '--help');
    ok $helped == 0 && $help =~ /^Usage: $tool /, "$tool --help, installed";
    ok -s "man/$tool.1", "$tool has a manual page";
}
SKIP: {
    skip 'no groff or man to read the pages with', 1 if system('command -v groff >/dev/null 2>&1') != 0;
    my @warnings = map { my @r = run('groff', '-man', '-Tascii', '-ww', '-z', $_); $r[2] ne '' ? "$_: $r[2]" : () }
                   glob 'man/*.[0-9]';
    is "@warnings", '', 'the manual pages have no mistakes';
}
SKIP: {
    skip 'no pawprint.h yet', 2 unless -e "$dest$prefix/include/pawprint.h";
    my $c = spew("$Dir/client.c", "#include <pawprint.h>\nint main(void) { return 0; }\n");
    my @flags = map { s/\$\{prefix\}/$dest$prefix/gr } map { split ' ' } $pc =~ /^(?:Cflags|Libs): (.*)$/mg;
    ($status, $out, $err) = run($ENV{CC} || 'gcc', $c, '-o', "$Dir/client", reverse @flags);
    is $status, 0, 'a program compiles and links with what was installed' or diag $err;
    local $ENV{LD_LIBRARY_PATH} = "$dest$prefix/lib";
    is +(run("$Dir/client"))[0], 0, 'and runs';
}

done_testing;
