import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { ELSEWHERE, type SocketRequest } from '../net/socket-source.js';
import type { FileContents } from '../config/granted-files.js';
import { removePidFile, writePidFile } from '../master/pid-file.js';
import { removeReloadFile, writeReloadFile, type ReloadState } from '../master/reload-file.js';
import type { PassedDescriptor } from './activation.js';
import { UPGRADE_SOCKET } from '../upgrade/upgrade-mark.js';
import { HeldSockets } from './held-sockets.js';
import { CrashLog } from './crash-log.js';
import { Crashes, type ServerEnd } from './crashes.js';
import { CRASH_MARK } from './marks.js';
import { prepareAgain } from './preparation.js';
import type { FromServer, ParentStart, PreparedServer, ParentRequest, ParentResponse, UpgradeNews, GivenSocket } from './protocol.js';
import { SuccessorParent } from './successor.js';
import type { RawSocket } from '../net/transport/raw-socket.js';

const PASSED_ON = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const;
const ENDING: ReadonlySet<NodeJS.Signals> = new Set(['SIGTERM', 'SIGINT', 'SIGQUIT']);

/** Starter of the parent. */
export interface Starter {
  say(text: string): void;
  ready(): void;
  /** The server has ended. */
  ended(code: number): void;
}

/**
 * The process of root above a server that runs as another user: it binds sockets for it and passes signals on. It has no traffic, loads no
 * modules, and reads nothing but the messages of the server, of which it believes nothing.
 */
export class Parent {
  readonly #sockets: HeldSockets;
  #server: ChildProcess;
  readonly #crashes = new Crashes();
  readonly #log: CrashLog;
  /** Until the server is started again, and what does it. */
  #pause: NodeJS.Timeout | undefined;
  #startNow: (() => void) | undefined;
  /** A signal, or a new program, has ended the server, or will. */
  #isLeaving = false;
  #prepared: PreparedServer;
  #isAsked = false;
  /** The last crash, as {@link CRASH_MARK} names it. */
  #crash: string | undefined;
  /** Of the last configuration that took effect. */
  #errorLogs: PreparedServer['errorLogs'];
  #successor: SuccessorParent | undefined;
  /** That it has written. */
  readonly #pidFiles = new Set<string>();
  /** Resolves when every message so far is dealt with. */
  #turn: Promise<void> = Promise.resolve();

  constructor(
    private readonly start: ParentStart,
    private readonly starter: Starter,
    inherited: readonly GivenSocket[] = [],
    passed: readonly PassedDescriptor[] = [],
  ) {
    const { user, title, prepared } = start;
    this.#prepared = prepared;
    this.#errorLogs = prepared.errorLogs;
    this.#log = new CrashLog(user);
    this.#sockets = new HeldSockets(user, inherited, passed);
    process.title = `srv: parent process ${title}`;
    this.#server = this.#spawn({});
  }

