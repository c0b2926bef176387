/** Connections that have something to do in the same turn: their reads and writes are made by one call of the system each (io_uring). */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import type { Connection, ConnectionUser } from '../../core/net/transport/connection.js';
import { Errno } from '../../core/net/transport/epoll/errno.js';
import { hasEpoll } from '../harness/event-methods.js';
import { waitFor } from '../harness/wait.js';
import { client, stage, Witness, type Stage } from './failing-calls.js';

const MANY = 24;

const isPossible = (): boolean => {
  if (!hasEpoll) return false;
  const teardowns: (() => void)[] = [];
  const it = stage({ teardown: (after: () => void) => teardowns.push(after) } as unknown as ExecutionContext);
  it.loop.useRing(true);
  const found = it.loop.usesRing;
  for (const after of teardowns) after();
  return found;
};
const ofRings = isPossible() ? test.serial : test.serial.skip;

/** One accepted connection and its client. */
interface Pair {
  readonly connection: Connection;
  readonly socket: Socket;
  readonly received: () => string;
}

async function pairs(t: ExecutionContext, it: Stage, count: number): Promise<readonly Pair[]> {
  it.loop.useRing(true);
  const made: Pair[] = [];
  while (made.length < count) {
    const socket = await client(t, it.port);
    const connection = await waitFor('a connection', () => it.accepted[made.length]);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    made.push({ connection, socket, received: () => text });
  }
  return made;
}

/** Users of all of them, of which the first one that has bytes does something. */
function firstDoes(all: readonly Pair[], act: (first: Connection) => void): readonly Witness[] {
  let isFirst = true;
  return all.map(({ connection }) => {
    const user = new Witness();
    const take = user.onData.bind(user);
    user.onData = (chunk) => {
      take(chunk);
      if (isFirst) {
        isFirst = false;
        act(connection);
      }
    };
    connection.client = user;
    return user;
  });
}

ofRings('what many send at once comes back whole and in order, however it is written', async (t) => {
  const it = stage(t);
  const all = await pairs(t, it, MANY);
  const kinds = ['text', 'bytes', 'both', 'now', 'corked'] as const;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: 1, max: 40_000 }), fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 3 })), {
        minLength: MANY,
        maxLength: MANY,
      }),
      async (plan) => {
        const expected = all.map(({ connection, received }, at) => {
          const letter = String.fromCharCode(97 + (at % 26));
          const [length, ways] = plan[at] as (typeof plan)[number];
          connection.client = echo(connection, ways);
          return { received, letter, before: received().length, text: letter.repeat(length) };
        });
        for (const [at, { socket }] of all.entries()) socket.write((expected[at] as { text: string }).text, 'latin1');
        for (const [at, { received, letter, before, text }] of expected.entries()) {
          const length = text.length * (plan[at]?.[1].length ?? 0);
          await waitFor('all of it', () => received().length === before + length || undefined);
          t.is(received().slice(before), letter.repeat(length));
        }
      },
    ),
    { numRuns: 12 },
  );
  t.true(it.calls.together.some((count) => count > 1));
});

/** Writes each piece that comes as often as there are ways. */
function echo(connection: Connection, ways: readonly ('text' | 'bytes' | 'both' | 'now' | 'corked')[]): ConnectionUser {
  const user = new Witness();
  user.onData = (chunk) => {
    for (const way of ways) {
      const text = chunk.toString('latin1');
      if (way === 'text') connection.write(text, 'latin1');
      else if (way === 'bytes') connection.write(Buffer.from(chunk));
      else if (way === 'both') connection.writeBoth?.(text.slice(0, 1), chunk, 1, chunk.length);
      else if (way === 'now') {
        const taken = connection.writeNow?.(chunk) ?? 0;
        if (taken < chunk.length) connection.write(Buffer.from(chunk.subarray(taken)));
      } else {
        connection.cork();
        connection.write(text.slice(0, 1), 'latin1');
        connection.write(Buffer.from(chunk.subarray(1)));
        connection.uncork();
      }
    }
  };
  return user;
}

ofRings('one that another handler pauses gets its bytes when it goes on, and not before', async (t) => {
  const it = stage(t);
  const all = await pairs(t, it, 6);
  const users = firstDoes(all, (first) => {
    for (const { connection } of all) if (connection !== first) connection.pause();
  });
  for (const { socket } of all) socket.write('hello');
  await waitFor('the first', () => users.some(({ text }) => text === 'hello') || undefined);
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.is(users.filter(({ text }) => text === 'hello').length, 1);
  for (const { socket } of all) socket.end(' again');
  for (const { connection } of all) connection.resume();
  await waitFor('the others', () => users.every(({ text, seen }) => text === 'hello again' && seen.includes('end')) || undefined);
  t.pass();
});

ofRings('one that another handler closes gets nothing more', async (t) => {
  const it = stage(t);
  const all = await pairs(t, it, 6);
  const users = firstDoes(all, (first) => {
    for (const { connection } of all) if (connection !== first) connection.destroy();
  });
  for (const { socket } of all) socket.write('hello');
  await waitFor('the ends', () => users.filter(({ seen }) => seen.includes('close')).length === 5 || undefined);
  t.deepEqual(users.map(({ text }) => text).toSorted(), ['', '', '', '', '', 'hello']);
  t.is(it.loop.stale, 5);
});

