#!/usr/bin/perl
# indexfile.t -- a log is read the same with an index file beside it, whatever the log, and whatever became of the index
#
# SPDX-License-Identifier: BSD-2-Clause

use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp spew);
use File::Temp qw(tempdir);
use Test::More;

my $B = $ENV{B} // 'build/cool';
my $eventcnv = "$B/bin/eventcnv";
my $folder = tempdir(CLEANUP => 1);
my $log = "$folder/log.paw";
my $seed = $ENV{SEED} // time;
srand $seed;
print "# SEED=$seed\n";

# cnv(argument...) -- all that is seen of a run: output, errors, status
sub cnv {
    my @arguments = @_;
    my $status = system "$eventcnv @arguments >$folder/out 2>$folder/err </dev/null";
    return {out => slurp("$folder/out"), err => slurp("$folder/err"), status => $status};
}

# said($run, $regex) -- the lines on standard error that match, and those that do not
sub said {
    my ($run, $regex) = @_;
    my @lines = split /^/, $run->{err};
    return scalar(grep { $_ =~ $regex } @lines), join('', grep { $_ !~ $regex } @lines);
}

# same($run, $expected, $notes, $what) -- the same was read, and at most so many notes on the index are added
sub same {
    my ($run, $expected, $notes, $what) = @_;
    my ($noted, $rest) = said($run, qr/\.idx (?:is|cannot|belongs) /);
    my $same = $run->{out} eq $expected->{out} && $rest eq $expected->{err} && $run->{status} == $expected->{status} &&
        $noted <= $notes;
    diag "$what:\n$run->{status} $run->{err}instead of\n$expected->{status} $expected->{err}" if !$same;
    return $same;
}

# ---- Every log there is ----

my %logs = map { $_ => slurp($_) } glob 'test/good/*.paw test/bad/*.paw';
ok keys %logs > 10, 'there are logs';
for my $path (sort keys %logs) {
    unlink "$log.idx";
    spew($log, $logs{$path});
    my @before = map { cnv($_, $log) } '', '--check', '--header';
    my $made = cnv('--index', $log);
    my @after = map { cnv($_, $log) } '', '--check', '--header';
    is_deeply \@after, \@before, "$path: the same with an index";
    if ($made->{status} == 0) {
        like $made->{out}, qr/^\Q$log\E\.idx: (?:1 block|0 blocks|[2-9] blocks|\d\d+ blocks) of \d+ bytes, in \d+ bytes$/, 'which eventcnv says it has written';
        ok -e "$log.idx", 'and which is there';
    } else {
        is $made->{err}, $before[0]{err}, 'a log that cannot be read has none, and the reason is the same';
        ok !-e "$log.idx", 'and nothing is left of it';
    }
}

# ---- What a block claims to reach to is where the log ended, when the index was made ----

# A block that was cut short is followed by the next one, within the size that it claims.
my @places;
push @places, $-[0] while $logs{'test/bad/payload.paw'} =~ /\x8fPAWblk\n/g;
my %cut = (
    'payload.paw' => $logs{'test/bad/payload.paw'},
    'overwritten.paw' => $logs{'test/bad/overwritten.paw'},
    'a block within another, which is cut off' => substr($logs{'test/bad/payload.paw'}, 0, $places[1] + 148) .
        substr($logs{'test/bad/payload.paw'}, $places[2], 175),
    'a block within another' => substr($logs{'test/bad/payload.paw'}, 0, $places[1] + 148) .
        substr($logs{'test/bad/payload.paw'}, $places[2]) x 2,
);
for my $path (sort keys %cut) {
    my $bytes = $cut{$path};
    unlink "$log.idx";
    spew($log, $bytes);
    my $expected = cnv($log);
    my $same = 1;
    while ($bytes =~ /\x8fPAWblk\n/g) {
        my $end = $-[0] + unpack 'x16 V', substr $bytes, $-[0], 20;
        next if $end >= length $bytes;
        spew($log, substr $bytes, 0, $end);
        cnv('--index', $log);
        spew($log, substr($bytes, $end), '>>');
        $same &&= same(cnv($log), $expected, 0, "$path, grown from $end");
    }
    spew($log, $bytes);
    cnv('--index', $log);
    $same &&= same(cnv($log), $expected, 0, $path);
    ok $same, "$path, grown behind each block: the same";
}

