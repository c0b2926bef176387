import { readdirSync, readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import * as fc from 'fast-check';
import { BodyStore, type StoreWriter } from '../../core/http/request/body-store.js';
import type { Lender } from '../../core/http/request/lender.js';
import type { StoreReader, StoreSink } from '../../core/http/request/store-reader.js';
import { type FilePlan, type StorePlan, TemporaryPath } from '../../core/http/site/temporary-path.js';
import type { StoreOwner } from '../../core/http/request/temporary-file.js';
import { ReadBuffers } from '../../core/net/buffers.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

/** Byte `at` of every body. */
const byteAt = (at: number): number => (at * 7 + (at >> 8)) & 0xff;

function bytes(from: number, length: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, at) => byteAt(from + at)));
}

/** Memory for reads that knows where the system may still write to. */
class WatchedBuffers extends ReadBuffers {
  readonly #beingRead = new Set<ArrayBufferLike>();
  readonly wrong: string[] = [];

  /** A read into this memory begins. The result is called when it is over. */
  begin({ buffer }: Buffer): () => void {
    if (this.#beingRead.has(buffer)) this.wrong.push('two reads at once into the same memory');
    this.#beingRead.add(buffer);
    return () => void this.#beingRead.delete(buffer);
  }

  override give(buffer: Buffer): void {
    if (this.#beingRead.has(buffer.buffer)) this.wrong.push('memory is free while a read is under way');
    super.give(buffer);
  }
}

/** A store whose reads of its file are watched. One that is given up never ends, as far as the test knows. */
class WatchedStore extends BodyStore {
  constructor(
    private readonly around: Surroundings,
    plan: StorePlan,
    writer: StoreWriter,
    keepsAll: boolean,
  ) {
    super(around.request, plan, writer, keepsAll);
  }

  override readFile(at: number, into: Buffer, done: (bytes: number) => void): void {
    const over = this.around.buffers.begin(into);
    super.readFile(at, into, (read) => {
      over();
      done(read);
    });
  }
}

/** What a store needs of a request. */
class Surroundings {
  readonly buffers = new WatchedBuffers();
  readonly logged: string[] = [];
  held = 0;
  #files = 0;
  readonly request: StoreOwner;

  constructor() {
    const { buffers } = this;
    const log = { write: (_: string, text: string): void => void this.logged.push(text) };
    const context = { buffers, log, nextTemporaryFile: (): number => ++this.#files };
    this.request = { context } as unknown as StoreOwner;
    const count = buffers.count.bind(buffers);
    buffers.count = (difference): void => {
      this.held += difference;
      count(difference);
    };
  }
}

class Writer implements StoreWriter {
  lost = 0;

  constructor(private readonly onRoom: () => void = () => undefined) {}

  onStoreRoom(): void {
    this.onRoom();
  }
  onStoreLost(): void {
    this.lost++;
  }
}

/** Reads when it is told to, and checks what it gets. */
class Reading implements StoreSink {
  reader: StoreReader | undefined = undefined;
  got = 0;
  isRight = true;
  woken = 0;
  /** Pulls whenever it may. */
  isEager = false;
  isClosed = false;
  #done: (() => void) | undefined = undefined;

  onPiece(chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    if (this.isClosed) this.isRight = false;
    for (let at = from; at < to; at++) if (chunk[at] !== byteAt(this.got++)) this.isRight = false;
    if (lender !== undefined && this.got % 3 === 0) lender.keepBuffer();
  }
  onMore(): void {
    this.woken++;
    if (this.isEager) this.reader?.pull(1000);
    this.#pump();
  }

  close(): void {
    this.isClosed = true;
    this.reader?.close();
  }

  /** Reads to the end. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#done = resolve;
      this.#pump();
    });
  }

  #pump(): void {
    const { reader } = this;
    if (this.#done === undefined || reader === undefined) return;
    while (reader.pull(1000));
    // One that has read too far has no end.
    if (reader.isDone || !this.isRight) this.#done();
  }
}

function filePlan(folder: string, name: FilePlan['name'] = 'none'): FilePlan {
  return { path: new TemporaryPath(folder, []), name, writeSize: 300, level: 'warn', what: 'buffered', when: '' };
}

const OPERATION = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('append' as const), by: fc.integer({ min: 1, max: 900 }), borrowed: fc.boolean() }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('pull' as const), by: fc.nat(3), borrowed: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('open' as const), by: fc.nat(3), borrowed: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('close' as const), by: fc.nat(3), borrowed: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave' as const), by: fc.nat(3), borrowed: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('turn' as const), by: fc.nat(3), borrowed: fc.boolean() }) },
);

test('every reader gets every byte once, in order, at its own pace; what all have passed is freed', async (t) => {
  const folder = tempFolder(t);
  const limits = fc.record({
    memory: fc.nat(1500),
    maxFileSize: fc.oneof(fc.constant(0), fc.integer({ min: 500, max: 4000 }), fc.constant(Infinity)),
    fileHoldsAll: fc.boolean(),
    writeAhead: fc.nat(1000),
    keepsAll: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(limits, fc.array(OPERATION, { maxLength: 60 }), async ({ keepsAll, ...limits }, operations) => {
      const around = new Surroundings();
      const plan: StorePlan = { ...limits, file: filePlan(folder) };
      const readings: Reading[] = [];
      // As a response does that is sent on when its store has room.
      const writer = new Writer(() => readings.forEach(({ reader, isEager }) => void (isEager && reader?.pull(1000))));
      const store = new WatchedStore(around, plan, writer, keepsAll);
      const left: Reading[] = [];
      const open = (): Reading => {
        const reading = new Reading();
        reading.reader = store.open(reading);
        reading.isEager = readings.length % 2 === 1;
        return reading;
      };
      readings.push(open(), open());
      for (const { kind, by, borrowed } of operations) {
        const reading = readings[by % readings.length];
        if (kind === 'append') {
          // A source that is told to wait does.
          if (store.isFull) continue;
          const chunk = bytes(store.length, by);
          store.append(chunk, borrowed);
          if (borrowed) chunk.fill(0);
        } else if (kind === 'pull') reading?.reader?.pull(1 + by * 400);
        else if (kind === 'open' && keepsAll) readings.push(open());
        else if (kind === 'close' && readings.length > 1) readings.pop()?.close();
        else if (kind === 'leave' && readings.length > 1) {
          // In the middle of a read, where there is something in the file.
          await waitFor('the disk', () => store.isSettled);
          const leaving = readings.pop() as Reading;
          leaving.reader?.pull(1 + by * 400);
          leaving.close();
          left.push(leaving);
        } else if (kind === 'turn') await setImmediate();
        t.deepEqual(around.buffers.wrong, []);
        if (limits.maxFileSize === 0) t.true(around.held <= limits.memory + 900 + (keepsAll ? 900 : 0), 'memory is bounded');
      }
      store.end();
      await Promise.all(readings.map((reading) => reading.drain()));
      for (const { got, isRight } of readings) {
        t.is(got, store.length);
        t.true(isRight);
      }
      if (!keepsAll && store.length > 0) t.is(store.whole, undefined, 'nothing is held');
      for (const reading of readings) reading.close();
      store.close();
      t.deepEqual(around.buffers.wrong, []);
      t.true(
        left.every(({ isRight }) => isRight),
        'who has left gets nothing more',
      );
      await waitFor('the memory', () => around.held === 0);
      t.deepEqual(
        around.logged.filter((text) => text.includes('failed')),
        [],
      );
    }),
    { numRuns: 150 },
  );
  t.deepEqual(readdirSync(folder), []);
});

test('a reader that is slow does not hold another one up, and one that comes later gets all', async (t) => {
  const around = new Surroundings();
  const plan = { memory: 100, maxFileSize: Infinity, fileHoldsAll: true, writeAhead: 1e6, file: filePlan(tempFolder(t)) };
  const store = new BodyStore(around.request, plan, new Writer(), true);
  const [slow, fast, late] = [new Reading(), new Reading(), new Reading()];
  slow.reader = store.open(slow);
  fast.reader = store.open(fast);
  for (let at = 0; at < 50; at++) store.append(bytes(store.length, 997), false);
  store.end();
  await fast.drain();
  t.is(fast.got, 49_850);
  t.is(slow.got, 0);
  store.close();
  late.reader = store.open(late);
  for (const reading of [slow, late]) {
    await reading.drain();
    t.true(reading.isRight && reading.got === 49_850);
  }
});

test('a file that cannot be written is told to the writer once, and to each reader', async (t) => {
  const around = new Surroundings();
  const writer = new Writer();
  const plan = { memory: 10, maxFileSize: 1e6, fileHoldsAll: false, writeAhead: 0, file: filePlan('/nowhere/at/all') };
  const store = new BodyStore(around.request, plan, writer, false);
  const readings = [new Reading(), new Reading()];
  for (const reading of readings) {
    reading.reader = store.open(reading);
    while (reading.reader.pull(1000));
  }
  store.append(bytes(0, 500), false);
  for (const { reader } of readings) reader?.pull(1000);
  await waitFor('the failure', () => store.lost);
  t.is(writer.lost, 1);
  for (const { reader, woken } of readings) {
    t.true(reader?.isDone);
    t.true(woken > 0);
    reader?.close();
  }
  store.close();
  t.is(around.held, 0);
  t.true(around.logged.some((text) => text.includes('open() "/nowhere/at/all/')));
});

test('a file keeps its name while the store is open, or forever, if its plan says so', async (t) => {
  for (const name of ['until-closed', 'stays'] as const) {
    const folder = tempFolder(t);
    const store = new BodyStore(
      new Surroundings().request,
      { memory: 0, maxFileSize: Infinity, fileHoldsAll: true, writeAhead: 0, file: filePlan(folder, name) },
      new Writer(),
      true,
    );
    store.append(bytes(0, 1000), true);
    await waitFor('the file', () => store.path !== '' && store.isSettled);
    t.deepEqual(readFileSync(store.path), bytes(0, 1000));
    store.close();
    const left = name === 'stays' ? 1 : 0;
    await waitFor('the end', () => readdirSync(folder).length === left);
  }
});
