import type { Socket } from 'node:dgram';

/** Its used parts. */
export interface DatagramHandle {
  readonly fd?: number;
}

/** A socket for datagrams has its handle in a property whose key is a symbol of Node.js. Undefined: this Node.js looks otherwise. */
export function datagramHandle(socket: Socket): DatagramHandle | undefined {
  const key = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'state symbol');
  const state = key && (socket as unknown as Record<symbol, { readonly handle?: DatagramHandle | null }>)[key];
  return state?.handle ?? undefined;
}
