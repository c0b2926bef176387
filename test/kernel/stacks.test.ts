/** Stacks are made when a log needs them: the source maps that they need hold up a thread for a second. */
import test from 'ava';
import { errorOf, stackOf } from '../../core/contract/thrown.js';
import { callError } from '../../core/net/transport/epoll/calls.js';

/** @returns what undoes changes of it */
function keepMaker(): () => void {
  const before = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
  return () => {
    if (before === undefined) Reflect.deleteProperty(Error, 'prepareStackTrace');
    else Object.defineProperty(Error, 'prepareStackTrace', before);
  };
}

/** Stacks that are made meanwhile. */
function stacksOf(work: () => void): number {
  const restore = keepMaker();
  let made = 0;
  Error.prepareStackTrace = (error) => `${String(error)} ${made++}`;
  try {
    work();
  } finally {
    restore();
  }
  return made;
}

test.serial('a rejected change makes no stack, until a log has it', (t) => {
  const error = new TypeError('wrong');
  t.is(
    stacksOf(() => t.is(errorOf(error), error)),
    0,
  );
  t.is(
    stacksOf(() => t.regex(stackOf(error), /^TypeError: wrong/)),
    1,
  );
});

test.serial('a connection that cannot be made makes no stack, though streams of Node.js read it', (t) => {
  t.is(
    stacksOf(() => t.is(callError(-2, 'connect', { address: '/run/a.sock' }).stack, 'Error: connect ENOENT /run/a.sock')),
    0,
  );
});

test.serial('the message stands in for a stack that is not a string, or that throws', (t) => {
  t.teardown(keepMaker());
  Error.prepareStackTrace = () => ({});
  t.is(stackOf(new Error('first')), 'first');
  Error.prepareStackTrace = () => {
    throw new Error('never');
  };
  t.is(stackOf(new Error('second')), 'second');
  Error.prepareStackTrace = String;
  const lying = Object.defineProperty(new Error('third'), 'stack', { get: () => ({}) });
  t.is(errorOf(lying).message, 'a value was thrown that cannot be shown');
});
