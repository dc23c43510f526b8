#!/usr/bin/env perl
# programs.t -- real programs of many kinds under eventrec: the log agrees with an independent count, or it is said what
# was not seen
#
# The count is that of prog/counter.so (lib/Counted.pm).  A program that is not installed is skipped.
#
# SPDX-License-Identifier: BSD-2-Clause
use strict;
use warnings;
use lib 'test/lib';
use EndToEnd qw(spew);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use FindBin;
use Test::More;
use lib "$FindBin::Bin/../lib";
use Counted;

my $B = abs_path($ENV{B} // 'build/cool');
my ($cnv, $counter) = ("$B/bin/eventcnv", "$B/prog/counter.so");
my $dir = tempdir('pawprint-XXXXXX', TMPDIR => 1, CLEANUP => 1);

plan skip_all => 'programs are recorded by the cool variety' if ($ENV{VARIETY} // 'cool') ne 'cool';
plan skip_all => 'a sanitized eventrec cannot be counted' if $ENV{SAN};
-x $_ or BAIL_OUT("$_ is not there") for "$B/bin/eventrec", $cnv, $counter;
delete @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS)};
$ENV{PATH} .= ':/usr/sbin:/sbin';

# What the programs work on.
spew("$dir/hello.c", "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n");
spew("$dir/hello.cc", "#include <iostream>\n#include <map>\n#include <string>\nint main() { std::map<int, std::string> m;\n"
    . "for (int i = 0; i < 3000; ++i) m[i * 7 % 1000] = std::string(i % 100, 'x'); std::cout << m.size() << '\\n'; }\n");
spew("$dir/Makefile", "all: a b c\n%: hello.c\n\t\@gcc -o \$@ hello.c\n");
spew("$dir/words.txt", join '', map { 'word' . $_ * 7919 % 10007 . "\n" } 1 .. 20000);
spew("$dir/data.json", '[' . join(',', map { "{\"id\":$_,\"name\":\"n$_\",\"list\":[1,2,$_]}" } 1 .. 3000) . ']');
spew("$dir/data.sql", "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);\nBEGIN;\n"
    . join('', map { "INSERT INTO t VALUES($_, 'text $_');\n" } 1 .. 3000) . "COMMIT;\nSELECT count(*) FROM t WHERE b LIKE '%9%';\n");
spew("$dir/Hello.java", "import java.util.*;\npublic class Hello { public static void main(String[] a) throws Exception {\n"
    . "List<Thread> l = new ArrayList<>(); for (int i = 0; i < 8; ++i) { Thread t = new Thread(() -> { StringBuilder s = new StringBuilder();\n"
    . "for (int k = 0; k < 10000; ++k) s.append(k); }); t.start(); l.add(t); } for (Thread t : l) t.join(); System.out.println(l.size()); } }\n");
spew("$dir/hello.go", "package main\nimport \"fmt\"\nfunc main() { fmt.Println(\"hello\") }\n");
spew("$dir/nginx.conf", "daemon off; master_process on; worker_processes 2; pid $dir/nginx.pid; error_log $dir/nginx.log;\n"
    . "events { worker_connections 64; }\nhttp { access_log off; client_body_temp_path $dir/nb; proxy_temp_path $dir/np;\n"
    . "fastcgi_temp_path $dir/nf; uwsgi_temp_path $dir/nu; scgi_temp_path $dir/ns;\n"
    . "server { listen unix:$dir/nginx.sock; location / { return 200 \"ok\\n\"; } } }\n");
my $daemon = 'use POSIX; defined(my $p = fork) or die; POSIX::_exit(0) if $p; setsid(); exit 0 if fork; '
    . 'POSIX::close($_) for 0 .. 1023; my @a = map { "x" x $_ } 1 .. 500; select undef, undef, undef, 0.2; exit 0';
my $python = 'import json,os,threading;d=[json.loads(json.dumps({"a":list(range(i))})) for i in range(300)];'
    . 't=[threading.Thread(target=lambda: json.dumps(d)) for _ in range(4)];[x.start() for x in t];[x.join() for x in t];'
    . 'p=os.fork();(os._exit(0) if p==0 else os.waitpid(p,0))';

