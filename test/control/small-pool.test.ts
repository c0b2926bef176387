import { Writable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { writeToStream } from 'mqtt-packet';
import { keepPoolSmall } from '../../core/api/small-pool.js';

/** What is there once garbage is collected. */
function bufferBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().arrayBuffers;
}

test('packets of a thousand lengths, sent now and then, leave little memory behind', (t) => {
  keepPoolSmall();
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  writeToStream.cacheNumbers = false;
  const packet = { cmd: 'publish', topic: 't', qos: 0, dup: false, retain: false } as const;
  const before = bufferBytes();
  for (let length = 0; length < 1000; length++) {
    writeToStream({ ...packet, payload: 'x'.repeat(length) }, nowhere);
    // Whatever else uses the pool in between.
    for (let at = 0; at < 20; at++) Buffer.from('y'.repeat(4000));
  }
  const megabytes = (bufferBytes() - before) / 1024 ** 2;
  t.true(megabytes < 8, `${megabytes} MB`);
});
