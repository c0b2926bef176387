// Sends every datagram back to where it came from: node datagram-echo.js PORT
import { createSocket } from 'node:dgram';

/** The look-up of an address that is none of a name, without the turn of the event loop that Node's takes. */
const socket = createSocket({ type: 'udp4', lookup: (address, _, found) => found(null, address, 4) });
socket.on('message', (bytes, { address, port }) => socket.send(bytes, port, address));
socket.bind(Number(process.argv[2]), '127.0.0.1', () => process.send?.('ready'));