# Each program: its name, what it needs, how it is prepared, and how it runs.  Of those in %unseen the summary is to say
# why nothing was seen; of no other may it say such a thing.
my %unseen = (go => qr/hellogo: static/, static => qr/hellostatic: static/);
my @programs = (
    [git => [qw(git)], undef, 'sh', '-c', "cd $dir && git init -q r && cd r && cp ../*.c ../*.txt . && git add . && git -c user.name=a "
        . "-c user.email=a\@b -c gc.auto=0 commit -qm x && git log --stat && git fsck && git gc -q"],
    [gcc => [qw(gcc)], undef, 'gcc', '-O2', '-o', "$dir/hello", "$dir/hello.c"],
    ['g++' => [qw(g++)], undef, 'g++', '-O1', '-o', "$dir/hellocc", "$dir/hello.cc"],
    [clang => [qw(clang)], undef, 'clang', '-O2', '-o', "$dir/helloclang", "$dir/hello.c"],
    [make => [qw(make gcc)], undef, 'make', '-s', '-j2', '-C', $dir],
    [python3 => [qw(python3)], undef, 'python3', '-c', $python],
    [perl => [qw(perl)], undef, 'perl', '-e', 'my %h; open my $f, "<", shift; while (<$f>) { chomp; push @{$h{$_}}, $. } print scalar(sort keys %h), "\n"',
        "$dir/words.txt"],
    [sqlite3 => [qw(sqlite3)], undef, 'sh', '-c', "sqlite3 :memory: < $dir/data.sql"],
    [jq => [qw(jq)], undef, 'jq', 'map(.list | add) | add', "$dir/data.json"],
    [node => [qw(node)], undef, 'node', '-e', 'const a=[];for(let i=0;i<1e5;i++)a.push({i});console.log(JSON.stringify(a).length)'],
    ['redis-server' => [qw(redis-server redis-cli)], undef, 'sh', '-c', "redis-server --port 0 --unixsocket $dir/redis.sock --save '' --dir $dir "
        . ">$dir/redis.log & for i in \$(seq 200); do redis-cli -s $dir/redis.sock ping >/dev/null 2>&1 && break; sleep 0.05; done; "
        . "redis-cli -s $dir/redis.sock eval 'for i=1,2000 do redis.call(\"set\",\"k\"..i,string.rep(\"x\",i)) end' 0; "
        . "redis-cli -s $dir/redis.sock shutdown nosave; wait"],
    [nginx => [qw(nginx perl)], undef, 'sh', '-c', "nginx -c $dir/nginx.conf & perl -MIO::Socket::UNIX -e 'for (1..200) { "
        . "last if \$s = IO::Socket::UNIX->new(Peer => shift \@{[\"$dir/nginx.sock\"]}); select undef,undef,undef,.05 } "
        . "print \$s \"GET / HTTP/1.0\\r\\n\\r\\n\"; print <\$s>'; kill -QUIT \$(cat $dir/nginx.pid); wait"],
    [openssl => [qw(openssl)], undef, 'openssl', 'genrsa', '-out', "$dir/key.pem", '2048'],
    [java => [qw(java)], undef, 'java', '-Xmx64m', '-XX:+UseSerialGC', "$dir/Hello.java"],
    [ffmpeg => [qw(ffmpeg)], undef, 'ffmpeg', '-v', 'error', '-y', '-f', 'lavfi', '-i', 'testsrc=duration=1:size=128x96:rate=10', '-c:v', 'mpeg4', "$dir/out.avi"],
    [bash => [qw(bash)], undef, 'bash', '-c', 'for i in $(seq 30); do /bin/true; echo $(expr $i + 1) | cat >/dev/null; done'],
    [dash => [qw(dash)], undef, 'dash', '-c', 'i=0; while [ $i -lt 30 ]; do i=$((i+1)); ls / | wc -l >/dev/null; done'],
    [sort => [qw(sort)], undef, 'sort', '--parallel=2', '-S', '1M', '-o', "$dir/sorted.txt", "$dir/words.txt"],
    [awk => [qw(awk)], undef, 'awk', '{ a[$1]++ } END { n = 0; for (k in a) n++; print n }', "$dir/words.txt"],
    [sed => [qw(sed)], undef, 'sed', '-n', 's/word\([0-9]*\)/\1/p', "$dir/words.txt"],
    [grep => [qw(grep)], undef, 'grep', '-cE', 'word[0-9]*7$', "$dir/words.txt"],
    [find => [qw(find)], undef, 'find', '/usr/share/doc', '-maxdepth', '2', '-name', '*a*'],
    [tar => [qw(tar gzip)], undef, 'tar', 'czf', "$dir/t.tgz", '-C', $dir, 'words.txt', 'data.json'],
    [xz => [qw(xz)], undef, 'xz', '-k', '-T2', "$dir/words.txt"],
    [gdb => [qw(gdb)], undef, 'gdb', '-batch', '-nx', '-ex', 'info functions main', '/bin/true'],
    [cmake => [qw(cmake)], undef, 'cmake', '--system-information'],
    [groff => [qw(groff)], undef, 'groff', '-man', '-Tascii', "$FindBin::Bin/../../man/eventrec.1"],
    [daemon => [qw(perl)], undef, 'sh', '-c', "perl -e '$daemon'; sleep 1"],
    ['stress-ng' => [qw(stress-ng)], undef, 'stress-ng', '--malloc', '2', '--malloc-ops', '20000', '--temp-path', $dir, '-q'],
    [busybox => [qw(busybox)], undef, 'busybox', 'ls', '/'],
    [go => [qw(go)], ['go', 'build', '-o', "$dir/hellogo", "$dir/hello.go"], "$dir/hellogo"],
    [static => [qw(gcc)], ['gcc', '-static', '-o', "$dir/hellostatic", "$dir/hello.c"], "$dir/hellostatic"],
);