# ---- Logs made of their parts ----

my ($grown, $indexed, $flipped, $cut, $changed, $used) = (1, 1, 1, 1, 1, 0);
my @parts = (map({ $logs{$_} } sort keys %logs), "\0" x 5000, "\x8fPAWhdr\npawprint 1.0.0 0001048000 00000000", 'text ' x 300, "\x8fPAWblk\n" x 20);
for my $round (1 .. 40) {
    my $bytes = '';
    for (1 .. 1 + rand 5) {
        my $part = $parts[rand @parts];
        $part = substr $part, rand(length $part) if rand() < 0.3;
        $part = substr $part, 0, rand(length $part) if rand() < 0.3;
        substr($part, rand length $part, 1) = chr rand 256 if length $part && rand() < 0.3;
        $bytes .= $part;
    }
    unlink "$log.idx";
    spew($log, $bytes);
    my $expected = cnv($log);
    my $known = int rand length $bytes;
    spew($log, substr $bytes, 0, $known);
    if (cnv('--index', $log)->{status} == 0) {
        spew($log, substr($bytes, $known), '>>');
        $grown &&= same(cnv($log), $expected, 0, "round $round, grown from $known");
        ++$used;
    }
    spew($log, $bytes);
    next if cnv('--index', $log)->{status} != 0;
    $indexed &&= same(cnv($log), $expected, 0, "round $round");

    my $index = slurp("$log.idx");
    my $at = int rand length $index;
    spew("$log.idx", substr($index, 0, $at) . chr(rand 256) . substr($index, $at + 1));
    $flipped &&= same(cnv($log), $expected, 1, "round $round, byte $at changed");
    spew("$log.idx", substr $index, 0, rand length $index);
    $cut &&= same(cnv($log), $expected, 1, "round $round, index cut off");

    spew("$log.idx", $index);
    substr($bytes, rand length $bytes, 1) = chr rand 256;
    spew($log, $bytes);
    my $with = cnv($log);
    unlink "$log.idx";
    $changed &&= same($with, cnv($log), 1, "round $round, log changed");
}
ok $indexed, 'logs of parts of logs, zeros and text are read the same with an index';
ok $grown && $used > 10, "and with one of what they were before they grew ($used of them)";
ok $flipped, 'and with an index in which a byte is wrong: at most one line tells so';
ok $cut, 'and with one that was cut off';
ok $changed, 'and where the log was changed since';

# ---- What is no index of this log ----

spew($log, $logs{'test/good/threads.paw'});
unlink "$log.idx";
my $expected = cnv($log);
cnv('--index', $log);
my $index = slurp("$log.idx");
my $is = sub {
    my ($what, $regex) = @_;
    my $run = cnv($log);
    ok same($run, $expected, 1, $what), "$what changes nothing";
    like $run->{err}, $regex, 'and is told in one line';
};
spew("$folder/other.paw", $logs{'test/good/handler.paw'});
cnv('--index', "$folder/other.paw");
spew("$log.idx", slurp("$folder/other.paw.idx"));
$is->('the index of another log', qr/log\.paw\.idx is (?:damaged, or of another|of a longer|older than the) log, and is not used; eventcnv --index/);
spew("$log.idx", "hello\n");
$is->('text', qr/is no index, and is not used; eventcnv --index makes a new one when it is gone$/);
my $refused = cnv('--index', $log);
like $refused->{err}, qr/log\.paw\.idx: the file is no index, and is not overwritten/, 'what is no index is not overwritten';
is slurp("$log.idx"), "hello\n", 'and stays as it is';
unlink "$log.idx";
symlink "$folder/other.paw.idx", "$log.idx";
$is->('a link', qr/idx cannot be opened/);
like cnv('--index', $log)->{err}, qr/not overwritten/, 'nor is a link followed';
unlink "$log.idx";
spew("$log.idx", $index);
utime time - 100, time - 100, $log;
$is->('an index of a log that has another time', qr/is older than the log/);
is cnv('--index', $log)->{status}, 0, 'and is made anew';
is cnv($log)->{err}, $expected->{err}, 'and used then';
is_deeply [grep { !/\.idx$|\.paw$|out$|err$/ } glob "$folder/*"], [], 'nothing else is left beside the logs';

