# registry.t -- the registry keeps faith with its recorded versions, and the check of that notices where it does not
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw($Dir run slurp spew);
use Registry;
use Test::More;

plan skip_all => 'the same with and without sanitizers' if $ENV{SAN};

my $perl = $ENV{PERL} || $^X;
my $file = "$Dir/eventdef.h";
my $record = "$Dir/registry.txt";

sub check { return run($perl, 'tool/registrycheck', @_) }

{
    my ($status, $out, $err) = check();
    is $status, 0, "the project's own registry keeps faith" or diag $err;
}

my $two = event('Foo', '0x0101', 'PAW') . event('Bar', '0x0102', 'W');
my $old = "RETIRED(Old, 0x0103)\n";

# Records the registry with Foo, Bar and the retired Old as version 2.3.4.
sub recordBase {
    unlink $record;
    spew($file, version(2, 3, 4) . $two . $old);
    my ($status, $out, $err) = check('--record', $file, $record);
    return $status || (check('--release', $file, $record))[0];
}

sub accepts {
    my ($sentence, $version, $rows) = @_;

    my $kept = slurp($record);
    spew($file, version(@$version) . $rows);
    my ($status, $out, $err) = check($file, $record);
    if ("@$version" ne '2 3 4') {
        ok $status == 1 && $err =~ /version \S+ is not recorded in \Q$record\E: make registry-record$/m, "$sentence: it is to be recorded"
            or diag $err;
        check('--record', $file, $record);
        ($status, $out, $err) = check($file, $record);
    }
    is $status, 0, $sentence or diag $err;
    spew($record, $kept);
}

sub refuses {
    my ($sentence, $version, $rows, $message) = @_;

    spew($file, version(@$version) . $rows);
    my ($status, $out, $err) = check($file, $record);
    ok $status == 1 && $err =~ /\Q$message\E/, $sentence or diag "status $status: $err";
}

is recordBase(), 0, 'a registry is recorded';
accepts('unchanged', [2, 3, 4], $two . $old);
accepts('other words and varieties', [2, 3, 4], $two =~ s/happens/occurs/gr =~ s/TRUE/FALSE/gr . $old);
my $raise = 'raise EventVersionMEDIAN';
my %changed = (
    format     => event('Foo', '0x0101', 'PAU') . event('Bar', '0x0102', 'W'),
    name       => $two =~ s/Foo/Fool/gr,
    kind       => $two =~ s/Arena/Pool/r,
    parameters => $two =~ s/, a, "one"/, other, "one"/r,
);
for my $what (sort keys %changed) {
    # The project's rule that the high byte tells the kind is another matter.
    my $rows = $changed{$what} . $old;
    refuses("$what changed", [2, 3, 4], $rows, "changed: $what") if $what ne 'kind';
    refuses("$what changed: the minor does not do", [2, 3, 5], $rows, $raise);
    accepts("$what changed, the median raised", [2, 4, 0], $rows) if $what ne 'kind';
    accepts("$what changed, the major raised", [3, 0, 0], $rows) if $what ne 'kind';
}
my $more = event('More', '0x0104', '0');
refuses('added', [2, 3, 4], $two . $more . $old, 'More (0x0104) was added: raise EventVersionMINOR');
accepts('added, the minor raised', [2, 3, 5], $two . $more . $old);
accepts('added, the median raised', [2, 4, 0], $two . $more . $old);
my $foo = event('Foo', '0x0101', 'PAW');
refuses('gone', [3, 0, 0], $foo . $old, 'Bar (0x0102) is gone: it needs RETIRED(Bar, 0x0102)');
refuses('retired without a new version', [2, 3, 4], $foo . "RETIRED(Bar, 0x0102)\n" . $old, 'Bar was removed: version 2.3.4 is released: raise');
accepts('retired', [2, 3, 5], $foo . "RETIRED(Bar, 0x0102)\n" . $old);
refuses('retired by another name', [3, 0, 0], $foo . "RETIRED(Baz, 0x0102)\n" . $old, 'by another name, Baz');
refuses('a retired row that is gone', [3, 0, 0], $two, 'code 0x0103 was retired with Old: its RETIRED row is gone');
refuses('a retired code that is used again', [3, 0, 0], $two . event('New', '0x0103', 'P'),
        'code 0x0103 was retired with Old: New must take another');
