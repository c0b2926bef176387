import { statSync } from 'node:fs';
import { confPath, flag, number, rest, text, time } from '../../core/contract/args.js';
import { ArgError, directive, type Conf } from '../../core/contract/spec.js';

const IN = ['redis'] as const;

export const blockDirectives = {
  url: directive({
    in: IN,
    args: rest(text('url')),
    doc: 'Address of Redis: redis://host:port/database, rediss:// for TLS, or unix:/path. Several with "cluster on".',
  }),
  sentinel: directive({
    in: IN,
    args: { master: text('master'), addresses: rest(text('host:port')) },
    doc: 'Asks these sentinels for the address of a master, and follows its failover. In the place of "url".',
  }),
  sentinel_user: directive({ in: IN, args: text('name'), doc: 'User of the sentinels (ACL). Without it the user is "default".' }),
  sentinel_password_file: directive({
    in: IN,
    args: confPath(),
    doc: 'File with the password of the sentinels, as "password_file". Without it none is sent to them.',
  }),
  sentinel_tls: directive({
    in: IN,
    args: flag(),
    default: 'off',
    doc: 'Connects to the sentinels, and to Redis, with TLS. With "tls_ca" alone it is Redis that is connected to with TLS.',
  }),
  cluster: directive({ in: IN, args: flag(), default: 'off', doc: 'Redis is a cluster; "url" has some of its nodes.' }),
  user: directive({ in: IN, args: text('name'), doc: 'User of Redis (ACL). Without it the user is "default".' }),
  password_file: directive({
    in: IN,
    args: confPath(),
    doc: 'File with the password. Only its owner may have access (mode 0600). Read again at a reload.',
  }),
  tls_ca: directive({ in: IN, args: confPath(), doc: 'File with the certificates of the authorities that Redis is verified with.' }),
  tls_certificate: directive({ in: IN, args: confPath(), doc: 'File with the certificate of this client.' }),
  tls_certificate_key: directive({ in: IN, args: confPath(), doc: 'File with the key of this client.' }),
  prefix: directive({ in: IN, args: text('text'), default: 'srv', doc: 'Beginning of all keys, before the name of the cluster.' }),
  connect_timeout: directive({ in: IN, args: time(), default: '5s', doc: 'Longest time to connect.' }),
  command_timeout: directive({ in: IN, args: time(), default: '1s', doc: 'Longest time for a reply; then the connection is made again.' }),
  max_pending: directive({
    in: IN,
    args: number({ min: 1 }),
    default: '1000',
    doc: 'Commands that may wait for replies; further ones are rejected.',
  }),
};

type BlockConf = Conf<typeof blockDirectives>;

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

/** Sentinels that know the address of a master. */
export interface RedisSentinel {
  readonly master: string;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly hasTls?: boolean;
}

/** A block, checked, with the contents of its files. */
export interface RedisSettings {
  readonly addresses: readonly RedisAddress[];
  /** Path of a unix socket. */
  readonly socket: string | undefined;
  readonly sentinel: RedisSentinel | undefined;
  readonly isCluster: boolean;
  readonly database: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string } | undefined;
  readonly prefix: string;
  /** Milliseconds, as the following one. */
  readonly connectTimeout: number;
  readonly commandTimeout: number;
  readonly maxPending: number;
}

/** Where Redis is, for messages. */
export function placeOf({ addresses, socket, sentinel }: RedisSettings): string {
  const list = socket === undefined ? addresses.map(({ host, port }) => `${host}:${port}`).join(', ') : `unix:${socket}`;
  return sentinel === undefined ? list : `master "${sentinel.master}" of the sentinels ${list}`;
}

/** Content of a file that a directive names. */
export type ReadText = (path: string) => string;

/** @throws ArgError */
export function redisSettings(conf: BlockConf, read: ReadText): RedisSettings {
  const { tls_ca: ca, tls_certificate: cert, tls_certificate_key: key, cluster: isCluster } = conf;
  const { hasTls, ...place } = conf.sentinel === undefined ? places(conf, isCluster) : sentinels(conf, read);
  const tls = { ...(ca && { ca: read(ca) }), ...(cert && { cert: read(cert) }), ...(key && { key: read(key) }) };
  if ((cert === undefined) !== (key === undefined)) throw new ArgError('"tls_certificate" and "tls_certificate_key" need each other');
  const isEncrypted = hasTls || Object.keys(tls).length > 0;
  if (isEncrypted && !hasTls && conf.sentinel === undefined)
    throw new ArgError('"tls_…" needs an address with TLS', 'write rediss://host:port');
  if (/[{}\s]/.test(conf.prefix)) throw new ArgError('"prefix" must not have braces or spaces');
  return {
    ...place,
    isCluster,
    user: conf.user,
    password: conf.password_file === undefined ? undefined : password(conf.password_file, read),
    tls: isEncrypted ? tls : undefined,
    prefix: conf.prefix,
    connectTimeout: conf.connect_timeout,
    commandTimeout: conf.command_timeout,
    maxPending: conf.max_pending,
  };
}