  #spawn(more: Readonly<Record<string, string | undefined>>): ChildProcess {
    const { command, environment, user } = this.start;
    return spawn(process.execPath, [...process.execArgv, ...command], {
      ...user,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
      env: { ...process.env, ...environment, ...more },
    });
  }

  /** Does what the server asks for until it ends. */
  run(): void {
    for (const signal of PASSED_ON) process.on(signal, () => this.#pass(signal));
    this.#follow();
  }

  #follow(): void {
    this.#server.on('message', (message: FromServer) => void (this.#turn = this.#turn.then(() => this.#take(message))));
    this.#server.once('error', (error) => this.#cannotSpawn(error));
    this.#server.once('exit', (code, signal) => void this.#ended(code, signal));
  }

  #pass(signal: NodeJS.Signals): void {
    if (ENDING.has(signal)) this.#isLeaving = true;
    if (this.#server.kill(signal)) return;
    // It has crashed, and the next one has not started.
    if (this.#isLeaving) this.#end(0);
    else if (signal === 'SIGHUP') this.#startNow?.();
  }

  #cannotSpawn(error: Error): void {
    if (this.#server.pid !== undefined) return;
    this.starter.say(`srv: [emerg] the server cannot be started: ${error.message}\n`);
    this.#end(1);
  }

  /** Its earlier messages may still be on their way. */
  async #ended(code: number | null, signal: NodeJS.Signals | null): Promise<void> {
    if (this.#server.connected) await once(this.#server, 'disconnect');
    await this.#turn;
    const pause = this.#isLeaving ? undefined : this.#crashes.pauseAfter(signal);
    if (!this.#isLeaving) this.#report({ pid: this.#server.pid, code, signal }, pause);
    if (pause === undefined) return this.#end(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    this.#crash = this.#crashes.isRestarting ? this.#crash : `${signal} ${this.#server.pid}`;
    this.#startNow = () => this.#startAgain();
    this.#pause = setTimeout(this.#startNow, pause);
  }

  /** Once for each end, whatever comes next: the server that follows may not get as far as its log. */
  #report(end: ServerEnd, pause: number | undefined): void {
    const text = this.#crashes.describe(end, pause);
    if (text !== undefined) this.#log.alert(this.#errorLogs, text);
  }

  /** Clients wait in the queues of the sockets meanwhile. */
  #startAgain(): void {
    clearTimeout(this.#pause);
    this.#startNow = undefined;
    this.#sockets.rest();
    this.#crashes.started();
    // A parent that has replaced another one still has the socket of that upgrade.
    this.#server = this.#spawn({ [CRASH_MARK]: this.#crash, [UPGRADE_SOCKET]: undefined });
    this.#follow();
  }

  async #take(message: FromServer): Promise<void> {
    if ('say' in message) this.starter.say(message.say);
    else if ('ready' in message) this.starter.ready();
    else if (message.kind === 'release') this.#sockets.release(message.key);
    else if (message.kind === 'reloaded') this.#writeReloadState(message.state);
    else if (message.kind === 'remove pid file') this.#removePidFile(message.path);
    else await this.#respond(message.id, message.request);
  }

  async #respond(id: number, request: ParentRequest): Promise<void> {
    try {
      if (request.kind === 'upgrade') return await this.#send({ kind: 'response', id, pid: this.#startSuccessor(request.path) });
      if ('socket' in request && !this.#mayBind(request.socket)) return await this.#send({ kind: 'response', id, isRefused: true });
      if (request.kind === 'prepare') return await this.#send({ kind: 'response', id, files: await this.#prepare() });
      if (request.kind === 'release rest') this.#crashes.served();
      if (request.kind === 'release rest') return await this.#send({ kind: 'response', id, findings: this.#sockets.releaseRest() });
      const socket = await this.#fulfil(request);
      if (socket === ELSEWHERE) await this.#send({ kind: 'response', id, isElsewhere: true });
      else await this.#send({ kind: 'response', id }, socket);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      await this.#send({ kind: 'response', id, error: code ?? message });
    }
  }

  /** A unix socket takes the place of a file: the server must not choose which. */
  #mayBind({ path }: SocketRequest): boolean {
    return path === undefined || this.#prepared.sockets.has(path) || this.#sockets.isActivated(path);
  }

  /** @returns the socket that is asked for */
  async #fulfil(
    request: Exclude<ParentRequest, { kind: 'prepare' | 'upgrade' | 'release rest' }>,
  ): Promise<RawSocket | typeof ELSEWHERE | undefined> {
    switch (request.kind) {
      case 'reserve':
        await this.#sockets.reserve(request.socket);
        return undefined;
      case 'socket':
        return this.#sockets.open(request.socket, request.worker);
      case 'release workers':
        this.#sockets.releaseWorkers(request.from);
        return undefined;
      case 'end upgrade':
        this.#successor?.kill();
        return undefined;
      case 'leave':
        this.#sockets.leaveFiles();
        this.#pidFiles.clear();
        this.#isLeaving = true;
        this.#successor?.leave();
        return undefined;
      case 'pid file':
        if (!this.#mayWrite(request.path)) throw new Error('the configuration names another one');
        writePidFile(request.path);
        this.#pidFiles.add(request.path);
        this.#errorLogs = this.#prepared.errorLogs;
        this.#crashes.served();
        return undefined;
    }
  }

  /** The pid file of the configuration, and its name in nginx while there is a new program. */
  #mayWrite(path: string): boolean {
    const { pidFile } = this.#prepared;
    return path === pidFile || path === `${pidFile}.oldbin`;
  }

  #startSuccessor(socket: string): number | undefined {
    this.#successor = new SuccessorParent(this.start.line, socket, this.#sockets, {
      said: (text) => this.#tell({ kind: 'upgrade said', text }),
      ended: (how) => this.#tell({ kind: 'upgrade ended', how }),
    });
    return this.#successor.pid;
  }

  #tell(news: UpgradeNews): void {
    if (this.#server.connected) this.#server.send(news, () => undefined);
  }

  /** Resolves when the message has left: a socket may be closed then. One that cannot be sent is for a server that has ended. */
  #send(response: ParentResponse, socket?: RawSocket): Promise<void> {
    return new Promise((resolve) => this.#server.send(response, socket as never, () => resolve()));
  }

  #removePidFile(path: string): void {
    if (!this.#pidFiles.delete(path)) return;
    removePidFile(path);
    removeReloadFile(path);
  }

  #writeReloadState(state: Omit<ReloadState, 'pid'>): void {
    if (state.failure === '') this.#errorLogs = this.#prepared.errorLogs;
    try {
      for (const path of this.#pidFiles) writeReloadFile(path, state);
    } catch {
      // The disk is full: the command that waits for the result refers to the log.
    }
  }

  /** The result of the start is for the first question; it is not kept. */
  async #prepare(): Promise<FileContents> {
    if (this.#isAsked) this.#prepared = await prepareAgain(this.start);
    this.#isAsked = true;
    const { files, ...others } = this.#prepared;
    this.#prepared = { ...others, files: new Map() };
    return files;
  }

  #end(code: number): void {
    this.#sockets.close();
    for (const path of this.#pidFiles) this.#removePidFile(path);
    this.starter.ended(code);
  }
}
