import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BusAccess } from '../module/services.js';

/** Who speaks on the bus. A client's id starts with its role: `ctrl-5f3a…`. */
export type BusRole = 'master' | 'ctrl';

const FILE_NAME = 'bus.json';
const SOCKET_NAME = 'bus.sock';
/** Bytes a socket path may have (sun_path of unix(7) without the final zero). */
const LONGEST_SOCKET_PATH = 107;
/** Messages are cut into frames that stay well below it. */
const MAX_PACKET = 512 * 1024;

/** Topics; the last part names the control-plane client on one side of the exchange. */
export const CALL_TOPIC = 'srv/call';
export const REPLY_TOPIC = 'srv/reply';

interface EndpointData {
  readonly socket: string;
  /** A folder of the system for temporary files, if the data folder cannot hold all of it. */
  readonly temporary: string | undefined;
  readonly passwords: Readonly<Record<BusRole, string>>;
}

/**
 * Address and credentials of the bus, made by the master at every start and handed to its helpers as a file that only this user can read.
 * Each role may use the topics of its part and nothing else.
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

  password(role: BusRole): string {
    return this.data.passwords[role];
  }

  authenticate(clientId: string, user: string | undefined, password: Buffer | undefined): boolean {
    if (!isRole(user) || roleOf(clientId) !== user || password === undefined) return false;
    return timingSafeEqual(digest(password), digest(Buffer.from(this.password(user))));
  }

  mayPublish(clientId: string, topic: string): boolean {
    if (roleOf(clientId) === 'ctrl') return topic === `${CALL_TOPIC}/${clientId}`;
    return roleOf(clientId) === 'master' && isBelow(topic, REPLY_TOPIC);
  }

  maySubscribe(clientId: string, topic: string): boolean {
    if (roleOf(clientId) === 'ctrl') return topic === `${REPLY_TOPIC}/${clientId}`;
    return roleOf(clientId) === 'master' && topic === `${CALL_TOPIC}/+`;
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
 * Makes fresh credentials in `folder`, which is private to this user (the data folder). The socket lies beside them; where that path would be
 * longer than the system allows, in a private temporary folder. On a full disk both are there.
 */
export function createBusEndpoint(folder: string): BusEndpoint {
  const passwords = { master: randomBytes(24).toString('base64url'), ctrl: randomBytes(24).toString('base64url') };
  const beside = join(folder, SOCKET_NAME);
  const temporary = Buffer.byteLength(beside) <= LONGEST_SOCKET_PATH ? undefined : temporaryFolder();
  const data = { socket: temporary === undefined ? beside : join(temporary, SOCKET_NAME), temporary, passwords };
  try {
    return write(join(folder, FILE_NAME), data);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    const elsewhere = temporary ?? temporaryFolder();
    return write(join(elsewhere, FILE_NAME), { socket: join(elsewhere, SOCKET_NAME), temporary: elsewhere, passwords });
  }
}

const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'srv-'));

function write(file: string, data: EndpointData): BusEndpoint {
  // A file that a killed server left behind keeps the mode it had: make it anew.
  rmSync(file, { force: true });
  writeFileSync(file, JSON.stringify(data), { mode: 0o600, flag: 'wx' });
  return new BusEndpoint(file, data);
}

function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}

/** What a helper process does with the path it was given. */
export function readBusEndpoint(file: string): BusEndpoint {
  return new BusEndpoint(file, JSON.parse(readFileSync(file, 'utf8')) as EndpointData);
}