# present(@names) -- are all of these programs installed?
sub present { return !grep { system("command -v $_ >/dev/null 2>&1") != 0 } @_ }

# differences($counted, $seen) -- a line for each process and type in which the two differ
sub differences {
    my ($counted, $seen) = @_;
    my %pids = map { $_ => 1 } keys %$counted, keys %$seen;
    my @lines;

    for my $pid (sort keys %pids) {
        for my $name (@CountedNames) {
            my ($c, $s) = map { $_->{$pid}{$name} // 0 } $counted, $seen;
            push @lines, "process $pid: $name: counted $c, in the log $s" if $c != $s;
        }
    }
    return join "\n", @lines;
}

my @chosen = split /,/, $ENV{PROGRAMS} // '';
for my $program (@programs) {
    my ($name, $needs, $prepare, @command) = @$program;
    next if @chosen && !grep { $_ eq $name } @chosen;
    SKIP: {
        skip "$name is not installed", 1 unless present(@$needs);
        local $ENV{HOME} = $dir;
        skip "$name cannot be prepared", 1 if $prepare && system("@$prepare >/dev/null 2>&1") != 0;
        subtest $name => sub {
            my ($log, $counts) = ("$dir/$name.paw", "$dir/$name.counts");
            is countedRecord($B, $log, $counts, "$dir/$name", @command), 0, 'its status is its own'
                or diag countedSlurp("$dir/$name.err");
            my $said = countedSlurp("$dir/$name.err");
            like $said, qr/^eventrec: \d+ events \(0 discarded\)/m, 'nothing is discarded' or diag $said;
            my ($calls, $events) = (countedCalls($B, $counts), -e $log ? countedEvents($B, $log) : {});
            my $differences = differences($calls, $events);
            my @unseen = $said =~ /^eventrec: (not seen: .*)$/mg;
            is $differences, '', 'the log agrees with the count';
            if ($unseen{$name}) {
                like "@unseen", $unseen{$name}, 'eventrec says what was not seen';
                like `$B/bin/eventview $log`, qr/^not seen {7}.*$unseen{$name}/m, 'and so does the summary of the log';
            } else {
                is "@unseen", '', 'nothing was not seen';
                cmp_ok scalar(keys %$events), '>', 0, 'something was recorded';
                is `$cnv --check $log 2>&1`, '', 'the log is whole';
            }
            unlink $log, $counts;
        };
    }
}
done_testing;
