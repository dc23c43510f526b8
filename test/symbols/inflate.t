#!/usr/bin/perl
# inflate.t -- what zlib has compressed is unpacked, and what is damaged is no reason to crash
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(slurp spew run $Dir);
use Test::More;

eval { require Compress::Zlib; 1 } or plan skip_all => 'perl has no Compress::Zlib';

my $B = $ENV{B} // 'build/cool';
my $seed = $ENV{SEED} // time;
diag "SEED=$seed";
srand $seed;

# unpacked($packed, $size) -- status and output
sub unpacked {
    my ($packed, $size) = @_;

    spew("$Dir/packed", $packed);
    my ($status, $out) = run('sh', '-c', "exec $B/prog/inflate $size < $Dir/packed");
    return ($status, $out);
}

sub random_bytes {
    my ($n) = @_;

    return join '', map { chr int rand 256 } 1 .. $n;
}

# Texts of all sorts: what repeats, what does not, what is far apart; long codes come from letters of very unlike numbers.
my $source = join '', map { slurp($_) } glob 'code/symbols/*.c';
my @texts = ('', 'a', 'a' x 100_000, random_bytes(70_000), $source, $source . random_bytes(30_000) . $source,
             (join '', map { chr(65 + $_) x (2**$_ > 60_000 ? 60_000 : 2**$_) } 0 .. 18),
             join '', map { chr int(256 * rand() ** 4) } 1 .. 200_000);
my @levels = (0, 1, 6, 9);

for my $i (0 .. $#texts) {
    my $wrong = 0;
    for my $level (@levels) {
        for my $strategy (Compress::Zlib::Z_DEFAULT_STRATEGY(), Compress::Zlib::Z_HUFFMAN_ONLY(), 4) {
            my ($deflate) = Compress::Zlib::deflateInit(-Level => $level, -Strategy => $strategy);
            my ($packed) = $deflate->deflate($texts[$i]);
            $packed .= ($deflate->flush)[0];
            my ($status, $out) = unpacked($packed, length $texts[$i]);
            $wrong++ if $status != 0 || $out ne $texts[$i];
        }
    }
    is($wrong, 0, "text $i of " . length($texts[$i]) . ' bytes, at all levels, stored, in the fixed code and in others');
}

my $packed = Compress::Zlib::compress($source);
is((unpacked($packed, length($source) - 1))[0], 1, 'a text that is longer than it should be is none');
is((unpacked($packed, length($source) + 1))[0], 1, 'nor is one that is shorter');
my ($crashed, $believed) = (0, 0);
for (1 .. 300) {
    my $damaged = $packed;
    if (rand() < 0.3) {
        $damaged = substr $damaged, 0, int rand length $damaged;
    } else {
        substr($damaged, int rand(length $damaged), 1, chr int rand 256) for 1 .. 1 + rand 4;
    }
    my ($status, $out) = unpacked($damaged, length $source);
    $crashed++ if $status > 1;
    $believed++ if $status == 0 && $out ne $source;
}
is($crashed, 0, 'damaged text does not crash');
is($believed, 0, 'and is never believed');
done_testing();
