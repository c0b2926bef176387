import type { ExecutionContext } from 'ava';
import { rawBackend, type Backend } from '../harness/backends.js';

/**
 * A backend whose response is the request's head, byte for byte, in the body. Only for requests without one.
 * @param fields lines of the response's head
 */
export function echoBackend(t: ExecutionContext, fields = ''): Promise<Backend> {
  return rawBackend(t, (socket) => {
    let input = '';
    socket.on('data', (chunk) => {
      input += chunk.toString('latin1');
      for (let end = input.indexOf('\r\n\r\n'); end >= 0; end = input.indexOf('\r\n\r\n')) {
        const head = input.slice(0, end + 2);
        input = input.slice(end + 4);
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${head.length}\r\n${fields}\r\n${head}`, 'latin1');
      }
    });
  });
}
