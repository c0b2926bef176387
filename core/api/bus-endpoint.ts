import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Duplex } from 'node:stream';
import { BusAccess, type BusListening } from '../contract/bus-access.js';
import { hasPrivatePath } from '../net/socket-file.js';
import { listenForBus } from './bus-socket.js';
import { EVENT_TOPIC } from './event-message.js';

/** Role of a client on the bus. A client's id starts with its role: `ctrl-5f3a…`. */
export type BusRole = 'master' | 'ctrl';
/** User of programs that read events, and write nothing. Their ids are up to them. */
const READER = 'events';

const FILE_NAME = 'bus.json';
/** Folder of the file from which `mosquitto_sub` takes its options when XDG_CONFIG_HOME names the folder. */
const READER_FOLDER = 'events';
const READER_FILE = 'mosquitto_sub';
const SOCKET_NAME = 'bus.sock';
/** Messages are cut into frames that stay well below it. */
const MAX_PACKET = 512 * 1024;

/** Topics; the last part names the control-plane client on one side of the exchange. */
export const CALL_TOPIC = 'srv/call';
export const REPLY_TOPIC = 'srv/reply';

interface EndpointData {
  readonly socket: string;
  /** A folder of the system for temporary files, if the data folder cannot hold all of it. */
  readonly temporary: string | undefined;
  readonly passwords: Readonly<Record<BusRole | typeof READER, string>>;
}

/**
 * Address and credentials of the bus, made by the master at every start and handed to its helpers as a file that only this user can read.
 * Each role may use the topics of its part and nothing else; programs of others, with credentials that stay, may read events.
 */
export class BusEndpoint extends BusAccess {
  readonly maxPacket = MAX_PACKET;

  constructor(
    readonly file: string,
    private readonly data: EndpointData,
  ) {
    super();
  }

  get socket(): string {
    return this.data.socket;
  }

  listen(accept: (connection: Duplex) => void): Promise<BusListening> {
    return listenForBus(this.socket, accept);
  }

  password(role: BusRole): string {
    return this.data.passwords[role];
  }

  authenticate(clientId: string, user: string | undefined, password: Buffer | undefined): boolean {
    if (password === undefined || (user !== READER && !isRole(user))) return false;
    // No client may use the id of one of the server's own processes, which would end the connection of that process.
    if (user === READER ? isRole(roleOf(clientId)) : roleOf(clientId) !== user) return false;
    return timingSafeEqual(digest(password), digest(Buffer.from(this.data.passwords[user])));
  }

  isReader(clientId: string): boolean {
    return !isRole(roleOf(clientId));
  }

  mayPublish(clientId: string, topic: string): boolean {
    if (roleOf(clientId) === 'ctrl') return topic === `${CALL_TOPIC}/${clientId}`;
    return roleOf(clientId) === 'master' && isBelow(topic, REPLY_TOPIC);
  }

  mayRetain(clientId: string, topic: string): boolean {
    return roleOf(clientId) === 'master' && isBelow(topic, EVENT_TOPIC);
  }

  maySubscribe(clientId: string, topic: string): boolean {
    if (roleOf(clientId) === 'ctrl') return topic === `${REPLY_TOPIC}/${clientId}`;
    if (roleOf(clientId) === 'master') return topic === `${CALL_TOPIC}/+`;
    return topic.startsWith(`${EVENT_TOPIC}/`);
  }

  /** Removes what {@link createBusEndpoint} made. */
  remove(): void {
    rmSync(this.file, { force: true });
    rmSync(this.socket, { force: true });
    if (this.data.temporary !== undefined) rmSync(this.data.temporary, { recursive: true, force: true });
  }
}

const digest = (value: Buffer): Buffer => createHash('sha256').update(value).digest();
const isRole = (user: string | undefined): user is BusRole => user === 'master' || user === 'ctrl';
const roleOf = (clientId: string): string => clientId.slice(0, clientId.indexOf('-'));
const isBelow = (topic: string, parent: string): boolean => topic.startsWith(`${parent}/`) && !/[+#]/.test(topic);

/**
 * Makes fresh credentials in `folder`, which is private to this user (the data folder). The socket is beside them; where that path would be
 * longer than the system allows, in a private temporary folder. On a full disk both are in the latter.
 */
export function createBusEndpoint(folder: string): BusEndpoint {
  const passwords = { master: newPassword(), ctrl: newPassword(), [READER]: lastingPassword(folder) };
  const beside = join(folder, SOCKET_NAME);
  const temporary = hasPrivatePath(beside) ? undefined : temporaryFolder();
  const data = { socket: temporary === undefined ? beside : join(temporary, SOCKET_NAME), temporary, passwords };
  try {
    const endpoint = write(join(folder, FILE_NAME), data);
    writeReaderFile(folder, data);
    return endpoint;
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    const elsewhere = temporary ?? temporaryFolder();
    return write(join(elsewhere, FILE_NAME), { socket: join(elsewhere, SOCKET_NAME), temporary: elsewhere, passwords });
  }
}

const newPassword = (): string => randomBytes(24).toString('base64url');

/** Programs of others go on after a restart: theirs stays the same. */
function lastingPassword(folder: string): string {
  const [, password] = /^-P (\S{32})$/m.exec(contentOf(join(folder, READER_FOLDER, READER_FILE))) ?? [];
  return password ?? newPassword();
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Settings of a program that reads events: options in the form of mosquitto_sub. */
function writeReaderFile(folder: string, { socket, passwords }: EndpointData): void {
  const file = join(folder, READER_FOLDER, READER_FILE);
  const text = `--unix ${socket}\n-u ${READER}\n-P ${passwords[READER]}\n`;
  if (contentOf(file) === text) return;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  rmSync(file, { force: true });
  writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
}

const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'srv-'));

function write(file: string, data: EndpointData): BusEndpoint {
  // A file that a killed server left behind keeps the mode it had: make it again.
  rmSync(file, { force: true });
  writeFileSync(file, JSON.stringify(data), { mode: 0o600, flag: 'wx' });
  return new BusEndpoint(file, data);
}

function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}

/** Reads the endpoint from the path that a helper process was given. */
export function readBusEndpoint(file: string): BusEndpoint {
  return new BusEndpoint(file, JSON.parse(readFileSync(file, 'utf8')) as EndpointData);
}
