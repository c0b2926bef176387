// Opens keep-alive connections, sends one request on each, and holds them: node idle-client.js PORT CONNECTIONS [tls]
// Sends its parent `{ open, failed }` when all are open, and again for each message that it gets.
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** Connections that are being opened at the same time: one after the other is slow, all at once overruns the listen queue. */
const AT_ONCE = 16;

const [port = 0, wanted = 0] = process.argv.slice(2, 4).map(Number);
const isSecure = process.argv[4] === 'tls';
let started = 0;
let open = 0;
let failed = 0;

function report(): void {
  process.send?.({ open, failed });
}

function openNext(): void {
  if (started === wanted) {
    if (open + failed === wanted) report();
    return;
  }
  started += 1;
  let answered = false;
  let received = '';
  const ask = (): boolean => socket.write('GET /1k HTTP/1.1\r\nHost: bench\r\n\r\n');
  const at = { port, host: '127.0.0.1' };
  const socket: Socket = isSecure ? connectTls({ ...at, rejectUnauthorized: false }, ask) : connect(at, ask);
  socket.on('data', (chunk) => {
    if (answered) return;
    received += chunk.toString('latin1');
    const end = received.indexOf('\r\n\r\n');
    if (end < 0 || received.length < end + 4 + 1024) return;
    answered = received.startsWith('HTTP/1.1 200 ');
    received = '';
    if (!answered) socket.destroy();
    else {
      open += 1;
      openNext();
    }
  });
  socket.on('error', () => socket.destroy());
  socket.on('close', () => {
    failed += 1;
    if (answered) open -= 1;
    else openNext();
  });
}

process.on('message', report);
for (let i = 0; i < Math.min(AT_ONCE, wanted); i++) openNext();
