import { SocketOption, TcpOption, type SystemCalls } from './calls.js';
import { Level } from './levels.js';

/** Times of probes of TCP in milliseconds, and their number; 0: the system's. */
export interface KeepAliveProbes {
  readonly idle: number;
  readonly interval: number;
  readonly count: number;
}

/** The system counts whole seconds. @param probes undefined: none are sent */
export function setKeepAliveProbes(calls: SystemCalls, descriptor: number, probes: KeepAliveProbes | undefined): void {
  calls.setOption(descriptor, Level.Socket, SocketOption.KeepAlive, probes === undefined ? 0 : 1);
  if (probes === undefined) return;
  const { idle, interval, count } = probes;
  if (idle >= 1000) calls.setOption(descriptor, Level.Tcp, TcpOption.KeepIdle, Math.floor(idle / 1000));
  if (interval >= 1000) calls.setOption(descriptor, Level.Tcp, TcpOption.KeepInterval, Math.floor(interval / 1000));
  if (count > 0) calls.setOption(descriptor, Level.Tcp, TcpOption.KeepCount, count);
}
