# words.pl -- big hashes and strings: counts, an inverted index, sorting
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;

my ($state, %count, %index, @tokens, %table) = (12345);
for my $i (0 .. 1_200_000) {
    $state = ($state * 1103515245 + 12345) & 0x7fffffff;
    my $word = 'w' . $state % 20011;
    $count{$word}++;
    push @{$index{$word}}, $i if $i % 4 == 0;
    push @tokens, "$word-$i" if $i % 3 == 0;
}
my @order = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
for my $token (@tokens) {
    my ($word, $at) = split /-/, $token;
    $table{$word}{$at % 97} .= $token;
}
my $length = 0;
for my $word (@order) {
    my @joined = map { "$_:$word" } @{$index{$word} || []};
    $length += length join ',', @joined;
}
print "$length\n";
