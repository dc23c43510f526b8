#!/usr/bin/perl
# pprof.t -- profiles: of a program whose allocations are known, against eventview sites, and as go tool pprof reads them
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
no warnings 'portable';
use FindBin;
use lib "$FindBin::Bin/../lib";
use EndToEnd qw($Dir opens run slurp spew);
use File::Copy qw(cp);
use JSON::PP qw(decode_json);
use Profile qw(message profile);
use Test::More;

my $B = $ENV{B} || 'build/cool';
plan skip_all => 'no events per object in this variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'nothing can be preloaded into a sanitized program' if $ENV{SAN};

my @values = qw(alloc_objects alloc_space inuse_objects inuse_space peak_objects peak_space);

sub cnv { run("$B/bin/eventcnv", '-f', 'pprof', @_) }

# The sums of samples by a key.
sub sums {
    my ($profile, $key) = @_;
    my %sum;

    for my $sample (@{$profile->{samples}}) {
        my $of = $sum{$key->($sample)} //= [(0) x @values];
        $of->[$_] += $sample->{values}[$_] for 0 .. $#values;
    }
    return \%sum;
}

# ---- A program whose allocations are known ----

my ($log, $out) = ("$Dir/known.paw", "$Dir/known.pb");
my ($status, $said, $err) = run("$B/bin/eventrec", '-s', 1, '-p', 'block', '-o', $log, '--', "$B/prog/sites");
is $status, 0, 'a program is recorded' or BAIL_OUT($err);
my %begin = map { /^(\w+) (0x\w+)/ ? ($1 => hex $2) : () } split /\n/, $said;
($status, my $printed, $err) = cnv('-o', $out, $log);
is "$status$printed$err", '0', 'and a profile made of the log';
my $profile = profile($out);
is_deeply $profile->{types}, [map { [$_, /objects/ ? 'count' : 'bytes'] } @values], 'six values, with their units';
is $profile->{default}, 'peak_space', 'of which one is shown if nothing else is said';
is_deeply [grep { !$_->{label}{pid} || $_->{label}{process} ne 'sites' } @{$profile->{samples}}], [],
    'samples have the process and its number as labels';
is scalar(keys %{{map { $_->{label}{pid} => 1 } @{$profile->{samples}}}}), 2, 'the child is one of its own';

