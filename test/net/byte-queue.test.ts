import test from 'ava';
import { ByteQueue } from '../../core/net/byte-queue.js';

/** Bytes of the memory that the pieces hold on to. */
function heldBytes(pieces: readonly Buffer[]): number {
  let bytes = 0;
  for (const memory of new Set(pieces.map(({ buffer }) => buffer))) bytes += memory.byteLength;
  return bytes;
}

const PIECES: Readonly<Record<string, (at: number) => number>> = {
  'of one byte': () => 1,
  'of 100 bytes': () => 100,
  'of one byte and of 20,000 in turn': (at) => (at % 2 === 0 ? 1 : 20_000),
  'of 9,000 bytes': () => 9000,
};

for (const [what, lengthOf] of Object.entries(PIECES)) {
  for (const borrowed of [true, false]) {
    test(`pieces ${what}, ${borrowed ? 'borrowed' : 'given'}: in order, and in twice their memory`, (t) => {
      const queue = new ByteQueue();
      let sent = '';
      for (let at = 0, total = 0; total < 300_000; at++) {
        const piece = Buffer.allocUnsafeSlow(lengthOf(at)).fill(at);
        sent += piece.latin1Slice();
        queue.push(piece, borrowed);
        if (borrowed) piece.fill(0);
        total += piece.length;
      }
      const { length } = queue;
      const pieces = queue.pieces();
      t.true(heldBytes(pieces) <= 2 * length + 65_536, `${heldBytes(pieces)} for ${length}`);
      t.true(pieces.length < 200, `${pieces.length} pieces`);
      t.true(queue.takeWhole().latin1Slice() === sent);
      t.true(queue.isEmpty);
    });
  }
}

test('pieces that are taken one by one, while others come', (t) => {
  const queue = new ByteQueue();
  let sent = '';
  let taken = '';
  for (let at = 0; at < 5000; at++) {
    const piece = String(at);
    sent += piece;
    queue.push(Buffer.from(piece), at % 2 === 0);
    if (at % 3 === 0) taken += queue.shift()?.latin1Slice() ?? '';
  }
  for (let piece = queue.shift(); piece !== undefined; piece = queue.shift()) taken += piece.latin1Slice();
  t.is(taken, sent);
  t.is(queue.length, 0);
});
