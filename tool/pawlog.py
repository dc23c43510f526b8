# SPDX-License-Identifier: BSD-2-Clause
"""pawlog -- Pawprint's logs in Python: events, filters, and what lives

Needs libpawlog.so.1 and nothing else.  The large allocations in one second of a run, and what lived at its end:

    import sys
    sys.path.insert(0, '/usr/local/share/pawprint')
    import pawlog

    with pawlog.open('run.paw') as log:
        for event in log.events('PoolAlloc', filter='size >= 64K', start=0.5, end='1.5'):
            print(log.seconds(event.time), event.pid, event.tid, hex(event.addr), event.size)
        heap = log.heap(end=1.5)
        for process in log.processes:
            counts = heap.counts(process)
            if counts is not None:
                print(process, counts.objects, 'objects,', counts.bytes, 'bytes, at most', counts.peakBytes)
            for thing in heap.objects(process):
                print('  ', hex(thing.addr), thing.size, *heap.calls(thing)[:3])

A log, and all that comes from it, belongs to one thread at a time.

Manual: pawlog(3)
"""
# Events come in batches (PawBatch in pawlog.h): of each type a piece of memory with records of one length, which
# struct.iter_unpack takes apart, and an array that says in which order they came.  No line of Python is run for an
# event: what happens to it is a chain of iterators.
#
# Design: design/log.md .pawlog.batch      Tests: test/library/python.t
import collections
import ctypes
import functools
import itertools
import keyword
import operator
import os
import struct

__all__ = ['open', 'Error', 'Log', 'Process', 'Event', 'Heap', 'Object', 'Counts', 'version']

_OK, _FAIL = 0, 1
_LETTERS = {'P': 'Q', 'A': 'Q', 'W': 'Q', 'U': 'Q', 'D': 'd', 'S': 'II'}
_RECORD = '=QII'
_FOREVER = 2**64 - 1


class Error(Exception):
    """A log that cannot be read, an expression or a time that cannot be meant; the message says which and why."""


# ---- The library ----


class _Gap(ctypes.Structure):
    _fields_ = [('path', ctypes.c_char_p), ('offset', ctypes.c_uint64), ('what', ctypes.c_char_p),
                ('lost', ctypes.c_uint64), ('exact', ctypes.c_int)]


_GapHook = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_Gap))
_NoteHook = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
_Choose = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class _Handlers(ctypes.Structure):
    _fields_ = [('size', ctypes.c_size_t), ('data', ctypes.c_void_p), ('gap', _GapHook), ('note', _NoteHook),
                ('progress', ctypes.c_void_p), ('scanning', ctypes.c_void_p), ('offset', ctypes.c_void_p),
                ('filed', ctypes.c_int), ('version', ctypes.c_uint * 3), ('registry', ctypes.c_char_p)]


class _Request(ctypes.Structure):
    _fields_ = [('size', ctypes.c_size_t), ('data', ctypes.c_void_p), ('from_', ctypes.c_uint64),
                ('to', ctypes.c_uint64), ('start', ctypes.c_void_p), ('end', ctypes.c_void_p),
                ('count', ctypes.c_uint64), ('kinds', ctypes.c_uint32), ('choose', _Choose),
                ('chooseData', ctypes.c_void_p), ('accept', ctypes.c_void_p), ('acceptData', ctypes.c_void_p),
                ('high', ctypes.c_int), ('stop', ctypes.c_int), ('event', ctypes.c_void_p),
                ('hooks', ctypes.c_void_p), ('hookCount', ctypes.c_size_t), ('around', ctypes.c_void_p * 9)]


class _Records(ctypes.Structure):
    _fields_ = [('type', ctypes.c_void_p), ('count', ctypes.c_size_t), ('words', ctypes.c_void_p)]


class _BatchEvents(ctypes.Structure):
    _fields_ = [('count', ctypes.c_size_t), ('order', ctypes.c_void_p), ('types', ctypes.c_size_t),
                ('records', ctypes.POINTER(_Records)), ('text', ctypes.c_void_p), ('textSize', ctypes.c_size_t)]


class _Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ('objects', 'bytes', 'peakObjects', 'peakBytes', 'peakTime',
                                                     'repairs', 'overlaps', 'unmatched', 'doubt')]


_OBJECT = struct.Struct('@P6QII')

