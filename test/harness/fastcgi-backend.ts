/** A FastCGI application for the server under test to talk to. It reads requests with a reader of its own, written after the specification. */
import type { Socket } from 'node:net';
import { type Backend, rawBackend } from './backends.js';
import type { Scope } from './scope.js';

const STDIN = 5;
const PARAMS = 4;

/** A request whose records have arrived to their end. */
export interface FastcgiRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly body: string;
  readonly keeps: boolean;
}

/** Responds with bytes, see {@link record}; `close` ends the connection after them. */
export type FastcgiHandler = (request: FastcgiRequest) => { readonly bytes: Buffer; readonly close?: boolean };

export interface FastcgiBackend extends Backend {
  readonly requests: readonly FastcgiRequest[];
}

/** One record of request 1. */
export function record(type: number, content: string | Buffer, padding = 0): Buffer {
  const bytes = Buffer.from(content);
  const head = Buffer.from([1, type, 0, 1, bytes.length >> 8, bytes.length & 0xff, padding, 0]);
  return Buffer.concat([head, bytes, Buffer.alloc(padding)]);
}

export const stdout = (text: string, padding = 0): Buffer => record(6, text, padding);
export const stderr = (text: string): Buffer => record(7, text);
export const end = (protocolStatus = 0): Buffer => record(3, Buffer.from([0, 0, 0, 0, protocolStatus, 0, 0, 0]));

/** A whole response of one record. */
export const response = (text: string): Buffer => Buffer.concat([stdout(text), record(6, ''), end()]);

export async function fastcgiBackend(t: Scope, handler: FastcgiHandler): Promise<FastcgiBackend> {
  const requests: FastcgiRequest[] = [];
  const backend = await rawBackend(t, (socket) => serve(socket, requests, handler));
  return Object.assign(backend, { requests });
}

function serve(socket: Socket, requests: FastcgiRequest[], handler: FastcgiHandler): void {
  let input = Buffer.alloc(0);
  let params = Buffer.alloc(0);
  let body = '';
  let keeps = false;
  socket.on('data', (bytes: Buffer) => {
    input = Buffer.concat([input, bytes]);
    for (;;) {
      if (input.length < 8) return;
      const length = input.readUInt16BE(4);
      const whole = 8 + length + input.readUInt8(6);
      if (input.length < whole) return;
      const type = input.readUInt8(1);
      const content = input.subarray(8, 8 + length);
      input = input.subarray(whole);
      if (type === 1) keeps = (content.readUInt8(2) & 1) === 1;
      else if (type === PARAMS) params = Buffer.concat([params, content]);
      else if (type === STDIN && length > 0) body += content.toString('latin1');
      else if (type === STDIN) {
        const request = { params: pairs(params), body, keeps };
        params = Buffer.alloc(0);
        body = '';
        requests.push(request);
        const { bytes: answer, close = !keeps } = handler(request);
        socket.write(answer);
        if (close) socket.end();
      }
    }
  });
}

function pairs(bytes: Buffer): Record<string, string> {
  const result: Record<string, string> = {};
  let at = 0;
  const length = (): number => {
    const first = bytes.readUInt8(at);
    if (first < 128) return bytes.readUInt8(at++);
    at += 4;
    return bytes.readUInt32BE(at - 4) & 0x7fffffff;
  };
  while (at < bytes.length) {
    const name = length();
    const value = length();
    result[bytes.latin1Slice(at, at + name)] = bytes.latin1Slice(at + name, at + name + value);
    at += name + value;
  }
  return result;
}
