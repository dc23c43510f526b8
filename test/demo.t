# demo.t -- `make demo' shows what it promises, also where the processors are busy
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use Registry;
use Test::More;

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the same with and without sanitizers' if $ENV{SAN};

# Twice as many as there are processors go round as fast as they can.
my @busy;
for (1 .. 2 * (`nproc 2>/dev/null` || 2)) {
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        alarm 300;
        1 while 1;
    }
    push @busy, $pid;
}
local $ENV{DEMO} = "$Dir/demo";
# What the demo kills besides its recorder takes no more step, and is there until the demo has slept three times since.
my $late = <<'END';
dying= slept=0
kill() {
    [ "$1" = -9 ] || { command kill "$@"; return; }
    dying=$3
    command kill -STOP "$3"
    command kill -9 "$2"
}
sleep() {
    command sleep "$@"
    [ -n "$dying" ] || return 0
    slept=$((slept + 1))
    [ $slept -lt 3 ] || { command kill -9 "$dying"; dying=; }
}
trap '[ -z "$dying" ] || command kill -9 "$dying"' EXIT
. tool/demo
END
my ($status, $out, $err) = run('sh', '-xc', $late);
my $trace = join '', $err =~ /^\+ .*\n/mg;
$err =~ s/^\+ .*\n//mg;
kill KILL => @busy;
waitpid $_, 0 for @busy;

is $status, 0, 'it comes to its end' or diag $err;
my ($events) = $err =~ /^eventrec: ([1-9]\d{5,}) events \(0 discarded\), /m;
ok defined $events, 'having recorded a program';
# Of what takes its time the events are the most; how long they take depends on the machine.
cmp_ok $events // 0, '<', 20e6, 'not more of it than there is to be done in half a minute';
my ($program) = $out =~ /^\$ kill -9 \d+ (\d+)$/m;
ok defined $program, 'and killed another';
like $trace, qr/^\+ kill -9 \d+ \Q$program\E\n(?:.*\n)*?\+ ended \Q$program\E\n(?:.*\n)*\+ \S*eventcnv \S+killed\.paw\n/m, 'for whose end it waits before it looks';
is_deeply [$trace =~ /^\+ slept=(\d+)$/mg], [1 .. 3], 'and no longer, however long that takes';
like $err, qr/: took \d+ events of process \Q$program\E from shared memory: /, 'whose events it shows, once it is dead';
unlike $err, qr/still|may be more|is about to/, 'of which it says nothing that is not over';
like $out, qr/^\S+: of process \Q$program\E, .*: added to the log; removed$/m, 'and takes out of memory';

done_testing;