type Places = Pick<RedisSettings, 'addresses' | 'socket' | 'sentinel' | 'database'> & { readonly hasTls: boolean };

function sentinels(conf: BlockConf, read: ReadText): Places {
  const { sentinel, url, cluster, sentinel_user: user, sentinel_password_file: file, sentinel_tls: hasTls } = conf;
  if (url !== undefined || cluster) throw new ArgError('"sentinel" cannot be combined with "url" and "cluster on"');
  const addresses = (sentinel?.addresses ?? []).map((address) => {
    const [, host, port] = /^(\S+?)(?::(\d+))?$/.exec(address) ?? [];
    return { host: host ?? address, port: Number(port ?? 26_379) };
  });
  const secret = file === undefined ? undefined : password(file, read);
  const found = { master: sentinel?.master ?? '', user, password: secret, hasTls };
  return { addresses, socket: undefined, sentinel: found, database: 0, hasTls };
}

function places(conf: BlockConf, isCluster: boolean): Places {
  const { url: urls = [] } = conf;
  if (conf.sentinel_user !== undefined || conf.sentinel_password_file !== undefined || conf.sentinel_tls)
    throw new ArgError('"sentinel_…" needs "sentinel"', 'write sentinel MASTER host:port ...;');
  if (urls.length === 0)
    throw new ArgError('a "redis" block needs an address', 'write url redis://host:6379; or sentinel MASTER host:port;');
  if (urls.length > 1 && !isCluster) throw new ArgError('several addresses need "cluster on"');
  const all = urls.map(place);
  const [first] = all;
  if (first?.socket !== undefined && isCluster) throw new ArgError('a cluster has no unix socket');
  const addresses = all.flatMap((one) => one.addresses);
  const database = first?.database ?? 0;
  if (isCluster && database !== 0) throw new ArgError('a cluster has no databases');
  return { addresses, socket: first?.socket, sentinel: undefined, database, hasTls: all.some((one) => one.hasTls) };
}

/** Without quoting the address: a password may be in it. */
function place(url: string): Places {
  const none = { addresses: [], socket: undefined, sentinel: undefined, database: 0, hasTls: false };
  if (url.startsWith('unix:')) return { ...none, socket: url.slice('unix:'.length).replace(/^\/\/(?=\/)/, '') };
  const parsed = URL.parse(url);
  const hint = 'write redis://host:6379/0, rediss://host:6379/0 or unix:/path';
  if (parsed === null || !['redis:', 'rediss:'].includes(parsed.protocol) || parsed.hostname === '')
    throw new ArgError('the address of Redis is invalid', hint);
  if (parsed.username !== '' || parsed.password !== '')
    throw new ArgError('the address of Redis must not have a user or a password', 'write user NAME; and password_file FILE;');
  const [, database] = /^\/?(\d*)$/.exec(parsed.pathname) ?? [];
  if (database === undefined || parsed.search !== '') throw new ArgError('the address of Redis has more than a database', hint);
  const host = parsed.hostname.replaceAll(/^\[|\]$/g, '');
  const address = { host, port: Number(parsed.port === '' ? 6379 : parsed.port) };
  return { ...none, addresses: [address], database: Number(database), hasTls: parsed.protocol === 'rediss:' };
}

function password(path: string, read: ReadText): string {
  const content = secretOf(path, read);
  if (content === '') throw new ArgError(`"${path}" is empty`);
  return content;
}

/** Content of `cluster_key_file`. @throws ArgError */
export function clusterSecret(path: string, read: ReadText): string {
  const content = secretOf(path, read);
  if (content.length < 32) throw new ArgError(`"${path}" has fewer than 32 characters`, `openssl rand -hex 32 > ${path}`);
  return content;
}

function secretOf(path: string, read: ReadText): string {
  const content = read(path).replace(/\r?\n$/, '');
  if ((modeOf(path) & 0o077) !== 0) throw new ArgError(`others may read "${path}"`, `chmod 600 ${path}`);
  return content;
}

/** Without any rights where this process does not get to the file: its parent has read it. */
function modeOf(path: string): number {
  try {
    return statSync(path).mode;
  } catch {
    return 0;
  }
}