SKIP: {
    skip 'no /dev/full', 1 if !-c '/dev/full';
    is system("$eventcnv --index $log >/dev/full 2>$folder/err") >> 8, 1, 'a report that cannot be written is a failure';
}

# ---- Whose it is, and who may read it ----

unlink glob "$log*";
spew($log, $logs{'test/good/threads.paw'});
for my $mode (0600, 0640, 0644, 0444, 0400, 0666) {
    chmod $mode, $log or die;
    cnv('--index', $log);
    is sprintf('%o', (stat "$log.idx")[2] & 07777), sprintf('%o', 0600 | $mode & 0444),
        sprintf('the index of a log with mode %o', $mode);
}
SKIP: {
    skip 'only root can be somebody else', 5 if $> != 0;
    # as($user, log) -- eventcnv, run by a user without a name, who is told
    my $as = sub {
        my ($user, $path) = @_;
        my $pid = open(my $pipe, '-|') // die;
        if ($pid == 0) {
            open STDERR, '>&', \*STDOUT;
            $) = "$user $user";
            ($<, $>) = ($user, $user);
            exec $eventcnv, $path or die;
        }
        local $/;
        return scalar <$pipe> // '';
    };
    chmod 0755, $folder;
    chmod 0644, $log;
    chown 60001, 60002, $log or die;
    cnv('--index', $log);
    is join('/', (stat "$log.idx")[4, 5]), '60001/60002', 'the index that root writes is the owner\'s';
    skip 'the tools are not for everybody', 4 if $as->(60003, $log) !~ /^0\.000000000 /m;
    my $cut = substr slurp("$log.idx"), 0, -3;
    spew("$log.idx", $cut);
    like $as->(60003, $log), qr/idx is damaged, and is not used/, 'who may read the log uses its owner\'s index';
    chown 60003, 60003, "$log.idx";
    like $as->(60003, $log), qr/idx is damaged, and is not used/, 'and his own';
    like $as->(60004, $log), qr/idx belongs to somebody else.*, and is not used/, 'not that of somebody else';
    chown 0, 0, "$log.idx";
    like $as->(60004, $log), qr/idx is damaged, and is not used/, 'but root\'s';
}
chown $>, (split / /, $))[0], $log;

# ---- A log that is followed ----

# followed(log...) -- what --follow makes of each, all at a time, because each waits a second for more
sub followed {
    my @pids = map {
        my $path = $_;
        my $pid = fork // die;
        exec 'sh', '-c', "exec timeout 20 $eventcnv --follow $path >$path.out 2>$path.err </dev/null" if $pid == 0;
        $pid;
    } @_;
    my @runs;
    for my $path (@_) {
        waitpid shift @pids, 0;
        push @runs, {status => $?, map { $_ => slurp("$path.$_") =~ s/\Q$path\E/LOG/gr } 'out', 'err'};
    }
    return @runs;
}

