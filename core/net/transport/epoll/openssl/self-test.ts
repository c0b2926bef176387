import { callError } from '../calls.js';
import type { TlsEngine } from './engine.js';
import { Control, NONE, SslError, type Handle } from './library.js';

/** A cipher that needs no certificate, of TLS 1.2. */
const ANONYMOUS = 'AECDH-AES128-SHA:@SECLEVEL=0';
const TLS_1_2 = 0x303n;
/** More than a handshake needs. */
const MOST_STEPS = 10;
const TEXT = Buffer.from('to itself');

/** Speaks TLS with itself over a pair of sockets. @throws Error if anything is otherwise than expected */
export function testTls(engine: TlsEngine): void {
  const { ssl, calls } = engine;
  const { c } = ssl;
  const pair = calls.socketPair();
  if (typeof pair === 'number') throw callError(pair, 'socketpair');
  const context = c.SSL_CTX_new(c.TLS_method());
  const sides: Handle[] = [];
  try {
    c.SSL_CTX_ctrl(context, Control.SetMaxVersion, TLS_1_2, NONE);
    ssl.assert(c.SSL_CTX_set_cipher_list(context, ANONYMOUS) === 1);
    for (const descriptor of pair) {
      const side = c.SSL_new(context);
      sides.push(side);
      const socket = c.BIO_new_socket(descriptor, 0);
      c.BIO_up_ref(socket);
      c.SSL_set0_rbio(side, socket);
      c.SSL_set0_wbio(side, socket);
    }
    const [server = NONE, client = NONE] = sides;
    c.SSL_set_accept_state(server);
    c.SSL_set_connect_state(client);
    const isDone = (side: Handle): boolean => {
      const result = c.SSL_do_handshake(side);
      ssl.assert(result === 1 || c.SSL_get_error(side, result) === SslError.WantRead);
      return result === 1;
    };
    let steps = 0;
    while (steps < MOST_STEPS && [isDone(client), isDone(server)].includes(false)) steps++;
    const buffer = Buffer.alloc(TEXT.length);
    const isSent = c.SSL_write(server, ssl.at(TEXT), BigInt(TEXT.length)) === TEXT.length;
    const isRead = c.SSL_read(client, ssl.at(buffer), BigInt(buffer.length)) === TEXT.length;
    const isEmpty = c.SSL_read(client, ssl.at(buffer), BigInt(buffer.length)) < 0 && c.SSL_get_error(client, -1) === SslError.WantRead;
    if (!isSent || !isRead || !isEmpty || !buffer.equals(TEXT)) throw new Error('it does not read what it has written');
  } finally {
    for (const side of sides) c.SSL_free(side);
    c.SSL_CTX_free(context);
    for (const descriptor of pair) calls.close(descriptor);
    c.ERR_clear_error();
  }
}
