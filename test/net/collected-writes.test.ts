/** Files that are closed together with the writes of a group of events. */
import { fstatSync, openSync } from 'node:fs';
import type * as Ffi from 'node:ffi';
import test from 'ava';
import { experimentalBuiltin } from '../../core/config/experimental-builtin.js';
import { SystemCalls } from '../../core/net/transport/epoll/calls.js';
import { CollectedWrites } from '../../core/net/transport/epoll/collected-writes.js';
import { Errno } from '../../core/net/transport/epoll/errno.js';
import { IoRing, MOST_CALLS } from '../../core/net/transport/epoll/io-ring.js';
import { OpenDescriptors } from '../../core/net/transport/open-descriptors.js';
import { hasEpoll } from '../harness/event-methods.js';

const ofLinux = hasEpoll ? test.serial : test.serial.skip;

/** Opens this file so many times. */
function openFiles(open: OpenDescriptors, count: number): number[] {
  return Array.from({ length: count }, () => {
    const descriptor = openSync(import.meta.filename, 'r');
    open.add(descriptor);
    return descriptor;
  });
}

function isOpen(descriptor: number): boolean {
  try {
    fstatSync(descriptor);
    return true;
  } catch {
    return false;
  }
}

// Numbers of descriptors are used again by other tests at the same time.
ofLinux('they are closed with the next writes, more of them than a ring takes before', (t) => {
  const calls = new SystemCalls(experimentalBuiltin('node:ffi', 'FFI') as typeof Ffi);
  const open = new OpenDescriptors();
  const ring = IoRing.open(calls, open);
  if (ring === undefined) return void t.pass('no ring here');
  const writes = new CollectedWrites(calls, ring, open);
  const files = openFiles(open, MOST_CALLS + 2);
  for (const file of files) writes.close(file);
  t.deepEqual([isOpen(files[0] as number), isOpen(files.at(-1) as number)], [false, true]);
  t.true(open.has(files.at(-1) as number), 'a thread that dies leaves none behind');
  writes.flush();
  t.false(files.some((file) => isOpen(file) || open.has(file)));
});

ofLinux('the ones that the ring has left out are closed one by one', (t) => {
  const calls = new SystemCalls(experimentalBuiltin('node:ffi', 'FFI') as typeof Ffi);
  const open = new OpenDescriptors();
  const results = new Int32Array(MOST_CALLS).fill(-Errno.Again);
  const ring = { results, close: () => undefined, submit: () => undefined } as unknown as IoRing;
  const writes = new CollectedWrites(calls, ring, open);
  const files = openFiles(open, 3);
  for (const file of files) writes.close(file);
  writes.flush();
  t.false(files.some((file) => isOpen(file) || open.has(file)));
});