my %follow;
for my $round (1 .. 8) {
    my $bytes = join '', $round == 1 ? $logs{'test/good/threads.paw'} : '', map { $parts[rand @parts] } 1 .. 4;
    my $known = $round == 1 ? length $bytes : int rand length $bytes;
    my ($with, $without) = map { "$folder/follow$round$_.paw" } 'a', 'b';
    spew($with, substr $bytes, 0, $known);
    cnv('--index', $with);
    spew($with, substr($bytes, $known), '>>');
    spew($without, $bytes);
    spew("$with.idx", substr slurp("$with.idx"), 0, -3) if $round == 1;
    $follow{$with} = $without;
}
{   # One that lies where the samples do not look: of a log that was changed, and has grown.
    my $many = $logs{'test/good/threads.paw'} x 100;
    my ($with, $without) = map { "$folder/many$_.paw" } 'a', 'b';
    my @blocks;
    push @blocks, $-[0] while $many =~ /\x8fPAWblk\n/g;
    spew($with, $many);
    cnv('--index', $with);
    substr($many, $blocks[1] + 40, 1) ^= "\1";
    spew($with, $many . $logs{'test/good/threads.paw'});
    spew($without, $many . $logs{'test/good/threads.paw'});
    $follow{$with} = $without;
}
my @with = sort keys %follow;
my @runs = followed(@with, @follow{@with});
my $same = 1;
$same &&= same($runs[$_], $runs[$_ + @with], 1, $with[$_]) for 0 .. $#with;
ok $same, 'logs are followed with an index as they are without';
ok scalar(grep { $_->{err} =~ /idx is damaged, or of another log, and/ } @runs), 'also where the index is not true';
ok scalar(grep { $_->{err} =~ /idx is damaged, and is not used/ } @runs), 'and where it is cut off';

# ---- Check points of the heap ----

SKIP: {
skip 'programs are recorded by the cool variety', 21 if ($ENV{VARIETY} // 'cool') ne 'cool';
my $recorded = "$folder/recorded.paw";
my $program = 'my @a; for my $i (1 .. 60000) { push @a, [$i, "x" x ($i % 300)]; shift @a if @a > 500 } fork; wait';
is system("$B/bin/eventrec -o $recorded -- $^X -e '$program' >$folder/out 2>$folder/err"), 0, 'a program is recorded';
my $end = cnv('-f', 'csv', $recorded)->{out} =~ /.*^([0-9.]+),/ms ? $1 : 0;
my @asked;
for my $part (0.31, 0.66, 0.97) {
    my $at = sprintf '%.9f', $end * $part;
    push @asked, ["eventview live --json --at $at", 'what lives'], map { ["eventcnv --from $at -f $_", "$_, from there on"] } 'chrome', 'paje';
    push @asked, ["eventcnv --from $at --to $end -f paw -o $folder/cut.paw --force", 'cut'], ["eventcnv $folder/cut.paw", 'a part'];
}
# answers() -- to all of that; a cut's text instead of its bytes
sub answers {
    return map {
        my ($command) = @$_;
        my $log = $command =~ /cut\.paw$/ ? '' : $recorded;
        [scalar(qx($B/bin/$command $log 2>&1)), $?];
    } @asked;
}
my @without = answers();
cnv('--index', $recorded);
my ($checks) = unpack 'x12 L', slurp("$recorded.idx");
cmp_ok $checks, '>', 1, 'its index has check points';
my @now = answers();
is_deeply $now[$_], $without[$_], "$asked[$_][1], from a check point on: the same" for 0 .. $#asked;
ok !(grep { $_->[1] != 0 } @without), 'and none is a failure';

# Of a damaged log: who began behind the damage would not tell of it.
my $bytes = slurp($recorded);
my @blocks;
push @blocks, $-[0] while $bytes =~ /\x8fPAWblk\n/g;
substr($bytes, $blocks[@blocks / 4] + 140, 1) ^= "\1";
spew($recorded, $bytes);
unlink "$recorded.idx";
@asked = (["eventview live --json --at @{[sprintf '%.9f', $end * 0.97]}"]);
@without = answers();
like $without[0][0], qr/checksum mismatch; [1-9]\d* events? lost/, 'what lives according to a damaged log is told with the damage';
isnt $without[0][1], 0, 'and is a failure';
cnv('--index', $recorded);
is_deeply [answers()], \@without, 'also with an index, which has no check points then';
}

# ---- What has no index ----

like cnv('--index', '-')->{err}, qr/only a log in a file has an index/, 'standard input has none';
like cnv('--index', '--check', $log)->{err}, qr/has no meaning with --check/, '--index goes with nothing else';
my $before = cnv($log);
is system("cat $log | $eventcnv - >$folder/out 2>$folder/err"), 0, 'a log from a pipe is read without one';
is slurp("$folder/out"), $before->{out}, 'all the same';

done_testing;
