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
    ($status, $out, $err) = run($ENV{CC} || 'gcc', $c, '-o', "$Dir/client", flags('pawprint'));
    is $status, 0, 'a program compiles and links with what was installed' or diag $err;
    local $ENV{LD_LIBRARY_PATH} = "$dest$prefix/lib";
    is +(run("$Dir/client"))[0], 0, 'and runs';
}

# flags($name, @private) -- what `pkg-config --cflags --libs' prints of an installed file, with --static also Libs.private
sub flags {
    my ($name, @private) = @_;
    my $file = slurp("$dest$prefix/lib/pkgconfig/$name.pc");
    return map { s/\$\{prefix\}/$dest$prefix/gr } map { $file =~ /^\Q$_\E: (.*)$/m ? split ' ', $1 : () } qw(Cflags Libs), @private;
}

# A client that has threads and pools of its own, with nothing on the command line but these flags.
SKIP: {
    skip 'the library that is installed is built for a sanitizer', 1 if ($ENV{SAN} // '') ne '';
    my $c = spew("$Dir/pools.c", <<'C');
#include <pthread.h>
#ifndef _REENTRANT
#error "-pthread is not among the flags of the compiler"
#endif
#include <mm/arena.h>
#include <mm/pool.h>
#include <ams/ams.h>

static Addr skip(Addr object) { return (Addr)((Word)object + 16); }
static const AMSFormatStruct format = { 16, 0, NULL, skip };

static void *run(void *closure)
{
  Arena arena;
  Pool pool;
  (void)closure;
  if (ArenaCreate(&arena, (Size)1 << 26) != ResOK || AMSCreate(&pool, arena, &format, NULL, 0) != ResOK ||
      AMSThreadRegister() != ResOK || AMSCollect(pool) != ResOK)
    return NULL;
  PoolDestroy(pool);
  ArenaDestroy(arena);
  return arena;
}

int main(void)
{
  pthread_t thread;
  void *ran;
  return pthread_create(&thread, NULL, run, NULL) == 0 && pthread_join(thread, &ran) == 0 && ran != NULL ? 0 : 1;
}
C
    my $empty = spew("$Dir/empty.c", "int main(void) { return 0; }\n");
    my $archives = (run($ENV{CC} || 'gcc', '-static', $empty, '-o', "$Dir/empty"))[0] == 0;
    for my $link ([], $archives ? ['-static'] : ()) {
        ($status, $out, $err) = run($ENV{CC} || 'gcc', @$link, $c, '-o', "$Dir/pools", flags('pawpools', @$link ? 'Libs.private' : ()));
        is $status, 0, "a program with pools of its own compiles and links with the flags of pawpools.pc @$link" or diag $err;
        is +(run("$Dir/pools"))[0], 0, 'and runs';
    }
    is +(run($ENV{CC} || 'gcc', '-static', "$Dir/client.c", '-o', "$Dir/client", flags('pawprint', 'Libs.private')))[0], 0,
        'so does one that emits events alone, linked with -static' if $archives;
    ok scalar(grep { $_ eq '-pthread' } flags($_, 'Libs.private')), "$_.pc asks for threads" for qw(pawprint pawpools);
}

done_testing;