_SIGNATURES = """
PawVersion s
PawError s i
PawHandlersInit - p z
PawRequestInit - p z
PawOpen i p p z p p z
PawClose - p
PawFirst q p
PawLast q p
PawEvents q p
PawDiscarded q p
PawGaps q p
PawLost q p
PawTime i p p s
PawKinds i p p s p z
PawTypesKnown i p s p z
PawProcesses z p
PawProcessAt p p z
PawProcessNumber z p
PawProcessPid u p
PawProcessParent u p
PawProcessProgram s p
PawProcessIsCollector i p
PawProcessArguments z p
PawProcessArgument s p z
PawTypeCode i p
PawTypeFields u p
PawTypeLetter c p u
PawTypeIs i p s
PawTypeName s p p z
PawTypeFieldName s p u p z
PawTypeKindName s p p
PawFilterMake i p p s p z
PawFilterFree - p
PawFilterError i p
PawRequestFilter - p p
PawBatchCreate i p p p z
PawBatchNext i p p
PawBatchDestroy - p
PawHeapCreate i p p p p p
PawHeapDestroy - p
PawHeapRead i p
PawHeapObjects i p p p p
PawHeapCount p p p
PawHeapStack i p q p z p
PawSymbolsCreate i p p p p
PawSymbolsDestroy - p
PawSymbolsText s p p q q p z
"""
_CTYPES = {'-': None, 's': ctypes.c_char_p, 'i': ctypes.c_int, 'u': ctypes.c_uint32, 'z': ctypes.c_size_t,
           'q': ctypes.c_uint64, 'p': ctypes.c_void_p, 'c': ctypes.c_char}


def _load():
    """The library that was installed together with this file, or built beside it; or else the system's."""
    here = os.path.dirname(os.path.abspath(__file__))
    beside = [os.path.join(here, '..', *path) for path in
              (('..', 'lib', 'libpawlog.so.1'), ('build', 'cool', 'lib', 'libpawlog.so'))]
    library = ctypes.CDLL(next(filter(os.path.exists, beside), 'libpawlog.so.1'))
    for line in _SIGNATURES.split('\n'):
        if line:
            name, result, *arguments = line.split()
            function = getattr(library, name)
            function.restype = _CTYPES[result]
            function.argtypes = [_CTYPES[argument] for argument in arguments]
    return library


_lib = _load()


def _text(data):
    return data.decode('utf-8', 'surrogateescape')


def _bytes(text):
    return os.fsencode(text)


def _check(error, message=None):
    if error != _OK:
        raise Error(_text(message.value) if message is not None and message.value else _text(_lib.PawError(error)))


def version():
    """The library's version, as '1.1.1'."""
    return _text(_lib.PawVersion())


# ---- Events ----


class Event(tuple):
    """An event.  Each type of event has a class of its own, with an attribute for each field.

    time       nanoseconds of wall time since 1970
    process    the Process whose it is; pid is its number
    tid        number of the thread
    name       of its type; kind is the name of its kind
    A field that is called like one of these, or like a word of Python, has an underscore behind its name: `class_'.
    Strings are str, in which bytes that are no UTF-8 are surrogates (os.fsencode gives the bytes)."""
    __slots__ = ()
    name = kind = ''
    field_names = ()

    time = property(operator.itemgetter(0), doc='nanoseconds of wall time since 1970')
    tid = property(operator.itemgetter(2), doc='number of the thread')

    @property
    def process(self):
        """The Process whose event it is."""
        return self._log._process(self[1])

    @property
    def pid(self):
        """Number of the process."""
        return self._log._process(self[1]).pid

    def get(self, name, default=None):
        """The field with this name, whatever it is called; `default` if the event has none."""
        return self[3 + self.field_names.index(name)] if name in self.field_names else default

    def fields(self):
        """All fields, as a dict."""
        return dict(zip(self.field_names, self[3:]))

    def __repr__(self):
        return ' '.join([self.name] + ['%s=%r' % field for field in zip(self.field_names, self[3:])])


