import type { SendHandle } from 'node:child_process';
import { systemError } from '../net/socket-error.js';
import { GrantedFiles, type FileContents } from '../config/granted-files.js';
import type { SendableSocket } from '../master/bound-sockets.js';
import type { ReloadState } from '../master/reload-file.js';
import type { Finding, MasterParent } from '../master/master-parent.js';
import { ELSEWHERE, type SocketRequest } from '../net/socket-source.js';
import { CHILD_MARK, CRASH_MARK } from './marks.js';
import type { Program } from '../upgrade/program.js';
import { UPGRADE_SOCKET } from '../upgrade/upgrade-mark.js';
import type { FromServer, ParentRequest, ParentResponse, UpgradeNews } from './protocol.js';

interface Received {
  readonly handle: ReceivedHandle | undefined;
  readonly files: FileContents | undefined;
  readonly isRefused: boolean;
  readonly isElsewhere: boolean;
  readonly findings: readonly Finding[];
  readonly pid: number | undefined;
}

/** A handle of Node.js that came from the parent. */
interface ReceivedHandle {
  readonly fd: number;
  close(): void;
}

/** A new program that the parent has started. */
class ParentProgram implements Program {
  pid: number | undefined;
  said = '';
  readonly #end = Promise.withResolvers<string>();

  constructor(readonly kill: () => void) {}

  get ended(): Promise<string> {
    return this.#end.promise;
  }

  take(news: UpgradeNews): void {
    if (news.kind === 'upgrade said') this.said += news.text;
    else this.end(news.how);
  }

  end(how: string): void {
    this.#end.resolve(how);
  }

  leave(): void {
    // The parent does.
  }
}

/** A server's side of the channel to its parent. */
export class ParentLink implements MasterParent {
  readonly #waiting = new Map<number, PromiseWithResolvers<Received>>();
  /**
   * Handles of sockets that workers listen on, and close. This thread must not: the number may be that of another socket by then. They are
   * kept, so that Node.js does not either.
   */
  readonly #passedOn: ReceivedHandle[] = [];
  #requests = 0;
  readonly granted = new GrantedFiles();
  #program: ParentProgram | undefined;

  /** How the server before has crashed, in whose place this one is: `SIGSEGV 123`, the signal and its process. */
  readonly crash = process.env[CRASH_MARK];

  /** Called when the parent was killed. */
  onLost: () => void = () => process.exit(1);

  /** The parent of this process; undefined: it has none. */
  static connect(): ParentLink | undefined {
    if (process.env[CHILD_MARK] === undefined) return undefined;
    delete process.env[CHILD_MARK];
    return new ParentLink();
  }

  private constructor() {
    delete process.env[CRASH_MARK];
    process.on('message', (message: ParentResponse | UpgradeNews, handle: unknown) => {
      if (message.kind === 'response') this.#take(message, handle as ReceivedHandle | undefined);
      else this.#program?.take(message);
    });
    process.once('disconnect', () => {
      for (const waiting of this.#waiting.values()) waiting.reject(systemError('EPIPE'));
      this.#waiting.clear();
      this.onLost();
    });
    // The channel keeps the process only while something is asked.
    process.channel?.unref();
  }

  async reserve(socket: SocketRequest): Promise<boolean> {
    const { isRefused } = await this.#ask({ kind: 'reserve', socket });
    return !isRefused;
  }

  release(key: string): void {
    this.#tell({ kind: 'release', key });
  }

  async open(socket: SocketRequest, worker: number): Promise<SendableSocket | typeof ELSEWHERE | undefined> {
    const { handle, isElsewhere } = await this.#ask({ kind: 'socket', socket, worker });
    if (isElsewhere) return ELSEWHERE;
    if (handle === undefined) return undefined;
    return {
      descriptor: handle.fd,
      handle: handle as unknown as SendHandle,
      passOn: () => void this.#passedOn.push(handle),
      close: () => handle.close(),
    };
  }

  async releaseWorkers(from: number): Promise<void> {
    // Without a parent they are not held.
    await this.#ask({ kind: 'release workers', from }).catch(() => undefined);
  }

  async writePidFile(path: string): Promise<void> {
    await this.#ask({ kind: 'pid file', path });
  }

  removePidFile(path: string): void {
    this.#tell({ kind: 'remove pid file', path });
  }

  writeReloadState(state: Omit<ReloadState, 'pid'>): void {
    this.#tell({ kind: 'reloaded', state });
  }

  /** Starts the command of this server again, as root. @param environment has the socket over which the servers speak */
  startProgram(environment: Readonly<Record<string, string>>): Program {
    const program = new ParentProgram(() => void this.#ask({ kind: 'end upgrade' }).catch(() => undefined));
    this.#program = program;
    this.#ask({ kind: 'upgrade', path: environment[UPGRADE_SOCKET] ?? '' }).then(
      ({ pid }) => (program.pid = pid),
      (error: unknown) => program.end(`cannot be started: ${(error as Error).message}`),
    );
    return program;
  }

  async leave(): Promise<void> {
    await this.#ask({ kind: 'leave' }).catch(() => undefined);
  }

  async releaseRest(): Promise<readonly Finding[]> {
    return this.#ask({ kind: 'release rest' }).then(
      ({ findings }) => findings,
      () => [],
    );
  }

  async prepare(): Promise<void> {
    const { files } = await this.#ask({ kind: 'prepare' });
    this.granted.contents = files ?? new Map();
  }

  #ask(request: ParentRequest): Promise<Received> {
    const id = ++this.#requests;
    const waiting = Promise.withResolvers<Received>();
    this.#waiting.set(id, waiting);
    process.channel?.ref();
    this.#tell({ kind: 'request', id, request });
    return waiting.promise;
  }

  #tell(message: FromServer): void {
    if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
  }

  #take(
    { id, error, files, pid, isRefused = false, isElsewhere = false, findings = [] }: ParentResponse,
    handle: ReceivedHandle | undefined,
  ): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) process.channel?.unref();
    if (error === undefined) waiting?.resolve({ handle, files, pid, isRefused, isElsewhere, findings });
    else waiting?.reject(/^E[A-Z0-9]+$/.test(error) ? systemError(error) : new Error(error));
  }
}
