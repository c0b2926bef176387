/** A listening socket whose system calls fail when a test wants it, and what happens on its connections. */
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import type * as Ffi from 'node:ffi';
import type { ExecutionContext } from 'ava';
import { experimentalBuiltin } from '../../core/config/experimental-builtin.js';
import { ReadBuffers } from '../../core/net/buffers.js';
import { ReadMemory } from '../../core/net/read-memory.js';
import type { Connection, ConnectingUser } from '../../core/net/transport/connection.js';
import { SystemCalls } from '../../core/net/transport/epoll/calls.js';
import { DatagramCalls } from '../../core/net/transport/epoll/datagram-calls.js';
import { EpollListening } from '../../core/net/transport/epoll/epoll-listening.js';
import { EpollLoop } from '../../core/net/transport/epoll/loop.js';
import { Registers } from '../../core/net/transport/epoll/registers.js';
import { OpenDescriptors } from '../../core/net/transport/open-descriptors.js';
import { waitFor } from '../harness/wait.js';

type Call = 'enterRing' | 'accept' | 'receive' | 'send' | 'sendJoined' | 'sendFile' | 'control' | 'connectResult' | 'splice' | 'createPipe';
type DatagramCall = 'receive' | 'send' | 'sendTo' | 'sendCollected';

/** Calls that fail a number of times. */
export class Failures<Name> {
  readonly #failures: { call: Name; error: number; times: number; after: number }[] = [];

  /** @param after calls that do not fail before */
  add(call: Name, error: number, times = 1, after = 0): void {
    this.#failures.push({ call, error, times, after });
  }

  /** @returns the failure of this call; 0: there is none */
  next(call: Name): number {
    const failure = this.#failures.find((one) => one.call === call && one.times > 0);
    if (failure === undefined || failure.after-- > 0) return 0;
    failure.times--;
    return -failure.error;
  }
}

export class FailingDatagrams extends DatagramCalls {
  readonly failures = new Failures<DatagramCall>();
  /** Datagrams of each call. */
  readonly sent: number[] = [];
  /** Most that one call sends. */
  most = Infinity;

  override receive(descriptor: number): number {
    return this.failures.next('receive') || super.receive(descriptor);
  }
  override send(descriptor: number, bytes: Uint8Array): number {
    return this.failures.next('send') || super.send(descriptor, bytes);
  }
  override sendTo(descriptor: number, bytes: Uint8Array, name: Uint8Array, source: Uint8Array | undefined): number {
    return this.failures.next('sendTo') || super.sendTo(descriptor, bytes, name, source);
  }
  override sendCollected(descriptor: number, from: number, count: number): number {
    const result = this.failures.next('sendCollected') || super.sendCollected(descriptor, from, Math.min(count, this.most));
    this.sent.push(result);
    return result;
  }
}

/** Lets one call fail a number of times. */
export class FailingCalls extends SystemCalls {
  readonly failures = new Failures<Call>();
  readonly failingDatagrams: FailingDatagrams;

  constructor(ffi: typeof Ffi) {
    super(ffi);
    this.failingDatagrams = new FailingDatagrams(ffi, new Registers());
  }

  override get datagrams(): FailingDatagrams {
    return this.failingDatagrams;
  }

  fail(call: Call, error: number, times = 1, after = 0): void {
    this.failures.add(call, error, times, after);
  }

  #of(call: Call): number {
    return this.failures.next(call);
  }

  override accept(descriptor: number): number {
    return this.#of('accept') || super.accept(descriptor);
  }
  override receive(descriptor: number, buffer: Uint8Array): number {
    return this.#of('receive') || super.receive(descriptor, buffer);
  }
  override send(descriptor: number, bytes: Uint8Array): number {
    return this.#of('send') || super.send(descriptor, bytes);
  }
  override sendJoined(descriptor: number, length: number): number {
    return this.#of('sendJoined') || super.sendJoined(descriptor, length);
  }
  override sendFile(descriptor: number, file: number, from: number, count: number): number {
    return this.#of('sendFile') || super.sendFile(descriptor, file, from, count);
  }
  override control(epoll: number, operation: number, descriptor: number, eventAt: bigint): number {
    return this.#of('control') || super.control(epoll, operation, descriptor, eventAt);
  }
  /** Bytes of each call that moved some. */
  readonly spliced: number[] = [];

  override splice(from: number, to: number, count: number): number {
    const moved = this.#of('splice') || super.splice(from, to, count);
    if (moved > 0) this.spliced.push(moved);
    return moved;
  }
  override createPipe(): readonly [number, number] | number {
    return this.#of('createPipe') || super.createPipe();
  }
  /** Calls that were made together, of each time. */
  readonly together: number[] = [];

  override enterRing(descriptor: number, count: number, least: number): number {
    this.together.push(count);
    return this.#of('enterRing') || super.enterRing(descriptor, Math.min(count, this.most), least);
  }
  /** Most calls that the system makes of those together. */
  most = Infinity;

  override connectResult(descriptor: number): number {
    return this.#of('connectResult') || super.connectResult(descriptor);
  }
}

export const openFiles = (): number => readdirSync('/proc/self/fd').length;

/** Writes down what happens on a connection. */
export class Witness implements ConnectingUser {
  readonly seen: string[] = [];
  text = '';

  onConnect(): void {
    this.seen.push('connected');
  }
  onError({ code }: NodeJS.ErrnoException): void {
    this.seen.push(`error ${code}`);
  }
  onData(chunk: Buffer): void {
    this.text += chunk.toString('latin1');
  }
  onEnd(): void {
    this.seen.push('end');
  }
  onClose(): void {
    this.seen.push('close');
  }
  onDrain(): void {
    this.seen.push('drain');
  }
}

export interface Stage {
  readonly calls: FailingCalls;
  readonly loop: EpollLoop;
  readonly port: number;
  readonly accepted: Connection[];
  readonly failures: string[];
  readonly witness: Witness;
  readonly listening: EpollListening;
}

/** A listening socket by system calls whose connections have one witness. */
export function stage(t: ExecutionContext): Stage {
  const calls = new FailingCalls(experimentalBuiltin('node:ffi', 'FFI') as typeof Ffi);
  const loop = new EpollLoop(calls, new OpenDescriptors());
  const accepted: Connection[] = [];
  const failures: string[] = [];
  const witness = new Witness();
  const buffers = new ReadBuffers();
  const listening = EpollListening.open(
    loop,
    {
      host: '127.0.0.1',
      port: 0,
      path: undefined,
      ipv6Only: false,
      shared: false,
      descriptor: undefined,
      backlog: 16,
      secure: false,
      buffer: buffers.shared,
    },
    {
      onAccepted: (connection) => {
        connection.client = witness;
        accepted.push(connection);
      },
      onAcceptFailed: (error) => failures.push((error as NodeJS.ErrnoException).code ?? ''),
      newMemory: () => new ReadMemory(buffers),
    },
  );
  t.teardown(() => {
    for (const connection of accepted) connection.destroy();
    listening.close();
  });
  const port = calls.localAddress(listening.descriptor ?? -1)?.port ?? 0;
  return { calls, loop, port, accepted, failures, witness, listening };
}

export async function client(t: ExecutionContext, port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

export const acceptedOf = ({ accepted }: Stage): Promise<Connection> => waitFor('a connection', () => accepted.at(-1));
