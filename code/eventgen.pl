#!/usr/bin/env perl
# eventgen.pl -- from the registry of events to what the compiler needs of it
#
# SPDX-License-Identifier: BSD-2-Clause
#
#     perl code/eventgen.pl [REGISTRY] > eventgen.h
#
# REGISTRY is eventdef.h beside this script if not given; its own comment explains the rows.  The output holds only
# what follows from the registry: constants of each event, a packed struct and an EVENT_<FORMAT> macro for each
# format in use, and the registry as text for the head of a log.  The primitives that the macros call, EventReserve
# and the like, are the emitter's.
#
# Always true: an error is `FILE:LINE: message' on standard error, every one that the file has, with status 1 and
# nothing at all on standard output.  What the generator does not understand it never skips.
#
# As a library (`require' it from another script): EventGen::Parse reads a registry, EventGen::Text writes it as text.
#
# Design: design/telemetry.md .reg      Tests: test/house/eventgen.t, test/house/compile.t
package EventGen;
use strict;
use warnings;
use File::Basename qw(basename dirname);

our $ParamMAX   = constant('registry.h', 'EventParamMAX'); # letters of a format
our $FormatMAJOR = constant('block.h', 'BlockMAJOR');
our $KindLIMIT  = 16;         # kinds that a log may name, and the length of a kind's name
our $CodeMIN    = 0x0100;     # below: the file format's own
our $CodeLIMIT  = 0x8000;     # from here on: types that programs define while they run

my %letterField = (           # of the packed struct, and the cast that makes an argument one
    P => 'Word', A => 'Word', W => 'Word', U => 'uint32_t', D => 'double',
);
my %rowForm = (               # what takes a row, and the row's arguments: identifier, number, string, format
    KIND     => [\&addKind, qw(identifier number string)],
    RELATION => [\&addRelation, qw(identifier number identifier identifier format)],
    DOC      => [\&addDoc, qw(identifier string)],
    PARAM    => [\&addParam, qw(identifier number identifier identifier string)],
    RETIRED  => [\&addRetired, qw(identifier number)],
    OFF      => [\&addOff, qw(identifier)],
);
my %argumentPattern = (
    identifier => qr/^[A-Za-z_][A-Za-z0-9_]{0,62}$/,
    number     => qr/^(?:0[xX][0-9a-fA-F]{1,8}|0|[1-9][0-9]{0,8})$/,
    string     => qr/^"/,
    format     => qr/^(?:0|[A-Za-z_][A-Za-z0-9_]*)$/,
);

exit main(@ARGV) unless caller;

# A constant of the emitter's that lies beside this script, in the room format: what the generator makes must fit it.
sub constant {
    my ($file, $name) = @_;
    my $path = dirname(__FILE__) . "/format/$file";
    my $text = '';

    if (open my $in, '<', $path) {
        local $/;
        $text = <$in> // '';
    }
    return $1 if $text =~ /^\s*\Q$name\E\s*=\s*(\d+)\b/m;
    print STDERR "$path:0: no $name there: eventgen.pl lies beside the emitter's rooms\n";
    exit 1;
}

# ---- Reading -------------------------------------------------------------------------------------------------------

# Parse($file, $text) -- the registry in $text; $file is for messages only.
#
# Returns a reference to {version => {MAJOR, MEDIAN, MINOR}, kinds => [{name, value, off}], events => [{name, code,
# always, kind, format, template, params => [{name, letter, doc}]}], retired => [{name, code}],
# errors => ["FILE:LINE: ..."]}; only where `errors' is empty is the rest complete.
sub Parse {
    my ($file, $text) = @_;
    my $registry = {file => $file, version => {}, kinds => [], events => [], retired => [], faults => [],
                    kindByName => {}, nameLine => {}, codeLine => {}, current => undef};

    $text = withoutComments($registry, $text);
    $text = withoutDirectives($registry, $text);
    addRow($registry, @$_) for rows($registry, $text);
    finishEvent($registry);
    for my $part (qw(MAJOR MEDIAN MINOR)) {
        fault($registry, 1, "EventVersion$part is not defined") unless defined $registry->{version}{$part};
    }
    fault($registry, 1, 'no KIND rows') unless @{$registry->{kinds}};
    my @faults = sort { $a->[0] <=> $b->[0] } @{$registry->{faults}};
    $registry->{errors} = [map { "$file:$_->[0]: $_->[1]" } @faults];
    return $registry;
}