# function($sample) -- the one in which it is, of those that the program has named
sub function {
    my ($offset) = $_[0]{stack}[0] =~ /^sites\+(0x\w+)$/ or return '';
    my ($name) = sort { $begin{$b} <=> $begin{$a} } grep { $begin{$_} <= hex $offset } keys %begin;
    return $name // '';
}
my $sum = sums($profile, \&function);
my %known = (
    keeper => [100, 100000, 170, 170000, 100, 100000], peaker => [50, 1000000, 0, 0, 50, 1000000],
    brief => [1000, 64000, 0, 0, 0, 0], swapper => [300, 9600, 0, 0, 0, 0], regrow => [0, 900, 2, 2000, 0, 0],
    grower => [1, 100, 0, 0, 0, 0], aligner => [7, 28672, 6, 24576, 0, 0], child => [5, 2500, 5, 2500, 0, 0],
);
is_deeply $sum->{$_}, $known{$_}, "$_: allocated, left, at the peak" for sort keys %known;
is_deeply [grep { !grep { m{/sites$|/lib} } @{$_->{modules} // ['/lib']} } @{$profile->{samples}}], [],
    'mappings are modules, with their paths';

# ---- The same with stacks ----

{
    my $deep = "$Dir/deep.paw";
    ($status, $said, $err) = run("$B/bin/eventrec", '-s', 8, '-p', 'block', '-o', $deep, '--', "$B/prog/sites");
    is $status, 0, 'the program is recorded with stacks' or diag $err;
    ($status, $printed, $err) = cnv('-o', "$Dir/deep.pb", $deep);
    is "$status$err", '0', 'and a profile made';
    my $with = profile("$Dir/deep.pb");
    my $leaves = sums($with, \&function);
    is_deeply $leaves->{$_}, $known{$_}, "$_: the same" for sort keys %known;
    my @deep = grep { function($_) } @{$with->{samples}};
    is_deeply [grep { @{$_->{stack}} < 4 } @deep], [], 'samples have stacks';
    my ($regrow) = grep { function($_) eq 'regrow' } @deep;
    is function({stack => [$regrow->{stack}[1]]}), 'grower', 'with callers behind who they call';
    is_deeply [grep { $_->{stack}[-1] !~ /\+0x/ } grep { @{$_->{stack}} < 8 } @deep], [], 'up to the outermost';
    my ($short) = "$Dir/short.paw";
    run("$B/bin/eventrec", '-s', 2, '-p', 'block', '-o', $short, '--', "$B/prog/sites");
    cnv('-o', "$Dir/short.pb", $short);
    my @short = grep { function($_) } @{profile("$Dir/short.pb")->{samples}};
    is_deeply [grep { !/^\S+ (\S+ )+frames not recorded$/ } map { "@{$_->{stack}}" } @short], [],
        'which says where it is cut';
    is_deeply [sort map { "@{$_->{values}}" } @short], [sort map { "@{$_->{values}}" } @deep], 'with the same values';
    my ($id) = `$B/bin/eventcnv -E ModuleBuild $deep` =~ /id="(\w+)"/;
    ok defined $id && index(slurp("$Dir/deep.pb"), $id) > 0, 'build ids are in it';
}

# ---- Functions and lines ----

{
    ($status, $printed, $err) = cnv('--symbols', '-o', "$Dir/symbols.pb", "$Dir/deep.paw");
    is $status, 0, 'a profile with symbols' or diag $err;
    my $with = profile("$Dir/symbols.pb");
    my $named = sums($with, sub { $_[0]{stack}[0] });
    is_deeply $named->{$_}, $known{$_}, "$_ is called so" for sort keys %known;
    my ($regrow) = grep { $_->{stack}[0] eq 'regrow' } @{$with->{samples}};
    is_deeply [@{$regrow->{stack}}[1, 2]], ['grower', 'main'], 'and so are its callers';
    my ($line) = grep { (split /\n/, slurp('test/prog/sites.c'))[$_ - 1] =~ /kept\[i\] = malloc/ } 1 .. 60;
    my ($keeper) = grep { $_->{stack}[0] eq 'keeper' } @{$with->{samples}};
    like $keeper->{lines}[0], qr{(^|/)test/prog/sites\.c:$line$}, 'with files and lines';
}

# ---- The first mapping is the program's, also where a library allocates first ----

SKIP: {
    my $cc = $ENV{CC} // 'cc';
    my $library = spew("$Dir/early.c", "#include <stdlib.h>\nvoid *early;\n__attribute__((constructor)) static void begin(void) { early = malloc(100); }\n");
    my $program = spew("$Dir/main.c", "#include <stdlib.h>\nextern void *early;\nint main(void) { void *volatile p = malloc(10); return p == early; }\n");
    system("$cc -shared -fPIC -o $Dir/libearly.so $library && $cc -o $Dir/uses $program $Dir/libearly.so") == 0 or skip 'cannot be compiled', 2;
    run("$B/bin/eventrec", '-s', 1, '-o', "$Dir/uses.paw", "$Dir/uses");
    cnv('-o', "$Dir/uses.pb", "$Dir/uses.paw");
    my $all = message(slurp("$Dir/uses.pb"));
    my @mappings = map { $all->{6}[message($_)->{5}[0]] } @{$all->{3}};
    is $mappings[0], "$Dir/uses", 'the first mapping is the program';
    ok scalar(grep { m{/libearly\.so$} } @mappings), 'that of a library comes later';
}

# ---- What a log names is opened only for functions ----

{
    my ($own, $made) = ("$Dir/own", "$Dir/own.paw");
    cp("$B/prog/sites", $own) and chmod 0755, $own;
    run("$B/bin/eventrec", '-s', 8, '-p', 'block', '-o', $made, '--', $own);
    my ($opened) = opens($own, "$B/bin/eventcnv", '-f', 'pprof', '-o', "$Dir/own.pb", $made);
  SKIP: {
        skip 'no inotify', 2 unless defined $opened;
        is $opened, 0, 'a profile without symbols opens no module';
        is((opens($own, "$B/bin/eventcnv", '-f', 'pprof', '--symbols', '-o', "$Dir/own2.pb", $made))[0], 1,
            'one with symbols does');
    }
}

# ---- The same as eventview sites, of real programs ----

sub compare {
    my ($name, $made, @options) = @_;
    my $sites = decode_json((run("$B/bin/eventview", 'sites', '--json', '--top', 1000000, @options, $made))[1]);
    my $mine = "$Dir/$name.pb";
    my ($state, $text, $wrong) = cnv('--force', '-o', $mine, @options, $made);

    is "$state$text", '0', "$name: a profile" or diag $wrong;
    my $got = sums(profile($mine), sub { $_[0]{stack}[0] });
    my (%expected, %all, %mine);
    for (@{$sites->{sites}}) {
        my $place = defined $_->{function} ? '' : defined $_->{module} ? ($_->{module} =~ s{.*/}{}r) . "+$_->{offset}" : $_->{offset} // 'caller not recorded';
        my @row = @$_{qw(allocated_objects allocated_bytes left_objects left_bytes peak_objects peak_bytes)};
        $expected{$place}[$_] += $row[$_] for 0 .. $#row;
        $all{$_} += $row[$_] for 0 .. $#row;
    }
    # Where the view knows functions, the profile has module and offset: there the sums are compared.
    for my $place (keys %$got) {
        $mine{$_} += $got->{$place}[$_] for 0 .. 5;
        delete $got->{$place} if !exists $expected{$place};
    }
    delete $expected{''};
    $expected{$_} and !grep { $_ } @{$expected{$_}} and delete $expected{$_} for keys %expected;
    is_deeply \%mine, \%all, "$name: the six values of all callers are those of eventview sites";
    is_deeply $got, \%expected, "$name: all callers, and their six values, are those of eventview sites";
    return;
}
compare('known', $log);
{
    my $perl = "$Dir/perl.paw";
    is((run("$B/bin/eventrec", '-s', 1, '-p', 'block', '-o', $perl, '--', $^X, '-e',
            'my %h; for (1 .. 20000) { $h{$_} = "x$_" x 3; delete $h{$_ - 100} if $_ % 3 } if (my $child = fork) { waitpid $child, 0 }'))[0] >> 8, 0,
       'perl is recorded, forks, and waits');
    compare('perl', $perl);
    compare('half', $perl, '-e', 'size >= 100');
    my $plain = "$Dir/plain.paw";
    run("$B/bin/eventrec", '-o', $plain, '--', $^X, '-e', '1');
    compare('plain', $plain);
    like profile("$Dir/plain.pb")->{comments}[0] // '', qr/callers were not recorded; eventrec -s/,
        'of a log without callers that is said';
    is scalar(@{profile("$Dir/plain.pb")->{samples}}), 1, 'and it is one sample';
}

# ---- Odd names, damage, terminals ----

{
    my $odd = "$Dir/a\n\"\xff<b>";
    spew($odd, slurp("$B/prog/sites"));
    chmod 0755, $odd;
    run("$B/bin/eventrec", '-s', 1, '-o', "$Dir/odd.paw", '--', $odd);
    ($status, $printed, $err) = cnv('-o', "$Dir/odd.pb", "$Dir/odd.paw");
    is "$status$err", '0', 'a program with an odd name';
    my @strings = @{message(slurp("$Dir/odd.pb"))->{6}};
    is_deeply [grep { /[\x00-\x1f\x7f]/ || !utf8::decode(my $copy = $_) } @strings], [],
        'strings are UTF-8, without control characters';
    ok scalar(grep { $_ eq 'a\012"\377<b>' } @strings), 'what is not stands escaped';
    ($status, $printed, $err) = cnv('-o', "$Dir/bad.pb", 'test/bad/payload.paw');
    is $status, 1, 'a damaged log has status 1';
    ok profile("$Dir/bad.pb"), 'and a profile of the rest';
    like profile("$Dir/bad.pb")->{comments}[0] // '', qr/\d+ are damaged/, 'in which that is said';
}

# ---- As Go reads it ----

SKIP: {
    skip 'there is no go', 9 if system('go tool pprof -h >/dev/null 2>&1') >> 8 > 2;
    local $ENV{HOME} = $Dir;
    local $ENV{PPROF_TMPDIR} = $Dir;
    my @go = qw(go tool pprof -symbolize=none -unit=b -nodecount=1000 -nodefraction=0);
    ($status, $printed, $err) = run(@go, '-top', $out);
    is $status, 0, 'go tool pprof reads it' or diag $err;
    like $printed, qr/^Type: peak_space/m, 'and shows the peak';
    my ($peaker) = grep { $_->[1] eq 'peaker' } map { [$_->{stack}[0], function($_)] } @{$profile->{samples}};
    like $printed, qr/^\s*1000000B .* \Q$peaker->[0]\E$/m, 'with what is known to live then';
    ($status, $printed, $err) = run(@go, '-top', '-sample_index=alloc_objects', $out);
    like $printed, qr/^\s*1000b? .* sites\+0x/m, 'and what was allocated';
    ($status, $printed, $err) = run(@go, '-lines', '-peek', '^keeper', "$Dir/symbols.pb");
    is $status, 0, 'it reads functions and lines, too' or diag $err;
    like $printed, qr{^ *100000B .*\| +keeper \S*test/prog/sites\.c:\d+$}m, 'and shows them' or diag $printed;
    my $again = "$Dir/again.paw";
    run("$B/bin/eventrec", '-s', 1, '-p', 'block', '-o', $again, '--', "$B/prog/sites");
    cnv('-o', "$Dir/again.pb", $again);
    ($status, $printed, $err) = run(@go, '-top', '-sample_index=alloc_space', '-base', $out, "$Dir/again.pb");
    is $status, 0, '-base takes one from another' or diag $err;
    unlike $printed, qr/^\s*-?[1-9]\d*B .* sites\+0x/m, 'two runs of one program are the same, wherever they were loaded';
    ($status, $printed, $err) = run(@go, '-raw', $out);
    like $printed, qr{^1: 0x\w+/0x\w+/0x0 /\S+ *}m, 'with its mappings' or diag $printed;
}
done_testing;
