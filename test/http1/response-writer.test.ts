import type { Socket } from 'node:net';
import test from 'ava';
import { ResponseWriter } from '../../core/http/client/h1/response-writer.js';
import type { Request } from '../../core/http/request/request.js';
import { ReadBuffers } from '../../core/net/buffers.js';

interface Wire {
  readonly writer: ResponseWriter;
  readonly request: Request;
  readonly writes: string[];
}

const ignore = (): void => undefined;

function wire(): Wire {
  const writes: string[] = [];
  const socket = {
    writableLength: 0,
    cork: ignore,
    uncork: ignore,
    write: (piece: string | Buffer) => writes.push(piece.toString('latin1')),
  };
  const request = { chunked: true, sendsBody: true, bytesSent: 0, finished: true, response: { hasTrailers: false } };
  return { writer: new ResponseWriter(socket as unknown as Socket, new ReadBuffers()), request: request as unknown as Request, writes };
}

const write = ({ writer, request }: Wire, text: string): void => writer.write(request, Buffer.from(text), 0, text.length, undefined);
const endOfTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('head, small chunks and the end of a tick are one write', async (t) => {
  const it = wire();
  it.writer.hold('head ');
  write(it, 'one');
  write(it, 'two');
  it.writer.end(it.request);
  await endOfTick();
  const all = 'head 3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n';
  t.deepEqual(it.writes, [all]);
  t.is(it.request.bytesSent, all.length);
});

test('a chunk does not wait longer than for the end of the tick, or for a flush', async (t) => {
  const it = wire();
  it.writer.hold('head ');
  write(it, 'one');
  await endOfTick();
  t.deepEqual(it.writes, ['head 3\r\none\r\n']);
  write(it, 'two');
  it.writer.flush(it.request);
  t.is(it.writes.length, 2);
  it.writer.end(it.request);
  t.deepEqual(it.writes.slice(1), ['3\r\ntwo\r\n', '0\r\n\r\n']);
});

test('the order is kept before a large chunk, and many small ones do not pile up', async (t) => {
  const it = wire();
  it.writer.hold('head ');
  write(it, 'one');
  const large = 'x'.repeat(20_000);
  write(it, large);
  for (let i = 0; i < 10; i++) write(it, 'y'.repeat(5000));
  t.true(it.writes.length > 4, 'they leave within the tick');
  it.writer.end(it.request);
  const small = `1388\r\n${'y'.repeat(5000)}\r\n`.repeat(10);
  t.is(it.writes.join(''), `head 3\r\none\r\n4e20\r\n${large}\r\n${small}0\r\n\r\n`);
});
