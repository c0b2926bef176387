import { chownSync } from 'node:fs';
import { bindProbe } from '../net/bind-probe.js';
import { bindWhenLeft, LEAVING_MS } from '../net/left-address.js';
import type { Finding } from '../master/master-parent.js';
import { SocketFile } from '../net/socket-file.js';
import { ELSEWHERE, type SocketRequest } from '../net/socket-source.js';
import { ActivatedSockets } from './activated-sockets.js';
import type { PassedDescriptor } from './activation.js';
import { adoptSocket, bindSocket, bindUnixSocket, type RawSocket } from '../net/transport/raw-socket.js';
import type { GivenSocket, Owner } from './protocol.js';

interface HeldSocket {
  readonly raw: RawSocket;
  readonly request: SocketRequest;
  /** Where it is bound: those of one address have the same. */
  readonly place: string;
  /** Of a unix socket. */
  file: SocketFile | undefined;
  /** It came from the previous parent, or is of a server that has crashed, and is not used yet. */
  isRest: boolean;
}

/** Sockets that the workers of one number have not used yet. */
const FIRST_WORKER = 0;
/** Of a unix socket whose mode the configuration does not name. */
const UNIX_MODE = 0o755;

/**
 * Sockets that stay bound, independent of their listeners. All of an address are bound by this process: Linux wants one user for
 * all sockets with SO_REUSEPORT.
 */
export class HeldSockets {
  /** By key, then by the number of the worker. */
  readonly #held = new Map<string, Map<number, HeldSocket>>();
  /** When addresses were left (epoch milliseconds): workers empty the queues of their sockets first, and sessions over UDP go on. */
  readonly #left = new Map<string, number>();

  readonly #activated: ActivatedSockets;

  /**
   * @param inherited from the parent before
   * @param passed by systemd
   */
  constructor(
    private readonly owner: Owner,
    inherited: readonly GivenSocket[],
    passed: readonly PassedDescriptor[],
  ) {
    this.#activated = new ActivatedSockets(passed);
    for (const { request, worker, descriptor } of inherited) {
      const raw = adoptSocket(request, descriptor);
      // As long as it is not certain that its server serves, files are those of the parent before.
      const socket: HeldSocket = { raw, request, place: placeOf(request), file: undefined, isRest: true };
      this.#held.set(request.key, (this.#held.get(request.key) ?? new Map<number, HeldSocket>()).set(worker, socket));
    }
  }

  /** All of them, for another parent. */
  get given(): GivenSocket[] {
    return [...this.#held.values()].flatMap((sockets) =>
      Array.from(sockets, ([worker, { request, raw }]) => ({ request, worker, descriptor: raw.fd })),
    );
  }

  /** Sockets of systemd, for another parent. */
  get passed(): readonly PassedDescriptor[] {
    return this.#activated.passed;
  }

  /** True: systemd has bound that unix socket. */
  isActivated(path: string): boolean {
    return this.#activated.hasPath(path);
  }

  /** Another parent has them as well: files of unix sockets stay. */
  leaveFiles(): void {
    for (const sockets of this.#held.values()) for (const socket of sockets.values()) socket.file = undefined;
  }

  /** Another server is started: sockets it does not ask for are closed when it serves. */
  rest(): void {
    for (const sockets of this.#held.values()) for (const socket of sockets.values()) socket.isRest = true;
  }

  /** The server serves. Files of unix sockets are this parent's, and unused sockets are closed. @returns messages about sockets of systemd */
  releaseRest(): readonly Finding[] {
    for (const [key, sockets] of this.#held) {
      for (const [worker, socket] of sockets) {
        if (socket.request.path !== undefined) socket.file ??= SocketFile.of(socket.request.path);
        if (!socket.isRest) continue;
        this.#close(socket);
        sockets.delete(worker);
      }
      if (sockets.size === 0) this.#held.delete(key);
    }
    return this.#activated.takeFindings();
  }

  /** Binds an address, unless it is held. @throws Error of the system */
  async reserve(request: SocketRequest): Promise<void> {
    if (this.#held.has(request.key) || (await this.#activated.find(request)) !== undefined) return;
    const place = placeOf(request);
    // SO_REUSEPORT would let a second server bind unnoticed.
    const left = this.#left.get(place);
    const probe = (): Promise<void> => bindProbe(request, left !== undefined);
    if (!this.#holds(place)) await bindWhenLeft(probe, () => left !== undefined && Date.now() < left + LEAVING_MS);
    this.#open(request, FIRST_WORKER);
  }

  /**
   * The socket of a worker. One of systemd is for all of them, but for datagrams: those of one client have to come to one worker.
   * @throws Error of the system
   */
  async open(request: SocketRequest, worker: number): Promise<RawSocket | typeof ELSEWHERE> {
    const activated = this.#held.has(request.key) ? undefined : await this.#activated.find(request);
    if (activated !== undefined) return request.udp && worker !== FIRST_WORKER ? ELSEWHERE : activated.raw;
    await this.reserve(request);
    return this.#open(request, worker);
  }

  #open(request: SocketRequest, worker: number): RawSocket {
    const sockets = this.#held.get(request.key) ?? new Map<number, HeldSocket>();
    this.#held.set(request.key, sockets);
    const known = sockets.get(worker);
    if (known !== undefined) {
      known.isRest = false;
      return known.raw;
    }
    try {
      const socket = this.#bind(request);
      sockets.set(worker, socket);
      return socket.raw;
    } finally {
      if (sockets.size === 0) this.#held.delete(request.key);
    }
  }

  release(key: string): void {
    for (const socket of this.#held.get(key)?.values() ?? []) this.#close(socket);
    this.#held.delete(key);
  }

  /** Closes those of the workers from that number on. */
  releaseWorkers(from: number): void {
    for (const [key, sockets] of this.#held) {
      for (const [worker, socket] of sockets) {
        if (worker < from) continue;
        this.#close(socket);
        sockets.delete(worker);
      }
      if (sockets.size === 0) this.#held.delete(key);
    }
  }

  close(): void {
    this.releaseWorkers(FIRST_WORKER);
  }

  #close({ raw, file, place }: HeldSocket): void {
    raw.close();
    this.#left.set(place, Date.now());
    try {
      file?.remove();
    } catch {
      // Its folder is gone, and the file with it.
    }
  }

  #holds(place: string): boolean {
    return [...this.#held.values()].some((sockets) => [...sockets.values()].some((socket) => socket.place === place));
  }

  #bind(request: SocketRequest): HeldSocket {
    const { path, mode } = request;
    const place = placeOf(request);
    if (path === undefined) return { raw: bindSocket(request), request, place, file: undefined, isRest: false };
    const file = SocketFile.make(path);
    try {
      const raw = bindUnixSocket(file.privatePath);
      chownSync(file.privatePath, this.owner.uid, this.owner.gid);
      file.publish(mode ?? UNIX_MODE);
      return { raw, request, place, file, isRest: false };
    } catch (error) {
      file.abandon();
      throw error;
    }
  }
}

function placeOf({ path, host, port, udp }: SocketRequest): string {
  return path ?? `${host} ${port} ${udp ? 'udp' : 'tcp'}`;
}