class _Type:
    """What is worked out once for a type: its class, and how its records are taken apart."""

    def __init__(self, log, pointer, process):
        room = ctypes.create_string_buffer(65536)
        name = _text(_lib.PawTypeName(pointer, room, len(room)))
        count = _lib.PawTypeFields(pointer)
        fields = [_text(_lib.PawTypeFieldName(pointer, i, room, len(room))) for i in range(count)]
        letters = [_lib.PawTypeLetter(pointer, i).decode() for i in range(count)]
        kind = _lib.PawTypeKindName(process, pointer)
        names = {'__slots__': (), 'name': name, 'kind': _text(kind), 'field_names': tuple(fields), '_log': log}
        taken = set(dir(Event)) - {'count', 'index'}
        for i, field in enumerate(fields):
            if field.isidentifier() and not field.startswith('_'):
                attribute = field + '_' if field in taken or keyword.iskeyword(field) else field
                names.setdefault(attribute, property(operator.itemgetter(3 + i)))
        self.make = functools.partial(tuple.__new__, type('Event', (Event,), names))
        self.unpack = struct.Struct(_RECORD + ''.join(_LETTERS[letter] for letter in letters))
        self.string = bool(letters) and letters[-1] == 'S'

    def events(self, records, text):
        """An iterator over the records of a batch."""
        data = ctypes.string_at(records.words, records.count * self.unpack.size)
        unpacked = self.unpack.iter_unpack(data)
        if self.string:
            unpacked = (record[:-2] + (_text(text[record[-2]:record[-2] + record[-1]]),) for record in unpacked)
        return map(self.make, unpacked)


def _runs(log, types, got):
    """An iterator over the events of a batch.  `types` has a _Type for each place in its records, or None."""
    text = ctypes.string_at(got.text, got.textSize) if got.textSize > 0 else b''
    runs = [None] * got.types
    types += [None] * (got.types - len(types))
    for i in range(got.types):
        records = got.records[i]
        if records.count > 0:
            if types[i] is None:
                types[i] = log._type(records)
            runs[i] = types[i].events(records, text)
            if records.count == got.count:
                return runs[i]
    order = memoryview(ctypes.string_at(got.order, 4 * got.count)).cast('I')
    return map(next, map(runs.__getitem__, order))


def _batches(log, asked):
    """For each batch an iterator over its events."""
    types = []
    events = ctypes.POINTER(_BatchEvents)()
    try:
        asked.make(_lib.PawBatchCreate, _lib.PawBatchDestroy, 0)
        while True:
            log._open()
            _check(_lib.PawBatchNext(asked.made, ctypes.byref(events)))
            asked.check()
            if not events:
                return
            yield _runs(log, types, events.contents)
    finally:
        asked.finish()


class _Asked:
    """A request of the library's, and what stands on it and has to end before its log does."""

    def __init__(self, log, types, filter, start, end, kinds, count):
        self.log, self.filter, self.made = log, None, None
        self.request = _Request()
        _lib.PawRequestInit(ctypes.byref(self.request), ctypes.sizeof(self.request))
        self.request.from_ = 0 if start is None else log._when(start)
        self.request.to = _FOREVER if end is None else log._when(end)
        self.request.count = _FOREVER if count is None else count
        message = ctypes.create_string_buffer(1024)
        if kinds is not None:
            mask = ctypes.c_uint32()
            _check(_lib.PawKinds(ctypes.byref(mask), log._open(), _bytes(kinds), message, len(message)), message)
            self.request.kinds = mask
        if types:
            names = [_bytes(name) for name in types]
            for name in names:
                _check(_lib.PawTypesKnown(log._open(), name, message, len(message)), message)
            self.choose = _Choose(lambda data, process, type: any(_lib.PawTypeIs(type, name) for name in names))
            self.request.choose = self.choose
        if filter is not None:
            made = ctypes.c_void_p()
            _check(_lib.PawFilterMake(ctypes.byref(made), log._open(), _bytes(filter), message, len(message)), message)
            self.filter = made
            _lib.PawRequestFilter(ctypes.byref(self.request), made)
        log._owned.add(self)

    def make(self, create, destroy, *more):
        made = ctypes.c_void_p()
        _check(create(ctypes.byref(made), self.log._open(), ctypes.byref(self.request), *more))
        self.made, self._destroy = made, destroy

    def check(self):
        """Was there memory for the filter?"""
        if self.filter is not None:
            _check(_lib.PawFilterError(self.filter))

    def finish(self):
        if self.made is not None:
            self._destroy(self.made)
        if self.filter is not None:
            _lib.PawFilterFree(self.filter)
        self.made = self.filter = None
        self.log._owned.discard(self)


# ---- What lives ----

