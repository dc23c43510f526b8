# demo.t -- `make demo' shows what it promises, also where the processors are busy
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use Cwd qw(cwd);
use EndToEnd qw($Dir run);
use File::Basename qw(basename);
use File::Path qw(make_path);
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
# cpu($what) -- how many seconds of processors something takes, with all that it runs
sub cpu {
    my ($what) = @_;
    my @before = times;
    $what->();
    my @after = times;
    return $after[2] + $after[3] - $before[2] - $before[3];
}

# The same work for each demo: how long a million small things take here and now.
my $measure = 'my %index; push @{$index{$_ % 9973}}, "line:$_" for 1 .. 1000000; %index = ()';
my $unit = cpu(sub { system $^X, '-e', $measure });
local $ENV{DEMO} = "$Dir/demo";
# What happens around the kill goes to a file, line by line.  The shell's own trace is no use for that: it writes each word
# by itself, and two processes of a pipe mix theirs.
local $ENV{STEPS} = "$Dir/steps";
my $tools = ($ENV{B} // 'build/cool') . '/bin';
local $ENV{TOOLS} = $tools =~ m{^/} ? $tools : cwd() . "/$tools";
local $ENV{B} = "$Dir/b";
make_path "$ENV{B}/bin";
for my $tool (glob "$ENV{TOOLS}/*") {
    symlink $tool, "$ENV{B}/bin/" . basename $tool or die "symlink: $!";
}
# The tool that looks at the log of what was killed first writes down the state of that process.
my $looks = "$ENV{B}/bin/eventcnv";
unlink $looks;
open my $script, '>', $looks or die "$looks: $!";
print $script <<'END';
#!/bin/sh
case $* in
*killed.paw)
    victim=$(sed -n 's/^kill -9 .* //p' "$STEPS")
    state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$victim/status" 2>/dev/null)
    echo "looks, state ${state:-gone}" >> "$STEPS"
    ;;
esac
exec "$TOOLS/eventcnv" "$@"
END
close $script or die "$looks: $!";
chmod 0755, $looks;
# What the demo kills besides its recorder takes no more step, and is there until the demo has slept three times since.
my $late = <<'END';
dying= slept=0
kill() {
    [ "$1" = -9 ] || { command kill "$@"; return; }
    echo "kill $*" >> "$STEPS"
    dying=$3
    command kill -STOP "$3"
    command kill -9 "$2"
}
sleep() {
    command sleep "$@"
    [ -n "$dying" ] || return 0
    slept=$((slept + 1))
    echo "slept $slept" >> "$STEPS"
    [ $slept -lt 3 ] || { command kill -9 "$dying"; dying=; }
}
trap '[ -z "$dying" ] || command kill -9 "$dying"' EXIT
. tool/demo
END
my ($status, $out, $err);
my $demo = cpu(sub { ($status, $out, $err) = run('sh', '-c', $late) });
$unit += cpu(sub { system $^X, '-e', $measure });
kill KILL => @busy;
waitpid $_, 0 for @busy;

is $status, 0, 'it comes to its end' or diag $err;
my ($events) = $err =~ /^eventrec: ([1-9]\d{5,}) events \(0 discarded\), /m;
ok defined $events, 'having recorded a program';
# A quarter of two of the measure, before it and after it; with four times as much to do it took five quarters.
cmp_ok $demo, '<', 0.75 * $unit, 'with less work than would take half a minute where processors are busy';
note "$demo s, the measure $unit s";
my ($program) = $out =~ /^\$ kill -9 \d+ (\d+)$/m;
ok defined $program, 'and killed another';
open my $steps, '<', $ENV{STEPS} or die "$ENV{STEPS}: $!";
my $killed = <$steps>;
like $killed, qr/^kill -9 \d+ \Q$program\E$/, 'this one and its recorder';
# It sleeps again where the process has not gone at once, and may find that its parent has not asked for its status.
like join('', <$steps>), qr/^slept 1\nslept 2\nslept 3\n(?:slept \d+\n){0,2}looks, state (?:X|Z|gone)\n$/,
    'for whose end it waits before it looks, and no longer';
like $err, qr/: took \d+ events of process \Q$program\E from shared memory: /, 'whose events it shows, once it is dead';
unlike $err, qr/still|may be more|is about to/, 'of which it says nothing that is not over';
like $out, qr/^\S+: of process \Q$program\E, .*: added to the log; removed$/m, 'and takes out of memory';

done_testing;
