# pawprint-gdb.py -- gdb commands for programs that Pawprint watches, alive or as a core file
#
#     (gdb) source /usr/local/share/pawprint/pawprint-gdb.py
#     (gdb) pawprint-events 20       the newest twenty events that are in memory
#     (gdb) pawprint-events 20 --addr p    those of the object that p points to
#     (gdb) pawprint-kinds           which kinds are sent, and buffered
#     (gdb) pawprint-kinds -Ref      switch one off, or on: in a live process
#
# No function of the program is called, so that a core will do, and a process that stopped anywhere.  The memory where
# events lie is found among the process's mappings by its mark; what events mean is in the text that lies there, too.
#
# Layout: code/format/region.h, code/format/block.h, design/format.md      Tests: test/emit/gdb.t
#
# SPDX-License-Identifier: BSD-2-Clause
import re
import struct

import gdb

REGION_MAGIC = b'\x8fPAWreg\n'
BLOCK_MAGIC = b'\x8fPAWblk\n'
BLOCK_HEADER = 128
REGION_TEXT, REGION_TEXT_SIZE = 131072, 262144
REGION_FIRST, REGION_SLOT = 1 << 20, 131072
REGION_SLOTS_MAX = 4096
STATE_AT, TEXT_AT = 1344, 1280
CODE_EPOCH, CODE_FIRST = 2, 0x0100
BUFFER = 16
ORDER = 0x01020304


def read(address, size):
    """Bytes of the program's memory, or b'' where there are none."""
    try:
        return bytes(gdb.selected_inferior().read_memory(address, size))
    except (gdb.error, OverflowError):
        return b''


def listing(command):
    try:
        return gdb.execute(command, to_string=True)
    except gdb.error:
        return ''


def mappings():
    """Where pieces of the program's memory begin; of a core, also those without a file."""
    found = set()
    for command in ('info proc mappings', 'maintenance info sections', 'info files'):
        for line in listing(command).splitlines():
            match = re.match(r'\s*(?:\[\d+\]\s*)?(0x[0-9a-f]+)(?:\s*-\s*>?|\s+|->)0x[0-9a-f]+', line)
            if match:
                found.add(int(match.group(1), 16))
    return sorted(found)


class Region:
    """The memory in which a process keeps its blocks: code/format/region.h."""

    def __init__(self, address, head):
        self.address = address
        self.order = '<' if head[8:12] == struct.pack('<I', ORDER) else '>'
        self.pid, self.slots, self.identity = struct.unpack_from(self.order + 'IIQ', head, 16)
        self.slots = min(self.slots, REGION_SLOTS_MAX)

    def text(self):
        """The newest header block, or ''."""
        generation, *length = struct.unpack(self.order + 'III', read(self.address + TEXT_AT, 12) or bytes(12))
        if generation == 0 or length[generation & 1] > REGION_TEXT_SIZE:
            return ''
        where = self.address + REGION_TEXT + (generation & 1) * REGION_TEXT_SIZE
        return read(where, length[generation & 1]).decode('utf-8', 'replace')

    def blocks(self):
        for slot, state in enumerate(read(self.address + STATE_AT, self.slots)):
            size = 1 << (state & 31)
            if 4096 <= size <= 65536:
                block = read(self.address + REGION_FIRST + (slot + 1) * REGION_SLOT - size, size)
                if block[:8] == BLOCK_MAGIC:
                    yield Block(self.order, block)


def regions():
    found = []
    for address in mappings():
        head = read(address, 32)
        if head[:8] == REGION_MAGIC:
            found.append(Region(address, head))
    if not found:
        raise gdb.GdbError('pawprint: no memory for events in this program: '
                           'it runs without the library, or has emitted none')
    return found


class Block:
    """Events of one thread and kind: design/format.md .block."""

    def __init__(self, order, memory):
        self.order, self.memory = order, memory
        self.pid, self.thread = struct.unpack_from(order + 'II', memory, 36)
        self.first, = struct.unpack_from(order + 'Q', memory, 88)

    def events(self):
        """(time in ticks, code, bytes) of each that is committed."""
        at, epoch = BLOCK_HEADER, self.first >> 32
        while at + 8 <= len(self.memory):
            code, length, time = struct.unpack_from(self.order + 'HHI', self.memory, at)
            size = length & 0x7fff
            if size < 8 or at + size > len(self.memory):
                at += 8
                continue
            if code == CODE_EPOCH and size >= 16:
                epoch = struct.unpack_from(self.order + 'Q', self.memory, at + 8)[0] >> 32
            elif code >= CODE_FIRST:
                yield epoch << 32 | time, code, self.memory[at:at + size]
            at += (size + 7) & ~7