ofRings('one that another handler gives memory of its own has its bytes there', async (t) => {
  const it = stage(t);
  const all = await pairs(t, it, 6);
  const users = firstDoes(all, (first) => {
    for (const { connection } of all) if (connection !== first) connection.memory?.useOwn(true);
  });
  const own = new Set<number>();
  for (const [at, { connection }] of all.entries()) {
    const user = users[at] as Witness;
    const take = user.onData.bind(user);
    user.onData = (chunk) => {
      take(chunk);
      if (connection.memory?.keep() !== undefined) own.add(at);
    };
  }
  for (const { socket } of all) socket.write('hello');
  await waitFor('all bytes', () => users.every(({ text }) => text === 'hello') || undefined);
  t.is(own.size, 5);
});

ofRings('a handler that fails costs the others nothing', async (t) => {
  const it = stage(t);
  const all = await pairs(t, it, 6);
  const failures: unknown[] = [];
  process.setUncaughtExceptionCaptureCallback((error) => failures.push(error));
  t.teardown(() => process.setUncaughtExceptionCaptureCallback(null));
  const users = firstDoes(all, () => {
    throw new Error('a fault');
  });
  for (const { socket } of all) socket.write('hello');
  await waitFor('all bytes', () => users.every(({ text }) => text === 'hello') || undefined);
  t.deepEqual(failures.map(String), ['Error: a fault']);
});

ofRings('what a client does not read yet waits, and the others go on', async (t) => {
  const it = stage(t);
  const all = await pairs(t, it, 8);
  const piece = 'x'.repeat(16_000);
  const written = all.map(() => 0);
  const users = all.map(({ connection, socket }, at) => {
    const user = new Witness();
    user.onData = () => {
      for (let count = 0; count < 400; count++) {
        written[at] = (written[at] ?? 0) + piece.length;
        connection.write(piece, 'latin1');
      }
    };
    connection.client = user;
    if (at % 2 === 0) socket.pause();
    return user;
  });
  for (const { socket } of all) socket.write('go');
  await waitFor('the readers', () => all.every(({ received }, at) => at % 2 === 0 || received().length === 6_400_000) || undefined);
  t.true(all.every(({ connection }, at) => at % 2 === 1 || connection.writableLength > 0));
  for (const { socket } of all) socket.resume();
  await waitFor('the others', () => all.every(({ received }, at) => received().length === written[at]) || undefined);
  t.true(users.every(({ seen }) => !seen.includes('close')));
});

for (const [name, end] of [
  ['end', (connection: Connection) => connection.end()],
  ['destroySoon', (connection: Connection) => connection.destroySoon()],
  ['destroy', (connection: Connection) => connection.destroy()],
] as const) {
  ofRings(`what is written right before ${name} arrives`, async (t) => {
    const it = stage(t);
    const all = await pairs(t, it, 6);
    for (const { connection } of all) {
      const user = new Witness();
      user.onData = () => {
        connection.write('bye ', 'latin1');
        connection.write(Buffer.from('bye'));
        end(connection);
      };
      connection.client = user;
    }
    const ends = all.map(async ({ socket }) => once(socket, 'end'));
    for (const { socket } of all) socket.write('hello');
    await Promise.all(ends);
    t.deepEqual(new Set(all.map(({ received }) => received())), new Set(['bye bye']));
  });
}

ofRings('a client that resets its connection ends no other', async (t) => {
  const it = stage(t);
  const all = await pairs(t, it, 6);
  for (const { connection } of all) connection.client = echo(connection, ['text']);
  const gone = new Witness();
  const [first, ...others] = all as [Pair, ...Pair[]];
  first.connection.client = gone;
  for (const { socket } of others) socket.write('hello');
  first.socket.resetAndDestroy();
  await waitFor('the others', () => others.every(({ received }) => received() === 'hello') || undefined);
  await waitFor('its end', () => gone.seen.includes('close') || undefined);
  t.like(first.connection.errored, { code: 'ECONNRESET' });
});

ofRings('calls that the system does not make are made later', async (t) => {
  const it = stage(t);
  const all = await pairs(t, it, MANY);
  for (const { connection } of all) connection.client = echo(connection, ['text', 'both']);
  const round = async (text: string): Promise<void> => {
    const before = all.map(({ received }) => received().length);
    for (const { socket } of all) socket.write(text);
    await waitFor('all', () => all.every(({ received }, at) => received().length === (before[at] ?? 0) + 2 * text.length) || undefined);
    t.true(all.every(({ received }, at) => received().slice(before[at]) === text.repeat(2)));
  };
  it.calls.most = 5;
  await round('some of them ');
  it.calls.most = Infinity;
  for (const error of [Errno.Again, Errno.Interrupted, Errno.NoBuffers]) {
    it.calls.fail('enterRing', error, 3);
    await round('none of them ');
  }
  await round('all of them ');
});

ofRings('without io_uring, and when it is switched off, each call is made by itself', async (t) => {
  const it = stage(t);
  const all = await pairs(t, it, 6);
  it.loop.useRing(false);
  t.false(it.loop.usesRing);
  const before = it.calls.together.length;
  for (const { connection } of all) connection.client = echo(connection, ['text']);
  for (const { socket } of all) socket.write('hello');
  await waitFor('all', () => all.every(({ received }) => received() === 'hello') || undefined);
  t.is(it.calls.together.length, before);
});

ofRings('clients that send more than one read takes are not reset by a response and a close', async (t) => {
  const it = stage(t);
  const all = await pairs(t, it, 6);
  for (const { connection } of all) {
    const user = new Witness();
    user.onData = () => {
      connection.write('no', 'latin1');
      connection.destroySoon();
    };
    connection.client = user;
  }
  const ends = all.map(async ({ socket }) => once(socket, 'close'));
  for (const { socket } of all) socket.write('x'.repeat(30_000));
  t.deepEqual((await Promise.all(ends)).flat(), Array(6).fill(false), 'an error has closed one');
  t.deepEqual(new Set(all.map(({ received }) => received())), new Set(['no']));
});