Object = collections.namedtuple('Object', 'process pool addr size time site stack tid align')
Object.__doc__ = """An object that lives.

process    the Process in which it does
pool       the pool that it is in, as the log names it
addr, size where it is, and how many bytes were asked for
time       of its allocation: nanoseconds of wall time since 1970
site       code address to which the call returned that allocated or last resized it; 0: not recorded
stack      all calls, for Heap.stack; 0: not recorded
tid        thread that allocated it
align      bytes that were asked for; 0: none"""

Counts = collections.namedtuple('Counts', [name for name, _ in _Counts._fields_])
Counts.__doc__ = """The heap of a process in numbers.

objects, bytes            that live
peakObjects, peakBytes    that lived at the peak of bytes, at peakTime
repairs                   events that were put behind a later one of another thread
overlaps, unmatched       allocations without a free, and frees without an allocation
doubt                     objects more or less: other threads were at work when it was forked"""


class Heap:
    """What lived at a time: Log.heap."""

    def __init__(self, log, asked):
        self._log, self._asked = log, asked
        asked.make(_lib.PawHeapCreate, _lib.PawHeapDestroy, None, None)
        _check(_lib.PawHeapRead(asked.made))
        asked.check()

    def __del__(self):
        self._asked.finish()

    def _pointer(self):
        self._log._open()
        return self._asked.made

    def counts(self, process):
        """Counts of a process; None: no event of it has come."""
        found = _lib.PawHeapCount(self._pointer(), process._pointer)
        if found is None:
            return None
        counts = _Counts.from_address(found)
        return Counts(*(getattr(counts, name) for name in Counts._fields))

    def objects(self, process=None):
        """An iterator over the objects of a process, or of all: pool by pool, in each the oldest first."""
        if process is None:
            return itertools.chain.from_iterable(map(self.objects, self._log.processes))
        array, count = ctypes.c_void_p(), ctypes.c_size_t()
        _check(_lib.PawHeapObjects(self._pointer(), process._pointer, ctypes.byref(array), ctypes.byref(count)))
        data = ctypes.string_at(array, count.value * _OBJECT.size)
        return (Object(process, *record[1:]) for record in _OBJECT.iter_unpack(data))

    __iter__ = objects

    def calls(self, thing):
        """The calls by which an object was allocated or last resized, in words, the innermost first; as far as they
        were recorded."""
        addresses = self.stack(thing.stack) if thing.site == 0 else (thing.site - 1,)
        return ['...' if address is None else self._log.symbol(thing.process, address, thing.time)
                for address in addresses]

    def stack(self, stack):
        """The calls of a stack that an object has, the innermost first: a tuple of addresses of code, inside the calls.
        None stands at its end where further ones are not known; of no stack it is empty."""
        if stack == 0:
            return ()
        frames, count = (ctypes.c_uint64 * 1024)(), ctypes.c_size_t()
        error = _lib.PawHeapStack(self._pointer(), stack, frames, len(frames), ctypes.byref(count))
        if error not in (_OK, _FAIL):
            _check(error)
        return tuple(frames[:count.value]) + ((None,) if error == _FAIL else ())


# ---- Logs ----


class Process:
    """A process that recorded: pid, parent (a number), program (its path), arguments, collector (True: it is eventrec,
    which watched the others)."""

    def __init__(self, pointer):
        self._pointer = pointer
        self.number = _lib.PawProcessNumber(pointer)
        self.pid = _lib.PawProcessPid(pointer)
        self.parent = _lib.PawProcessParent(pointer)
        self.program = _text(_lib.PawProcessProgram(pointer))
        self.arguments = [_text(_lib.PawProcessArgument(pointer, i)) for i in range(_lib.PawProcessArguments(pointer))]
        self.collector = bool(_lib.PawProcessIsCollector(pointer))

    def __repr__(self):
        return '%d %s' % (self.pid, self.program)


