# Profile.pm -- a reader of profiles (profile.proto), as eventcnv -f pprof writes them, that is strict
#
# SPDX-License-Identifier: BSD-2-Clause
package Profile;
use strict;
use warnings;
use EndToEnd qw(slurp);
use Exporter qw(import);

our @EXPORT_OK = qw(message profile);

sub varint {
    my ($bytes, $at) = @_;
    my ($n, $shift) = (0, 0);

    while (1) {
        my $byte = ord substr $$bytes, $$at++, 1;
        $n |= ($byte & 127) << $shift;
        return $n if $byte < 128;
        $shift += 7;
        die 'a number without an end' if $shift > 63 || $$at > length $$bytes;
    }
}

# message($bytes) -- {field => [values]}
sub message {
    my ($bytes) = @_;
    my ($at, %fields) = (0);

    while ($at < length $bytes) {
        my $key = varint(\$bytes, \$at);
        if (($key & 7) == 0) {
            push @{$fields{$key >> 3}}, varint(\$bytes, \$at);
        } elsif (($key & 7) == 2) {
            my $length = varint(\$bytes, \$at);
            die 'a string without an end' if $at + $length > length $bytes;
            push @{$fields{$key >> 3}}, substr $bytes, $at, $length;
            $at += $length;
        } else {
            die 'a field of type ' . ($key & 7);
        }
    }
    return \%fields;
}

sub packed {
    my ($bytes, $at, @numbers) = ($_[0], 0);

    push @numbers, varint(\$bytes, \$at) while $at < length $bytes;
    return @numbers;
}

# profile($path) -- types, and samples with their stacks of functions and lines, values and labels; dies if anything is not there
sub profile {
    my $all = message(slurp($_[0]));
    my @strings = @{$all->{6}};
    my $string = sub { $strings[$_[0] // 0] // die "no string $_[0]" };
    my $by = sub {
        my %by;
        for (map { message($_) } @{$all->{$_[0]} // []}) {
            die "id $_->{1}[0] of field $_[0] comes again" if $by{$_->{1}[0]};
            $by{$_->{1}[0]} = $_;
        }
        return \%by;
    };
    my ($mappings, $locations, $functions) = ($by->(3), $by->(4), $by->(5));
    my @samples;

    die 'the first string is not empty' if $strings[0] ne '';
    for (map { message($_) } @{$all->{2}}) {
        my %sample = (values => [packed($_->{2}[0])]);
        for (packed($_->{1}[0])) {
            my $location = $locations->{$_} or die "no location $_";
            my $id = $location->{2}[0] // 0;
            my $mapping = $mappings->{$id} or $id == 0 or die "no mapping $id";
            if ($mapping) {
                die 'an address outside of its mapping'
                    if $location->{3}[0] < $mapping->{2}[0] || $location->{3}[0] >= $mapping->{3}[0];
                push @{$sample{modules}}, $string->($mapping->{5}[0]);
            }
            for (map { message($_) } @{$location->{4}}) {
                my $function = $functions->{$_->{1}[0]} or die 'no function';
                push @{$sample{stack}}, $string->($function->{2}[0]);
                push @{$sample{lines}}, $string->($function->{4}[0]) . ':' . ($_->{2}[0] // 0);
            }
        }
        for (map { message($_) } @{$_->{3}}) {
            $sample{label}{$string->($_->{1}[0])} = $_->{2} ? $string->($_->{2}[0]) : $_->{3}[0];
        }
        push @samples, \%sample;
    }
    return {types => [map { my $t = message($_); [$string->($t->{1}[0]), $string->($t->{2}[0])] } @{$all->{1}}],
            samples => \@samples, default => $string->($all->{14}[0]), time => $all->{9}[0],
            comments => [map { $string->($_) } @{$all->{13} // []}]};
}

1;
