# toolcheck.t -- tool/check, which runs the tests, fails if one of them does or leaves memory behind, and names it
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw($Dir run spew);
use Test::More;

my %test = (
    sound => 'ok 1, "fine"; diag "a tally"; ok 1, "still";',
    faulty => 'note "SEED=4711"; ok 1, "first"; ok 0, "second"; diag "why"; ok 1, "third";',
    silent => 'ok 1, "nothing is wrong"; done_testing; require POSIX; POSIX::_exit(3);',
    leaves => 'ok 1, "leaves"; symlink "$ENV{TMPDIR}/log", "/dev/shm/pawprint-left-$$";',
);
spew("$Dir/$_.t", "use Test::More; $test{$_} done_testing;\n") for keys %test;

# check($jobs, @names) -- the status, and all that is said
sub check {
    my ($jobs, @names) = @_;
    my ($status, $out) = run('sh', '-c', 'exec "$@" 2>&1', 'sh', $^X, 'tool/check', $jobs, map { "$Dir/$_.t" } @names);
    return ($status, $out);
}

my $left = qr{^make check: left in memory: /dev/shm/pawprint-left-\d+: the link to .*/log$}m;
is((check($_, 'sound'))[0], 0, "$_: a sound test") for 2, '--verbose';
my ($status, $out) = check(2, 'sound', 'leaves');
is $status, 1, 'one that leaves memory behind';
like $out, $left, 'which is named';
($status, $out) = check(2, qw(faulty sound));
is $status, 1, 'a faulty one';
like $out, qr{^\S*/faulty\.t .*Failed: 1\)\n  Failed test:  2$}m, 'is named';
like $out, qr{^make check: what failed, once more:\n\S*/faulty\.t:\n+#   Failed test 'second'\n(?:#.*\n)*# why\n(?:#.*\n)*\z}m,
    'and last comes why it failed, and nothing of the sound one';
($status, $out) = check(1, qw(silent));
is $status, 1, 'one that ends with a status and says nothing';
like $out, qr{^make check: what failed, once more:\n\S*/silent\.t:\n\z}m, 'is named last, too';

# Who says in his first comments that he takes long comes before who does not, or says it elsewhere.
spew("$Dir/long.t", "# long.t -- is long\n#\n# Takes long.\n#\nuse Test::More;\nok 1;\ndone_testing;\n");
spew("$Dir/later.t", "use Test::More;\n# Takes long.\nok 1;\ndone_testing;\n");
($status, $out) = check(1, qw(sound later long));
is join(' ', $status, $out =~ m{^\S* ?\S*/(\w+)\.t \.}mg), '0 long sound later', 'long tests come first, the others as they are named';

($status, $out) = check('--verbose', qw(faulty sound leaves));
my ($before, $last) = split /^make check: what failed, once more:\n/m, $out;
is $status, 1, 'in words';
like $before, $_, "all is shown: $_" for qr/^# SEED=4711$/m, qr/^# why$/m, qr{^\S*/sound\.t }m, qr/^ok 1 - fine$/m, qr/^# a tally$/m, $left;
like $last, $_, "and what failed comes last: $_" for qr/^# SEED=4711$/m, qr/^not ok 2 - second$/m, qr/^# why$/m, qr/^Result: FAIL$/m;
unlike $last, qr/sound|fine|tally|leaves|left/, 'and nothing else';
done_testing;
