import type { Socket } from 'node:net';
import { rawBackend, type Backend } from '../harness/backends.js';
import type { Scope } from '../harness/scope.js';

/** A memcached with these values, as far as tests need it. Keys with `slow` are sent byte by byte; for `broken` there is nonsense. */
export function memcached(t: Scope, values: Map<string, string>, port: number): Promise<Backend> {
  return rawBackend(
    t,
    (socket) => {
      let input = '';
      socket.setNoDelay(true);
      socket.on('data', (bytes) => {
        input += bytes.toString('latin1');
        const [line, got, stored = '', length] = /^(?:get (\S+)|set (\S+) 0 0 (\d+))\r\n/.exec(input) ?? [];
        const whole = (line?.length ?? Infinity) + (length === undefined ? 0 : Number(length) + 2);
        if (input.length < whole) return;
        const value = input.slice(line?.length ?? 0, whole - 2);
        input = input.slice(whole);
        if (got === undefined) {
          values.set(stored, value);
          socket.write('STORED\r\n');
        } else respond(socket, got, values.get(got));
      });
    },
    port,
  );
}

function respond(socket: Socket, key: string, value: string | undefined): void {
  if (key.endsWith('broken')) socket.write('nonsense\r\n');
  else if (value === undefined) socket.write('END\r\n');
  else {
    const response = `VALUE ${key} 0 ${value.length}\r\n${value}\r\nEND\r\n`;
    if (key.endsWith('slow')) sendSlowly(socket, response);
    else socket.write(response);
  }
}

function sendSlowly(socket: Socket, text: string): void {
  socket.write(text.slice(0, 1));
  if (text.length > 1) setImmediate(sendSlowly, socket, text.slice(1));
}