class Log:
    """One or more logs, read as one, in order of time: pawlog.open.

    first, last   times of the first event, and behind the last one: nanoseconds of wall time since 1970
    processes     a Process for each that recorded
    problems      a line for each thing that is damaged, and for each that is worth telling, as far as was read
    lost          events that are known to be missing for damage, as far as was read; discarded: for want of room"""

    def __init__(self, *paths):
        self._pointer = self._symbols = None
        self._owned = set()
        self._known, self._types, self.problems = [], {}, []
        self._hooks = _GapHook(self._gap), _NoteHook(lambda data, line: self.problems.append(_text(line)))
        handlers = _Handlers()
        _lib.PawHandlersInit(ctypes.byref(handlers), ctypes.sizeof(handlers))
        handlers.gap, handlers.note = self._hooks
        names = (ctypes.c_char_p * len(paths))(*map(_bytes, paths))
        message = ctypes.create_string_buffer(4096)
        pointer = ctypes.c_void_p()
        _check(_lib.PawOpen(ctypes.byref(pointer), names, len(paths), ctypes.byref(handlers), message, len(message)),
               message)
        self._pointer = pointer

    def _gap(self, data, gap):
        gap = gap.contents
        self.problems.append('%s: offset %d: %s; %s%d events lost' % (
            _text(gap.path), gap.offset, _text(gap.what), ('', 'about ', 'at least ')[gap.exact], gap.lost))

    def _open(self):
        if self._pointer is None:
            raise Error('the log is closed')
        return self._pointer

    def _when(self, time):
        """A time, as start and end are given, in nanoseconds since 1970."""
        if not isinstance(time, str):
            return max(0, min(self.first + round(time * 1000000000), _FOREVER))
        when = ctypes.c_uint64()
        if _lib.PawTime(ctypes.byref(when), self._open(), _bytes(time)) != _OK:
            raise Error("there is no such time as '%s'" % time)
        return when.value

    def _process(self, number):
        while number >= len(self._known):
            self._known.append(Process(_lib.PawProcessAt(self._open(), len(self._known))))
        return self._known[number]

    def _type(self, records):
        pointer = records.type
        if pointer not in self._types:
            number = struct.unpack_from(_RECORD, ctypes.string_at(records.words, 16))[1]
            self._types[pointer] = _Type(self, pointer, self._process(number)._pointer)
        return self._types[pointer]

    first = property(lambda self: _lib.PawFirst(self._open()))
    last = property(lambda self: _lib.PawLast(self._open()))
    lost = property(lambda self: _lib.PawLost(self._open()))
    discarded = property(lambda self: _lib.PawDiscarded(self._open()))

    @property
    def processes(self):
        return [self._process(i) for i in range(_lib.PawProcesses(self._open()))]

    def seconds(self, time):
        """A time in seconds since the first event, as eventcnv prints it."""
        return (time - self.first) / 1000000000

    def events(self, *types, filter=None, start=None, end=None, kinds=None, count=None):
        """An iterator over events, in order of time.

        types      names of types: only these; none given: all.  One that the log does not have is an Error.
        filter     only events for which it holds, as eventcnv -e takes it: 'size >= 4K && tid != 17'
        start, end only from there on, and only what is earlier than this: seconds since the first event, or a string,
                   'end-1' (a second before the end of the recording) or 'HH:MM:SS.frac' of wall time
        kinds      only these: 'Pool,Object'
        count      at most so many"""
        asked = _Asked(self, types, filter, start, end, kinds, count)
        return itertools.chain.from_iterable(_batches(self, asked))

    def heap(self, end=None, filter=None):
        """The Heap as it was at a time, given as for `events'; None: at the end.

        A filter leaves out events, so that their objects are not known."""
        return Heap(self, _Asked(self, (), filter, None, end, None, None))

    def symbol(self, process, address, time=None):
        """What is at an address of code in a process, inside of a call, in words: 'inner at pool.c:12 (inlined by) get at
        pool.c:30', or else the module and the distance from its base.  `time`: when that was, as an event has it.  What
        the modules lack is told in `problems'."""
        self._open()
        if self._symbols is None:
            made = ctypes.c_void_p()
            _check(_lib.PawSymbolsCreate(ctypes.byref(made), self._open(), self._hooks[1], None))
            self._symbols = made
        room = ctypes.create_string_buffer(4096)
        return _text(_lib.PawSymbolsText(self._symbols, process._pointer, self.last if time is None else time, address,
                                         room, len(room)))

    def close(self):
        """Iterators and heaps end with the log; events and objects stay."""
        for owned in list(self._owned):
            owned.finish()
        if self._symbols is not None:
            _lib.PawSymbolsDestroy(self._symbols)
            self._symbols = None
        if self._pointer is not None:
            _lib.PawClose(self._pointer)
            self._pointer = None

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.close()

    __del__ = close


def open(*paths):
    """Open logs (.paw files, or cores of recorded programs) as one Log; '-' is standard input."""
    return Log(*paths)