# Load($file) -- Parse of a file's contents; a file that cannot be read is an error like any other.
sub Load {
    my ($file) = @_;

    open my $in, '<:raw', $file or return {errors => ["$file:0: cannot be read: $!"]};
    local $/;
    my $text = <$in>;
    return {errors => ["$file:0: cannot be read: $!"]} unless defined $text && close $in;
    return Parse($file, $text);
}

sub fault {
    my ($registry, $line, $message) = @_;

    push @{$registry->{faults}}, [$line, $message];
    return;
}

sub lineAt { return 1 + (substr($_[0], 0, $_[1]) =~ tr/\n//) }

# Comments become blanks; newlines stay, so that line numbers do.
sub withoutComments {
    my ($registry, $text) = @_;

    $text =~ s{("(?:\\.|[^"\\\n])*")|(/\*.*?\*/|//[^\n]*)|(/\*)}{
        fault($registry, lineAt($text, $-[0]), 'a comment without end') if defined $3;
        defined $2 ? $2 =~ s/[^\n]/ /gr : $1 // $3;
    }gse;
    return $text;
}

# Directives become blank lines.  A row that only some includers would see, or that stands in another file, is one
# that this script and the compiler would disagree about.
sub withoutDirectives {
    my ($registry, $text) = @_;
    my ($line, $depth) = (1, 0);
    my $out = '';

    while ($text =~ /\G([^\n]*(?:\\\n[^\n]*)*)(\n|\z)/g) {
        my ($content, $end) = ($1, $2);
        my $lines = ($content =~ tr/\n//);

        if ($content =~ /^\s*#\s*(\w*)\s*(.*)/s) {
            my ($directive, $rest) = ($1, $2);

            ++$depth if $directive =~ /^if/;
            --$depth if $directive eq 'endif';
            if ($directive eq 'define' && $rest =~ /^EventVersion(MAJOR|MEDIAN|MINOR)\b\s*(.*?)\s*$/s) {
                addVersion($registry, $line, $1, $2);
            } elsif ($directive !~ /^(?:define|undef|if|ifdef|ifndef|else|elif|endif)$/) {
                fault($registry, $line, "#$directive has no place in a registry");
            }
            $content = "\n" x $lines;
        } elsif ($depth > 0 && $content =~ /\S/) {
            fault($registry, $line, 'a row inside #if: a registry is the same for everybody');
        }
        $out .= $content . $end;
        $line += $lines + 1;
        last if $end eq '';
    }
    return $out;
}

sub addVersion {
    my ($registry, $line, $part, $value) = @_;

    if (exists $registry->{version}{$part}) {
        fault($registry, $line, "EventVersion$part is defined twice");
    } elsif ($value !~ /^(?:0|[1-9][0-9]{0,4})$/) {
        fault($registry, $line, "EventVersion$part is no number: $value");
    }
    $registry->{version}{$part} = $value;
    $registry->{versionLine}{$part} = $line;
    return;
}

# The major version is that of the file format which the emitter beside this script writes: a registry of another one
# would make logs that no tool can read.
sub checkMajor {
    my ($registry) = @_;
    my $given = $registry->{version}{MAJOR};
    my $at = "$registry->{file}:" . ($registry->{versionLine}{MAJOR} // 1);

    push @{$registry->{errors}}, "$at: EventVersionMAJOR is $given: it must be $FormatMAJOR, the version of the file "
        . 'format (BlockMAJOR)' if defined $given && $given =~ /^\d+$/ && $given != $FormatMAJOR;
    return;
}

# The rows as [line, name, arguments...]; a string argument without its quotes, the literals joined.
sub rows {
    my ($registry, $text) = @_;
    my $names = join '|', keys %rowForm;
    my @rows;

    pos($text) = 0;
    while ($text =~ /\G\s*(?=\S)/gc) {
        my $start = pos $text;
        my $row = rowAt(\$text);

        if (ref $row) {
            push @rows, [lineAt($text, $start), @$row];
        } else {
            my $line = lineAt($text, pos($text) // $start);
            my ($rest) = substr($text, $start) =~ /^([^\n]{0,40})/;

            fault($registry, lineAt($text, $start), "$row: $rest");
            # Go on at the next line that looks like a row, to find all errors in one run.
            last unless $text =~ /\n(?=[ \t]*(?:$names)\s*\()/gc;
        }
    }
    return @rows;
}

# One row at pos of the text: a reference to its name and arguments, or what is wrong with it.
sub rowAt {
    my ($text) = @_;
    my @row;

    return 'not a row' unless $$text =~ /\G([A-Za-z_]\w*)\s*\(/gc;
    push @row, $1;
    return "no kind of row is called $row[0]" unless exists $rowForm{$row[0]};
    for (;;) {
        if ($$text =~ /\G\s*([A-Za-z0-9_]+)\s*/gc) {
            push @row, $1;
        } elsif ($$text =~ /\G\s*((?:"(?:\\.|[^"\\\n])*"\s*)+)/gc) {
            push @row, '"' . join '', $1 =~ /"((?:\\.|[^"\\\n])*)"/g;
        } else {
            return 'a row that does not parse';
        }
        return \@row if $$text =~ /\G\)/gc;
        return 'a row that does not parse' unless $$text =~ /\G,/gc;
    }
}

sub addRow {
    my ($registry, $line, $row, @arguments) = @_;
    my ($add, @expected) = @{$rowForm{$row}};

    if (@arguments != @expected) {
        fault($registry, $line, sprintf '%s takes %d arguments, not %d', $row, scalar @expected, scalar @arguments);
        return;
    }
    for my $i (0 .. $#expected) {
        my $argument = $arguments[$i];

        if ($argument !~ $argumentPattern{$expected[$i]}) {
            fault($registry, $line, "$row: argument " . ($i + 1) . " is no $expected[$i]: $argument");
            return;
        }
        if ($expected[$i] eq 'number') {
            $arguments[$i] = $argument =~ /^0x/i ? hex $argument : $argument + 0;
        } elsif ($expected[$i] eq 'string') {
            $argument =~ s/^"//;
            if ($argument !~ /^(?:[^\x00-\x1f\x7f\\]|\\["\\])*$/) {
                fault($registry, $line, "$row: a string has one line and no escapes but \\\" and \\\\");
                return;
            }
            $arguments[$i] = $argument =~ s/\\(.)/$1/gr;
        }
    }
    return $add->($registry, $line, @arguments);
}

# ---- Rows ----------------------------------------------------------------------------------------------------------

sub addKind {
    my ($registry, $line, $name, $value) = @_;
    my $next = @{$registry->{kinds}};

    if (exists $registry->{kindByName}{$name}) {
        fault($registry, $line, "kind $name is registered twice");
    } elsif ($value != $next || $value >= $KindLIMIT) {
        fault($registry, $line, "kind $name has value $value where $next comes next (of at most $KindLIMIT)");
    } elsif (length $name >= $KindLIMIT) {
        fault($registry, $line, "kind $name has a name of $KindLIMIT letters or more");
    }
    $registry->{kindByName}{$name} = $value;
    push @{$registry->{kinds}}, {name => $name, value => $value};
    return;
}

# A kind that is off unless the user names it; the row follows its KIND row.
sub addOff {
    my ($registry, $line, $name) = @_;
    my ($kind) = grep { $_->{name} eq $name } @{$registry->{kinds}};

    fault($registry, $line, defined $kind ? "kind $name is off twice" : "OFF: no kind is called $name")
        if !defined $kind || $kind->{off};
    $kind->{off} = 1 if defined $kind;
    return;
}

# A name and a code are spent by the first that uses them, retired or not.
sub spend {
    my ($registry, $line, $name, $code) = @_;
    my $codeText = sprintf '0x%04x', $code;

    if ($code < $CodeMIN || $code >= $CodeLIMIT) {
        fault($registry, $line, sprintf '%s: code %s is not within 0x%04x to 0x%04x',
              $name, $codeText, $CodeMIN, $CodeLIMIT - 1);
    }
    if (my $used = $registry->{nameLine}{$name}) {
        fault($registry, $line, "name $name is used twice: also in line $used");
    }
    if (my $used = $registry->{codeLine}{$code}) {
        fault($registry, $line, "$name: code $codeText is used twice: also for $used->[1] in line $used->[0]");
    }
    $registry->{nameLine}{$name} //= $line;
    $registry->{codeLine}{$code} //= [$line, $name];
    return;
}

sub addRetired {
    my ($registry, $line, $name, $code) = @_;

    finishEvent($registry);
    spend($registry, $line, $name, $code);
    push @{$registry->{retired}}, {name => $name, code => $code};
    return;
}

sub addRelation {
    my ($registry, $line, $name, $code, $always, $kind, $format) = @_;
    my $last = $registry->{events}[-1];

    finishEvent($registry);
    spend($registry, $line, $name, $code);
    fault($registry, $line, sprintf '%s: code 0x%04x after 0x%04x: codes must rise', $name, $code, $last->{code})
        if defined $last && $code < $last->{code};
    fault($registry, $line, "$name: always is TRUE or FALSE, not $always") unless $always =~ /^(?:TRUE|FALSE)$/;
    fault($registry, $line, "$name: no kind is called $kind") unless exists $registry->{kindByName}{$kind};
    fault($registry, $line, "$name: $_") for formatFaults($format);
    my $event = {name => $name, code => $code, always => $always eq 'TRUE' ? 1 : 0, kind => $kind,
                 format => $format, line => $line, params => []};
    push @{$registry->{events}}, $event;
    $registry->{current} = $event;
    return;
}

# What is wrong with a format, as sentences.
sub formatFaults {
    my ($format) = @_;
    my @faults;

    return () if $format eq '0';
    push @faults, "format letter $1 in $format is none of P A W U D S" if $format =~ /([^PAWUDS])/;
    push @faults, "format $format: S is not last" if $format =~ /S./;
    push @faults, "format $format has more than $ParamMAX letters" if length $format > $ParamMAX;
    return @faults;
}

sub currentEvent {
    my ($registry, $line, $row, $name) = @_;
    my $event = $registry->{current};

    return $event if defined $event && $event->{name} eq $name;
    fault($registry, $line, defined $event ? "$row for $name under RELATION of $event->{name}"
                                           : "$row for $name without a RELATION above it");
    return undef;
}

sub addDoc {
    my ($registry, $line, $name, $template) = @_;
    my $event = currentEvent($registry, $line, 'DOC', $name) or return;

    fault($registry, $line, "$name has two DOC rows") if defined $event->{template};
    $event->{template} = $template;
    $event->{docLine} = $line;
    return;
}

sub addParam {
    my ($registry, $line, $name, $index, $letter, $param, $doc) = @_;
    my $event = currentEvent($registry, $line, 'PARAM', $name) or return;
    my $params = $event->{params};
    my $next = @$params;
    my $expected = $event->{format} eq '0' ? '' : substr $event->{format}, $next, 1;

    if ($index != $next) {
        fault($registry, $line, "$name: parameter $param has index $index where $next comes next");
    } elsif ($expected eq '') {
        fault($registry, $line, "$name: parameter $param is one more than format $event->{format} has");
    } elsif ($letter ne $expected) {
        fault($registry, $line, "$name: parameter $param has letter $letter where format $event->{format} has "
                                . $expected);
    }
    fault($registry, $line, "$name: two parameters are called $param") if grep { $_->{name} eq $param } @$params;
    push @$params, {name => $param, letter => $letter, doc => $doc};
    return;
}

# What can be judged only when all of an event's rows have been seen.
sub finishEvent {
    my ($registry) = @_;
    my $event = delete $registry->{current} or return;
    my $due = $event->{format} eq '0' ? 0 : length $event->{format};
    my $given = @{$event->{params}};
    my %known = map { $_->{name} => $_->{letter} } @{$event->{params}};

    fault($registry, $event->{line}, "$event->{name}: format $event->{format} has $due parameters, "
                                     . "PARAM rows are there for $given") if $given < $due;
    if (!defined $event->{template}) {
        fault($registry, $event->{line}, "$event->{name} has no DOC row");
        return;
    }
    while ($event->{template} =~ /%(\*?)([A-Za-z_][A-Za-z0-9_]*)/g) {
        my ($interned, $param) = ($1, $2);
        fault($registry, $event->{docLine}, "$event->{name}: DOC names %$param, which is no parameter")
            unless $known{$param};
        fault($registry, $event->{docLine},
              "$event->{name}: DOC names %*$param, which is no W or U, and no string's number")
            if $interned && ($known{$param} // 'W') !~ /[WU]/;
    }
    return;
}

# ---- Writing -------------------------------------------------------------------------------------------------------

# Text($registry) -- the registry as the lines of text that a log's header carries
sub Text {
    my ($registry) = @_;
    my @lines = map { "kind: $_->{value} $_->{name}" } @{$registry->{kinds}};

    for my $event (@{$registry->{events}}) {
        my $code = sprintf '0x%04x', $event->{code};
        my @params = map { $_->{name} } @{$event->{params}};

        push @lines, join ' ', "event: $code", @$event{qw(name kind always format)}, @params;
        push @lines, "describe: $code $event->{template}";
    }
    return join '', map { "$_\n" } @lines;
}

# Header($registry) -- eventgen.h
sub Header {
    my ($registry) = @_;
    my %formats = map { $_->{format} => 1 } @{$registry->{events}};

    return join "\n",
        '/* eventgen.h -- generated by eventgen.pl from ' . basename($registry->{file}) . '; not to be edited',
        ' *',
        ' * To be included by the emitter\'s event.h only, which has the primitives that the macros call.',
        ' */',
        '#ifndef EVENTGEN_H',
        '#define EVENTGEN_H',
        '',
        versionLines($registry),
        kindLines($registry),
        presentLines(),
        (map { eventLines($_) } @{$registry->{events}}),
        (map { structLines($_), macroLines($_) } sort keys %formats),
        registryLines($registry),
        '',
        '#endif /* EVENTGEN_H */',
        '';
}

sub versionLines {
    my ($registry) = @_;

    # The guard is the registry's own: a file that includes both gets them once.
    return ('#ifndef EVENTDEF_VERSION', '#define EVENTDEF_VERSION',
            (map { "#define EventVersion$_ $registry->{version}{$_}" } qw(MAJOR MEDIAN MINOR)),
            '#endif', '');
}

# Types that programs define while they run are of the kind User, or of the last one where none is called so.
sub kindLines {
    my ($registry) = @_;
    my @kinds = @{$registry->{kinds}};
    my ($dynamic) = ((grep { $_->{name} eq 'User' } @kinds), $kinds[-1]);
    my %frequent = map { $_->{kind} => 1 } grep { !$_->{always} } @{$registry->{events}};
    my $mask = 0;
    my $default = 0;

    for my $kind (@kinds) {
        $default |= 1 << $kind->{value} unless $kind->{off};
        $mask |= 1 << $kind->{value} if $frequent{$kind->{name}} || $kind == $dynamic;
    }
    return ('enum {', join(",\n", map { "  EventKind$_->{name} = $_->{value}" } @kinds), '};',
            '#define EventKindLIMIT ' . @kinds,
            '#define EventKindNAMES {' . join(', ', map { qq("$_->{name}") } @kinds) . '}',
            "#define EventKindDYNAMIC \"$dynamic->{name}\" /* of types that are defined at run time */",
            "#define EventKindDEFINED EventKind$dynamic->{name}",
            sprintf('#define EventKindsFREQUENT 0x%04xu /* those with types that are not there always, and that one */',
                    $mask),
            sprintf('#define EventKindsDEFAULT 0x%04xu /* those that are on unless the user says otherwise */',
                    $default),
            '');
}

sub presentLines {
    return ('/* Is this event compiled into this variety? */',
            '#if defined(VARIETY_RASH)',
            '#define EVENT_PRESENT(name) 0',
            '#elif defined(VARIETY_HOT)',
            '#define EVENT_PRESENT(name) Event##name##ALWAYS',
            '#else',
            '#define EVENT_PRESENT(name) 1',
            '#endif', '');
}

# The last constant is a name only: an annotation with another format's macro finds none, and does not compile.
sub eventLines {
    my ($event) = @_;
    my $name = "Event$event->{name}";

    return (sprintf('#define %sCODE 0x%04x', $name, $event->{code}),
            "#define ${name}KIND EventKind$event->{kind}",
            "#define ${name}ALWAYS $event->{always}",
            "#define ${name}FORMAT_$event->{format} 1",
            '');
}

sub letters { return $_[0] eq '0' ? () : split //, $_[0] }

sub structLines {
    my ($format) = @_;
    my @letters = letters($format);
    my @fields = map { '  ' . ($letters[$_] eq 'S' ? "char f$_\[1]" : "$letterField{$letters[$_]} f$_") . ';' }
                 0 .. $#letters;

    return ("typedef struct Event${format}Struct {", '  EventHeaderStruct header;', @fields,
            "} __attribute__((packed)) Event${format}Struct;", '');
}

# Arguments are evaluated once, in order, and before room is reserved: one that is slow, emits events of its own or
# never returns leaves no hole in the buffer.
sub macroLines {
    my ($format) = @_;
    my @letters = letters($format);
    my $string = @letters && $letters[-1] eq 'S' ? $#letters : undef;
    my $struct = "Event${format}Struct";
    my @plain = grep { $letters[$_] ne 'S' } 0 .. $#letters;
    my $size = defined $string ? "offsetof($struct, f$string) + length_ + 1" : "sizeof($struct)";
    my @body = (
        'do {',
        (map { "  EVENT_CHECK_$letters[$_](p$_);" } 0 .. $#letters),
        "  (void)sizeof(char[Event##name##FORMAT_$format]);",
        '  if (EVENT_PRESENT(name) && EVENT_WANTED(Event##name##KIND)) {',
        (map { my $type = $letterField{$letters[$_]}; "    const $type f${_}_ = ($type)(p$_);" } @plain),
        (defined $string ? ("    const char *string_ = (p$string);",
                            '    Size length_ = EventStringLength(string_);') : ()),
        "    void *room_ = EventReserve(Event##name##KIND, $size);",
        '    if (LIKELY(room_ != NULL))',
        '      ' . fillCall($format, 'room_', (map { "f${_}_" } @plain), defined $string ? qw(string_ length_) : ())
            . ';',
        '  }',
        '} while (0)');

    return (fillLines($format, \@plain, $string),
            join(" \\\n", "#define EVENT_$format(" . join(', ', 'name', map { "p$_" } 0 .. $#letters) . ')',
                 map { "  $_" } @body), '');
}

# fillCall($format, $room, @values) -- the use of what fillLines defines
sub fillCall {
    my ($format, @arguments) = @_;

    return "EVENT_FILL_$format(" . join(', ', 'name', @arguments) . ')';
}

# fillLines($format, $plain, $string) -- EVENT_FILL_$format, which fills room that is there and commits
sub fillLines {
    my ($format, $plain, $string) = @_;
    my @values = ((map { "v$_" } @$plain), defined $string ? qw(string length) : ());
    my @body = (
        'do {',
        '  EventHeaderStruct *header_ = (void *)(room);',
        (@$plain || defined $string ? "  Event${format}Struct *event_ = (void *)header_;" : ()),
        (map { "  event_->f$_ = (v$_);" } @$plain),
        (defined $string ? "  EventStringCopy(event_->f$string, string, length, header_);" : ()),
        '  EventCommit(header_, Event##name##CODE);',
        '} while (0)');

    return (join(" \\\n", '#define ' . fillCall($format, 'room', @values), map { "  $_" } @body), '');
}

sub registryLines {
    my ($registry) = @_;
    my @lines = map { s/([\\"])/\\$1/gr } split /\n/, Text($registry);

    return ('/* The registry as the header of a log carries it. */',
            join(" \\\n", '#define EventRegistryTEXT', map { "  \"$_\\n\"" } @lines));
}

sub main {
    my @arguments = @_;
    my $file = @arguments ? $arguments[0] : dirname(__FILE__) . '/eventdef.h';

    if (@arguments > 1 || $file =~ /^-./) {
        print STDERR "usage: eventgen.pl [REGISTRY] > eventgen.h\n";
        return 2;
    }
    my $registry = Load($file);
    checkMajor($registry) if defined $registry->{file};
    if (@{$registry->{errors}}) {
        print STDERR map { "$_\n" } @{$registry->{errors}};
        return 1;
    }
    binmode STDOUT;
    unless (print(Header($registry)) && close(STDOUT)) {
        print STDERR "eventgen.pl: standard output: $!\n";
        return 1;
    }
    return 0;
}

1;
