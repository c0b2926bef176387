import { connect } from 'node:net';

export interface Question {
  /** Address that the connection comes from. */
  readonly from?: string;
  /** What is sent at first. */
  readonly bytes?: string | Buffer;
}

/** Everything that a server sends until it closes the connection, as latin1. A reset ends it as well. */
export function reply(port: number, { from = '127.0.0.1', bytes = '' }: Question = {}): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connect({ port, host: '127.0.0.1', localAddress: from });
    socket.setEncoding('latin1').on('data', (text: string) => (received += text));
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(received));
    if (bytes.length > 0) socket.write(bytes, 'latin1');
  });
}
