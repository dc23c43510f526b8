# ReportData.pm -- what the tests read of a report's data: its packed numbers, by slice
#
# SPDX-License-Identifier: BSD-2-Clause
package ReportData;
use strict;
use warnings;
use Exporter qw(import);
use JSON::PP qw(decode_json);
use List::Util qw(sum0);
use MIME::Base64 qw(decode_base64);

our @EXPORT_OK = qw(parsed varints zigzag series table live_at);

# parsed($json) -- the data.  JSON::PP reads a string a character at a time: long ones are put back behind it.
sub parsed {
    my ($json) = @_;
    my @long;

    $json =~ s{"data": "([^"]*)"}{push @long, $1; "\"data\": $#long"}ge;
    my $report = decode_json($json);
    for my $table (grep { ref eq 'HASH' && exists $_->{data} } values %$report) {
        $table->{data} = $long[$table->{data}];
    }
    return $report;
}

# varints($base64) -- the numbers in it, each as it is: not negative
sub varints {
    my ($base64) = @_;

    return unpack 'w*', join '', map { reverse_group($_) }
        decode_base64($base64) =~ /([\x80-\xff]*[\x00-\x7f])/g;
}

# reverse_group($bytes) -- one number with its low part first, as perl's `w' has it: the high part first
sub reverse_group {
    my @bytes = reverse unpack 'C*', $_[0];

    return pack 'C*', (map { $_ | 0x80 } @bytes[0 .. $#bytes - 1]), $bytes[-1] & 0x7f;
}

# zigzag($number) -- the number that may be negative
sub zigzag {
    my ($number) = @_;

    return $number & 1 ? -($number >> 1) - 1 : $number >> 1;
}

# series($base64) -- a number for each slice, from differences
sub series {
    my ($base64) = @_;
    my $sum = 0;

    return map { $sum += zigzag($_) } varints($base64);
}

# table($packed) -- for each row {slice => {field => number}}; dies of what is left over, or missing
sub table {
    my ($packed) = @_;
    my @numbers = varints($packed->{data});
    my @rows;

    for (1 .. $packed->{rows}) {
        my ($slice, %row) = (-1);
        while (1) {
            my $gap = shift @numbers // die 'a table ends early';
            last if $gap == 0;
            $slice += $gap;
            @{$row{$slice}}{@{$packed->{fields}}} = map { zigzag($_) } splice @numbers, 0, scalar @{$packed->{fields}};
        }
        push @rows, \%row;
    }
    die 'a table goes on behind its last row' if @numbers;
    return \@rows;
}

# live_at($row, $slice, $what) -- `objects' or `bytes' that a row has when the slice begins
sub live_at {
    my ($row, $slice, $what) = @_;

    return sum0(map { $row->{$_}{"in_$what"} - $row->{$_}{"out_$what"} } grep { $_ < $slice } keys %$row);
}

1;