refuses('a lower version', [2, 2, 9], $two . $old, 'version 2.2.9 is lower than 2.3.4');
accepts('a kind added, the minor raised', [2, 3, 5], "KIND(More, 7, \"new\")\n$two$old");
refuses('a kind added', [2, 3, 4], "KIND(More, 7, \"new\")\n$two$old",
        'kind 7 More was added: raise EventVersionMINOR');
refuses('a code that does not tell its kind', [2, 3, 5], $two . event('More', '0x0205', '0') . $old,
        'More: code 0x0205 should begin with 0x01');
refuses('a registry that does not parse', [2, 3, 4], "$two$old oops\n", 'not a row');

spew($file, version(2, 3, 4) =~ s/Pool/Pond/r . $two . $old);
like +(check($file, $record))[2], qr/kind 1 changed from Pool to Pond: raise EventVersionMEDIAN/, 'a kind renamed';

# --record never records what breaks faith
spew($file, version(2, 3, 4) . $foo . $old);
my $before = slurp($record);
is +(check('--record', $file, $record))[0], 1, '--record refuses a breach';
is slurp($record), $before, 'and leaves the record alone';
spew($record, "nonsense\n" . $before);
like +(check($file, $record))[2], qr/^\Q$record\E:1: not a line of a recorded registry$/m, 'a damaged record is named';
spew($record, $before . $before);
like +(check($file, $record))[2], qr/^\Q$record\E:\d+: version 2.3.4 does not come after 2.3.4$/m, 'versions in disorder';
unlink $record;
like +(check($file, $record))[2], qr/^\Q$record\E:0: cannot be read/m, 'no record is an error';
is +(check('--nonsense'))[0], 2, 'an unknown option';

# The version in work: it grows as often as one likes, until it is out.
{
    my $work = $two . $more . $old;
    my $says = sub { return (check(@_, $file, $record))[2] };

    recordBase();
    spew($file, version(2, 3, 4) . $work);
    my $kept = slurp($record);
    like $says->('--record'), qr/More was added: version 2\.3\.4 is released: raise/, 'a released version is not recorded anew';
    is slurp($record), $kept, 'and stays as it was';
    spew($file, version(2, 3, 5) . $work);
    is $says->('--record'), '', 'a version is taken into work';
    like slurp($record), qr/\A\Q$kept\Eversion: 2\.3\.5\n/, 'behind those that are out';
    spew($file, version(2, 3, 5) . $two . $more . event('Yet', '0x0105', 'W') . $old);
    like $says->(), qr/^\Q$file\E: Yet was added since version 2\.3\.5 was recorded: make registry-record$/m, 'an event that is added is to be recorded';
    is $says->('--record'), '', 'and can be, while the version is in work';
    spew($file, version(2, 3, 5) . $two . event('More', '0x0104', 'W') . $old);
    like $says->(), qr/More was changed since.*\n.*Yet was removed since|Yet was removed since.*\n.*More was changed since/, 'so are one that is changed, and one that goes';
    like $says->('--release'), qr/make registry-record/, 'what is not recorded is not released';
    $says->('--record');
    is $says->('--release'), '', 'what is, is';
    like slurp($record), qr/^version: 2\.3\.4 released\n.*^version: 2\.3\.5 released\n/ms, 'and says so';
    is $says->(), '', 'the check needs no tag for it';
    spew($file, version(2, 3, 5) . $work);
    like $says->(), qr/More \(0x0104\) changed: format W became 0: raise EventVersionMEDIAN \(since/, 'from then on it stands';
    spew($file, version(2, 3, 6) . $two . $old);
    like $says->(), qr/More \(0x0104\) is gone/, 'and what came with it needs its RETIRED row';
}

SKIP: {
    skip 'no git', 3 if system('command -v git >/dev/null 2>&1') != 0;
    local $ENV{GIT_CONFIG_GLOBAL} = '/dev/null';
    my @git = ('git', '-C', $Dir, '-c', 'user.name=n', '-c', 'user.email=e@example.org');

    recordBase();
    run(@git, @$_) for ['init', '-q'], ['add', 'eventdef.h'], ['commit', '-qm', 'x'], ['tag', 'v1'];
    accepts('unchanged since the tag', [2, 3, 4], $two . $old);
    like +(check($file, $record))[1], qr/keeps faith with \Q$record\E and v1$/,
        'and it says with what it was compared';
    # Recorded by hand, past the check: the tag still knows.
    spew($record, slurp($record) =~ s/^event: 0x0102.*\n//mr);
    refuses('gone since the tag', [2, 3, 4], $foo . $old,
            'Bar (0x0102) is gone: it needs RETIRED(Bar, 0x0102) (since v1');
}

done_testing;
