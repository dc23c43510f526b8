#!/usr/bin/perl
# lines.t -- prose has at most 120 columns: pages, manual pages, comments
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use Test::More;

plan skip_all => 'the same with and without sanitizers' if $ENV{SAN};

use constant MOST => 120;

# prose($file, $kind) -- the lines of a file that are prose: [number, line]
sub prose {
    my ($file, $kind) = @_;
    my ($verbatim, @prose) = (0);

    open my $in, '<:encoding(UTF-8)', $file or die "$file: $!\n";
    while (<$in>) {
        chomp;
        if ($kind eq 'page') {
            $verbatim = !$verbatim, next if /^```/;
            push @prose, [$., $_] if !$verbatim && !/^\||^    / && !m{^\S*https?://\S+$};
        } elsif ($kind eq 'man') {
            $verbatim = 1 if /^\.nf/;
            $verbatim = 0 if /^\.fi/;
            push @prose, [$., $_] if !$verbatim && !/^[.']/;
        } elsif ($kind eq 'comment') {
            push @prose, [$., $_] if m{^\s*(?:/\*| \*)\s};
        } else {
            push @prose, [$., $_];
        }
    }
    return @prose;
}

for my $group (['page', glob 'README.md CONTRIBUTING.md design/*.md'], ['man', glob 'man/*.[0-9]'], ['news', 'NEWS'],
               ['comment', glob 'code/*.[ch] code/*/*.[ch]']) {
    my ($kind, @files) = @$group;
    my ($count, @long) = (0);

    for my $file (@files) {
        for my $line (prose($file, $kind)) {
            ++$count;
            push @long, "$file:$line->[0]: " . length($line->[1]) if length $line->[1] > MOST;
        }
    }
    cmp_ok $count, '>', 300, "lines of kind $kind are looked at";
    is "@long", '', 'and none is too long';
}

done_testing;