class Types:
    """What events mean, by the lines of a registry: design/format.md .registry."""

    def __init__(self, found):
        text = ''.join(region.text() for region in found)
        self.kinds, self.events, self.word, self.frequency = {}, {}, 8, 10 ** 9
        for line in text.split('\n'):
            key, _, rest = line.partition(': ')
            words = rest.split(' ')
            if key == 'kind' and len(words) == 2:
                self.kinds[int(words[0])] = words[1]
            elif key == 'event' and len(words) >= 5:
                self.events[int(words[0], 16)] = (words[1], words[4].replace('0', ''), words[5:])
            elif key == 'word':
                self.word = int(rest)
            elif key == 'frequency':
                self.frequency = int(rest) or self.frequency

    def values(self, order, format_, names, event):
        at = 8
        for letter, name in zip(format_, names):
            if letter == 'S':
                yield name, quoted(event[at:].split(b'\0')[0])
                return
            size = {'U': 4, 'D': 8}.get(letter, self.word)
            piece = event[at:at + size]
            if len(piece) < size:
                return
            at += size
            if letter == 'D':
                yield name, shortest(struct.unpack(order + 'd', piece)[0])
            else:
                number = int.from_bytes(piece, 'little' if order == '<' else 'big')
                yield name, '%d' % number if letter in 'WU' else '0x%x' % number

    def has(self, order, code, event, address):
        """Is one of its parameters this address?"""
        if code not in self.events:
            return False
        _, format_, names = self.events[code]
        return '0x%x' % address in (value for letter, (_, value) in zip(format_, self.values(order, format_, names, event))
                                    if letter in 'PA')

    def line(self, order, code, event):
        if code not in self.events:
            return 'event-0x%04x %s' % (code, event[8:].hex())
        name, format_, names = self.events[code]
        return ' '.join([name] + ['%s=%s' % pair for pair in self.values(order, format_, names, event)])


def shortest(number):
    for digits in range(1, 18):
        text = '%.*g' % (digits, number)
        if float(text) == number:
            break
    return text


def quoted(text):
    known = {34: '\\"', 92: '\\\\', 10: '\\n', 9: '\\t', 13: '\\r'}
    out = b''
    for byte in text:
        if byte in known:
            out += known[byte].encode()
        else:
            out += bytes([byte]) if 32 <= byte != 127 else b'\\%03o' % byte
    return '"' + out.decode('utf-8', 'replace') + '"'


class EventsCommand(gdb.Command):
    """Print the newest events that are in the program's memory: pawprint-events [N] [--addr A]; 20 if N is not given.

Each line has the seconds since the earliest event in memory, process and thread, the event, and its parameters.
With --addr only those are printed that have an address as a parameter: a number, or any expression of the program's."""

    def __init__(self):
        super().__init__('pawprint-events', gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        argument, _, wanted = (part.strip() for part in argument.partition('--addr'))
        if argument and not argument.isdigit():
            raise gdb.GdbError('pawprint-events: %s is no number' % argument)
        address = int(gdb.parse_and_eval(wanted)) & 0xffffffffffffffff if wanted else None
        found = regions()
        types = Types(found)
        events = [(time, block, code, event) for region in found for block in region.blocks()
                  for time, code, event in block.events()
                  if address is None or types.has(block.order, code, event, address)]
        if not events:
            print('no events')
            return
        events.sort(key=lambda event: event[0])
        count = int(argument or 20)
        for time, block, code, event in events[len(events) - min(count, len(events)):]:
            nanoseconds = (time - events[0][0]) * 10 ** 9 // types.frequency
            print('%d.%09d %d/%d %s' % (nanoseconds // 10 ** 9, nanoseconds % 10 ** 9, block.pid, block.thread,
                                        types.line(block.order, code, event)))


class KindsCommand(gdb.Command):
    """Which kinds of events are sent, and kept by the flight recorder: pawprint-kinds [+NAME | -NAME]...

With names, switches those on or off, in a live process; otherwise prints a table."""

    def __init__(self):
        super().__init__('pawprint-kinds', gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        types = Types(regions())
        try:
            address = int(gdb.parse_and_eval('(unsigned long)&EventKindControl'))
        except gdb.error:
            raise gdb.GdbError('pawprint-kinds: the program has no EventKindControl')
        memory = read(address, types.word)
        if not memory:
            raise gdb.GdbError('pawprint-kinds: EventKindControl is not in this core')
        order = 'little' if struct.pack('=H', 1) == b'\1\0' else 'big'
        word = int.from_bytes(memory, order)
        if argument:
            self.change(types, address, word, argument.replace(',', ' ').split(), order)
            return
        print('%-10s %-5s %s' % ('kind', 'sent', 'buffered'))
        for kind, name in sorted(types.kinds.items()):
            print('%-10s %-5s %s' % (name, self.yes(word >> kind), self.yes(word >> BUFFER + kind)))

    @staticmethod
    def yes(bit):
        return 'yes' if bit & 1 else 'no'

    @staticmethod
    def change(types, address, word, words, order):
        numbers = {name: kind for kind, name in types.kinds.items()}
        for item in words:
            if item[0] not in '+-' or item[1:] not in numbers:
                raise gdb.GdbError('pawprint-kinds: %s is no +NAME or -NAME; there are %s'
                                   % (item, ', '.join(types.kinds[kind] for kind in sorted(types.kinds))))
            bit = 1 << numbers[item[1:]]
            word = word | bit if item[0] == '+' else word & ~bit
        try:
            gdb.selected_inferior().write_memory(address, word.to_bytes(types.word, order))
        except gdb.error as error:
            raise gdb.GdbError('pawprint-kinds: %s' % error)


EventsCommand()
KindsCommand()
