#!/usr/bin/perl
# memory.t -- what a program has mapped, and what of it is resident; who was killed
#
# SPDX-License-Identifier: BSD-2-Clause

use strict;
use warnings;
use File::Temp qw(tempdir);
use JSON::PP;
use List::Util qw(max);
use Test::More;

my $b = $ENV{B} // 'build/cool';
plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'the library stays out of a program with a sanitizer of threads' if ($ENV{SAN} // '') =~ /thread/;
my $folder = tempdir(CLEANUP => 1);
my $mb = 1 << 20;

# While the program waits it is sampled: on a busy machine, where a round of samples takes long, not always.
my ($child, $json, $status);
for (1 .. 10) {
    my $said = `$b/bin/eventrec --force --sample=20 -o $folder/mapped.paw -- $b/prog/mapped 2>$folder/err`;
    $status = $?;
    ($child) = $said =~ /^(\d+)$/ or die;
    $json = `$b/bin/eventview --json $folder/mapped.paw`;
    my $its = decode_json($json);
    last if $its->{resident_samples_apart} && grep { ($_->{resident_bytes} // 0) > 2_000_000 } @{$its->{processes}};
}
is $status, 0, 'a program that maps is recorded';
my $summary = decode_json($json);
my ($parent) = grep { $_->{pid} != $child } @{$summary->{processes}};
my ($killed) = grep { $_->{pid} == $child } @{$summary->{processes}};
is $parent->{mapped_bytes}, 58 * $mb, 'what is mapped at the end';
is $parent->{peak_mapped_bytes}, 67 * $mb, 'and at most: over others, in part, moved, and the data segment';
is $killed->{mapped_bytes}, 32 * $mb, 'a child has what it mapped itself';
is $summary->{mapped_bytes}, 90 * $mb, 'all have the sum';
is $summary->{peak_mapped_bytes}, 90 * $mb, 'also at the peak, where both live';
cmp_ok $parent->{resident_bytes} // 0, '>', 2_000_000, 'what was resident is sampled: what it wrote to, at least';
is $summary->{processes}[0]{pid}, $parent->{pid}, 'the largest process is the first';
# A peak that no sample saw has no time.
{
    system "$b/bin/eventrec --sample=2000 -o $folder/between.paw -- perl -e 'select undef, undef, undef, 0.5; \$n = 60 << 20; \$x = q(x) x \$n; undef \$x; select undef, undef, undef, 0.2' 2>$folder/err";
    my $its = decode_json(scalar `$b/bin/eventview --json $folder/between.paw`);
    cmp_ok $its->{peak_resident_bytes}, '>', 60 << 20, 'a peak between two samples';
    is $its->{peak_resident_at}, undef, 'is at no known time';
    like scalar(`$b/bin/eventview $folder/between.paw`), qr/^resident .* peak \d+ bytes \([\d.]+ MiB\), between two samples or behind the last, as sampled/m,
        'which is said';
}

# What is mapped is the same where events have stacks.
{
    my ($child) = `$b/bin/eventrec -s 4 -o $folder/stacks.paw -- $b/prog/mapped 2>$folder/err` =~ /^(\d+)$/ or die;
    my $its = decode_json(scalar `$b/bin/eventview --json $folder/stacks.paw`);
    my ($parent) = grep { $_->{pid} != $child } @{$its->{processes}};
    is_deeply [@$parent{qw(mapped_bytes peak_mapped_bytes)}, @$its{qw(mapped_bytes peak_mapped_bytes)}],
        [58 * $mb, 67 * $mb, 90 * $mb, 90 * $mb], 'the same of a log with stacks';
}

# Who is killed: of the program itself the collector knows it for certain.
system "$b/bin/eventrec -o $folder/killed.paw -- sh -c 'kill -9 \$\$' >$folder/err 2>&1";
$json = `$b/bin/eventview --json $folder/killed.paw`;
is_deeply [map { [@$_{qw(signal name)}] } @{decode_json($json)->{killed}}], [[9, 'sh']], 'who was killed, and how';
like `$b/bin/eventview $folder/killed.paw`, qr/^killed +\d+ \(sh\) by signal 9, KILL, at /m, 'in text';

# Children that are killed right after fork: who has recorded nothing is no process of the summary, which says so.
{
    system "$b/bin/eventrec -o $folder/young.paw -- $b/prog/young 15 2>$folder/err";
    my $its = decode_json(scalar `$b/bin/eventview --json $folder/young.paw`);
    my %there = map { $_->{pid} => 1 } @{$its->{processes}};
    my $none = grep { !$there{$_->{pid}} } @{$its->{killed}};
    my ($said) = `$b/bin/eventview $folder/young.paw`
        =~ /^ +(\d+) of $its->{killed_count} had recorded nothing, and (?:is|are) none of the processes above$/m;
    is $its->{killed_unrecorded}, $none, "killed right after fork ($none of $its->{killed_count}): in JSON";
    is $said // 0, $none, 'and in text';
}

my $text = `$b/bin/eventview $folder/mapped.paw`;
my $both = '94371840 bytes \(90\.0 MiB\)';
like $text, qr/^mapped +$both at end, peak $both, at [\d.]+ s; at end: the sum of what each process had at its own$/m, 'mapped, in text';
like $text, qr/^live at end    \d+ objects?, \d+ bytes.*, the sum of what each process had at its own end$/m, 'the heaps\' end, too';
like $text, qr/^resident +.* at end, peak .*, as sampled, [\d.]+ s apart at most; at end: the sum of what each process had at its own$/m, 'and what was resident';
my $alone = do { system "$b/bin/eventrec -o $folder/alone.paw -- perl -e 1 2>$folder/err"; `$b/bin/eventview $folder/alone.paw` };
ok $alone =~ /^live at end    \d+ objects?, \d+ bytes/m && $alone !~ /each process/, 'of one process it is the end';
like $text, qr/^resident +\d+ bytes .*, as sampled, .*; at end/m, 'resident';

# Between two samples nothing is known of what is resident: how long that was at most is told.
{
    my $log = "$folder/apart.paw";
    system $b . '/bin/eventrec', '--sample=50', '-o', $log, 'perl', '-e',
        'my $rec = getppid; sub nap { select undef, undef, undef, $_[0] } nap(0.2); kill STOP => $rec; nap(0.7); kill CONT => $rec; nap(0.2)';
    my $of = decode_json(scalar `$b/bin/eventview --json $log`);
    my @looks = map { (split)[0] } `$b/bin/eventcnv -E MachineSample $log`;
    my $most = max(0, map { $looks[$_] - $looks[$_ - 1] } 1 .. $#looks);
    cmp_ok $most, '>', 0.6, 'a collector that did not run has taken no samples';
    cmp_ok abs($of->{resident_samples_apart} - $most), '<', 1e-6, 'which the summary knows';
    like scalar(`$b/bin/eventview $log`), qr/^resident .*, as sampled, @{[sprintf '%.3f', $of->{resident_samples_apart}]} s apart at most$/m, 'and says';
    unlike scalar(`$b/bin/eventview -E ProcessSample $log`), qr/apart/, 'where there are such events';
}

# The recording's own memory is not the program's: what it says itself is told.
{
    my $log = "$folder/regions.paw";
    my $program = 'for (1 .. 3) { @a = map { [$_] } 1 .. 100000 } select undef, undef, undef, 0.5; open F, "<", "/proc/$$/status"; '
        . 'print grep { /^Rss/ } <F>; select undef, undef, undef, 0.5';
    my (%says, $of);
    for (1 .. 5) { # until the collector, too, has had a processor all the time
        %says = `$b/bin/eventrec --force --sample=20 -o $log -- perl -e '$program' 2>$folder/err` =~ /^(Rss\w+):\s+(\d+) kB$/mg;
        $of = decode_json(scalar `$b/bin/eventview --json $log`);
        last if $of->{resident_samples_apart} < 0.3;
    }
    my $own = ($says{RssAnon} + $says{RssFile}) * 1024;
    my ($process) = @{$of->{processes}};
    cmp_ok $says{RssShmem}, '>', 100, 'a program that is recorded has regions in its memory';
    cmp_ok abs($process->{resident_bytes} - $own), '<', $own / 20,
        "which are not counted as resident ($process->{resident_bytes}, $own without)";
    my ($regions) = `$b/bin/eventcnv -E ProcessRegion $log` =~ /bytes=(\d+)\n\z/;
    cmp_ok abs($regions - $says{RssShmem} * 1024), '<', 100_000, 'but told';
}

# What comes last, after the last sample, is told by the process itself.
{
    my $log = "$folder/last.paw";
    my $program = 'my $end = times + 0.2; 1 while times < $end; my $x = "x" x 80_000_000;';
    system "$b/bin/eventrec --force --sample=5000 -o $log -- perl -e '$program' 2>$folder/err";
    my ($process) = @{decode_json(scalar `$b/bin/eventview --json $log`)->{processes}};
    cmp_ok $process->{peak_resident_bytes} // 0, '>', 80_000_000, 'a peak that comes last';
}
like $text, qr/^  $parent->{pid} .*, 67\.0 MiB mapped.*\n  $child .*, 32\.0 MiB mapped.*: /m, 'by size';

# The largest of a family is neither the first that there was nor the last.
{
    my $log = "$folder/sizes.paw";
    my @said = split ' ', `$b/bin/eventrec -o $log -- perl -e '\$| = 1; print "\$\$\\n"; for my \$n (1, 30, 10) { my \$child = fork // die; if (!\$child) { my \$x = "x" x (\$n << 20); exit } waitpid \$child, 0; print "\$child\\n" }' 2>$folder/err`;
    is scalar(@said), 4, 'a program has three children';
    my @wanted = @said[2, 3, 1, 0];
    my @sizes = map { [@$_{qw(pid peak_bytes)}] } @{decode_json(scalar `$b/bin/eventview --json $log`)->{processes}};
    is_deeply [map { $_->[0] } @sizes], \@wanted, 'the largest process is the first, in JSON' or diag explain \@sizes;
    ok !(grep { $sizes[$_][1] > $sizes[$_ - 1][1] } 1 .. $#sizes), 'and no other is larger than the one before it' or diag explain \@sizes;
    is_deeply [`$b/bin/eventview $log` =~ /^  (\d+) +\d+ events?, \d+ threads?, [\d.]+ [KM]iB heap/mg], \@wanted, 'and in text';
}

# The dead give back what they had: a summary of many processes, one after the other, takes little more than one of few.
SKIP: {
    skip 'what a sanitizer keeps is not the memory of eventview', 6 if $ENV{SAN};
    # KiB that the summary of a program with arguments ARGUMENT takes at most
    my $most = sub {
        my ($log, @argument) = @_;
        is system($b . '/bin/eventrec', '-k', 'Object', '-o', "$folder/$log.paw", 'perl', @argument), 0, "recorded: $log";
        system "$b/prog/most $folder/most $b/bin/eventview summary $folder/$log.paw >/dev/null";
        open my $in, '<', "$folder/most" or die;
        0 + <$in>;
    };
    my @large = map { $most->("large$_", '-e', "for (1 .. $_) { system \$^X, '-e', 'my \@a = map { [\$_] } 1 .. 10000' }") } 10, 50;
    cmp_ok $large[1], '<', 1.5 * $large[0], 'the dead give their memory back' or diag "@large KiB";
    # 19 KiB stay of each, with its part of the log: its header, its name, what it counted.
    my @small = map { $most->("small$_", '-e', "system 'true' for 1 .. $_") } 20, 220;
    cmp_ok +($small[1] - $small[0]) / 200, '<', 26, 'all but a little, even where they had next to nothing' or diag "@small KiB";
    note "@large, @small KiB";
}

done_testing;
