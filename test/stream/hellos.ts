/** First messages of TLS clients, as bytes. */
import { Duplex } from 'node:stream';
import { connect, type ConnectionOptions } from 'node:tls';

/** What a client of Node's sends first. */
export function helloOf(options: ConnectionOptions): Promise<Buffer> {
  return new Promise((resolve) => {
    const wire = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer) => resolve(chunk),
    });
    connect({ socket: wire, ...options }).on('error', () => undefined);
  });
}

/** The same message in records of `size` bytes. */
export function inRecords(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size);
    records.push(Buffer.from([0x16, 3, 1, part.length >> 8, part.length & 255]), part);
  }
  return Buffer.concat(records);
}

const word = (value: number): [number, number] => [value >> 8, value & 255];

/** A record with a hello of TLS 1.2 that has these extensions. */
export function helloWith(extensions: readonly (readonly [type: number, body: readonly number[]])[]): Buffer {
  const list = extensions.flatMap(([type, body]) => [...word(type), ...word(body.length), ...body]);
  const body = [3, 3, ...Array.from({ length: 32 }, () => 7), 0, ...word(2), 0x13, 1, 1, 0, ...word(list.length), ...list];
  const message = [1, 0, ...word(body.length), ...body];
  return Buffer.from([0x16, 3, 1, ...word(message.length), ...message]);
}

/** A list with its length in front. */
export const vector = (...bytes: readonly number[]): number[] => [...word(bytes.length), ...bytes];
