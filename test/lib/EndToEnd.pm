# EndToEnd.pm -- what the end-to-end tests share: files, waiting, regions in /dev/shm
#
# SPDX-License-Identifier: BSD-2-Clause
package EndToEnd;
use strict;
use warnings;
use Cwd qw(abs_path);
use Exporter qw(import);
use File::Temp qw(tempdir);
use JSON::PP ();
use Test::More ();
use Time::HiRes qw(sleep time);

our @EXPORT_OK = qw(slurp spew run opens until_ regions_of region_of with_shm can_mount enter_shm view
                    view_json make_log family_words $Dir);

my $B = $ENV{B} || 'build/cool';

# A folder for the test's files, removed when the test ends.
our $Dir = tempdir(CLEANUP => 1);

# slurp($path) -- the bytes of a file; "" where it cannot be opened
sub slurp {
    my ($path) = @_;

    open my $in, '<:raw', $path or return '';
    local $/;
    return scalar(<$in>) // '';
}

# spew($path, $bytes, $mode) -- write a file, or with the mode ">>" append to it; returns its path
sub spew {
    my ($path, $bytes, $mode) = @_;

    open my $out, ($mode // '>') . ':raw', $path or die "$path: $!";
    print $out $bytes;
    close $out or die "$path: $!";
    return $path;
}

# run(@command) -- a command's status (128 and the signal, if one killed it), standard output and standard error
sub run {
    my (@command) = @_;
    my $pid = fork // die "fork: $!";

    if ($pid == 0) {
        open STDOUT, '>:raw', "$Dir/stdout" or die $!;
        open STDERR, '>:raw', "$Dir/stderr" or die $!;
        exec @command or exit 127;
    }
    waitpid $pid, 0;
    return ($? & 127 ? 128 + ($? & 127) : $? >> 8, slurp("$Dir/stdout"), slurp("$Dir/stderr"));
}

# opens($path, @command) -- does a command, or what else runs, open a file for reading or writing (inotify)?  1 or 0, undef where
# that cannot be watched; and what `run` returns
sub opens {
    my ($path, @command) = @_;
    # Numbers of system calls are those of x86-64.
    my $fd = `uname -m` eq "x86_64\n" ? syscall 294, 04000 : -1; # inotify_init1(IN_NONBLOCK)
    my $watched = $fd >= 0 && syscall(254, $fd, my $name = $path, 0x20) >= 0; # inotify_add_watch, IN_OPEN
    my @said = run(@command);

    return (undef, @said) if !$watched;
    open my $events, '<&=', $fd or die "inotify: $!";
    my $opened = sysread $events, my $bytes, 65536;
    return (($opened // 0) > 0 ? 1 : 0, @said);
}

# until_($condition, $seconds) -- wait until the condition is true, at most so long (30 s if not said); was it ever true?
sub until_ {
    my ($condition, $seconds) = @_;
    my $end = time + ($seconds // 30);

    until ($condition->()) {
        return 0 if time > $end;
        sleep 0.005;
    }
    return 1;
}

# regions_of($folder) -- the regions in /dev/shm of recordings whose log is in this folder
sub regions_of {
    my ($folder) = @_;

    return grep { (readlink "$_.log" // '') =~ /^\Q$folder\E/ } grep { !/\.log$/ } glob '/dev/shm/pawprint-*';
}

# region_of($file, $folder, \%processes) -- is this a region of a log in the folder, or of one of the processes?  Only
# plain files are opened: other tests put fifos there.
sub region_of {
    my ($file, $folder, $processes) = @_;

    -f $file && open my $in, '<:raw', $file or return 0;
    read $in, my $head, 4096;
    return $head =~ /\Q$folder\E/ || (readlink "$file.log" // '') =~ /^\Q$folder\E/
        || ($file =~ /-(\d+)-\d+$/ && $processes->{$1});
}

# with_shm($size, @command) -- the words that run the command with a /dev/shm of its own of this size ("2m")
sub with_shm {
    my ($size, @command) = @_;

    return ('unshare', $> == 0 ? '-m' : '-rm', 'sh', '-c',
            "mount -t tmpfs -o size=$size,mode=1777 none /dev/shm && exec \"\$@\"", 'sh', @command);
}

# can_mount() -- can commands be given a /dev/shm of their own here?
sub can_mount {
    return (run(with_shm('1m', 'true')))[0] == 0;
}

# enter_shm($size) -- run the whole test within a /dev/shm of its own: all that is found there is its own
sub enter_shm {
    my ($size) = @_;

    return if ($ENV{WITHIN_SHM} // 0) == $$;
    Test::More::plan(skip_all => 'no mount is permitted here') if !can_mount();
    local $ENV{WITHIN_SHM} = $$;
    exec with_shm($size, $^X, abs_path($0)) or die;
}

# view(@options) -- what `run` says of eventview
sub view { return run("$B/bin/eventview", @_) }

# view_json(@options) -- what eventview says in JSON; dies where it fails
sub view_json {
    my ($status, $out, $err) = view('--json', @_);
    my $doc = $status == 0 ? eval { JSON::PP::decode_json($out) } : undef;

    return $doc // die "eventview --json @_: status $status: $out$err";
}

# make_log($kind) -- a log that heaptest makes; returns its path
sub make_log {
    my ($kind) = @_;
    my $path = "$Dir/$kind.paw";

    system("$B/test/heaptest", $kind, $path) == 0 or die "no log of kind $kind";
    return $path;
}

# family_words($depth) -- words for the program `family` at random: what processes do, and what children do while their
# parents wait
sub family_words {
    my ($depth) = @_;
    my @words;

    for (1 .. 3 + rand 8) {
        my $slot = int rand 8;
        my $what = rand;
        if ($what < 0.15 && $depth < 3) {
            push @words, rand() < 0.7 ? 'k0' : 't0', family_words($depth + 1), '.';
        } else {
            push @words, $what < 0.5 ? ("f$slot", "m$slot=" . int rand 300000)
                : $what < 0.8 ? "r$slot=" . (1 + int rand 300000)
                : $what < 0.9 ? "f$slot" : "x$slot=" . int rand 3000;
        }
    }
    return @words;
}

1;
