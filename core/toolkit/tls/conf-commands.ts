/** Commands of OpenSSL's configuration (`ssl_conf_command`, SSL_CONF_cmd(3)): those for which Node has options, and how each is checked. */
import type { TlsVersion } from '../../contract/tls-context.js';
import type { TlsCommand, TlsLibrary } from '../../contract/tls-library.js';

export const VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const satisfies readonly TlsVersion[];

/** Node takes the ciphers of TLS 1.3 from the same list as others; directives for ciphers, as in nginx, never change those. */
export const SUITES = 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256';

/** Settings that commands change. */
export interface CommandOptions {
  minVersion?: TlsVersion | undefined;
  maxVersion?: TlsVersion | undefined;
  ciphers?: string | undefined;
  ecdhCurve?: string | undefined;
  sigalgs?: string | undefined;
  secureOptions?: number | undefined;
}

/** Ciphers of TLS 1.3 have a list of their own in OpenSSL, and are a part of the only one in Node. */
interface Ciphers {
  /** Of TLS 1.3. */
  readonly suites: string;
  /** Of the versions before. */
  readonly list: string;
}

/** A command that is not possible. */
class CommandError extends Error {}

/** The bits of `Options` (openssl/ssl.h). */
const FLAGS: Readonly<Record<string, number>> = {
  bugs: 0x8000_0850,
  unsafelegacyserverconnect: 0x4,
  allownodhekex: 0x400,
  dhsingle: 0,
  ecdhsingle: 0,
  noresumptiononrenegotiation: 0x1_0000,
  unsafelegacyrenegotiation: 0x4_0000,
  prioritizechacha: 0x20_0000,
  serverpreference: 0x40_0000,
  norenegotiation: 0x4000_0000,
};

/** Options that are on by default: the bits turn them off. */
const INVERSE: Readonly<Record<string, number>> = {
  extendedmastersecret: 0x1,
  emptyfragments: 0x800,
  sessionticket: 0x4000,
  compression: 0x2_0000,
  encryptthenmac: 0x8_0000,
};

/** Commands whose value is a path. */
const OF_FILES = /^(?:certificate|privatekey|serverinfofile|dhparameters|(?:chain|verify|request|client)ca(?:file|path))$/i;

/** A command with an absolute path. @param absolute makes a path absolute */
export function withPath({ command, value }: TlsCommand, absolute: (path: string) => string): TlsCommand {
  return { command, value: OF_FILES.test(command) ? absolute(value) : value };
}

/** Why a command is not possible, in nginx's words; undefined: it is. */
export function problemOf(command: TlsCommand, library: TlsLibrary): string | undefined {
  if (library.obstacle !== undefined) return problemInNode(command);
  try {
    library.assertCommand(command);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Why Node has no option for a command; undefined: it has one. */
export function problemInNode({ command, value }: TlsCommand): string | undefined {
  try {
    apply({ suites: '', list: '' }, command, value);
    return undefined;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return `SSL_CONF_cmd("${command}", "${value}") failed (${error.message})`;
  }
}

/** Applies commands to what other directives say, as far as Node has options for them. */
export function commanded(options: CommandOptions, commands: readonly TlsCommand[]): CommandOptions {
  const result: Changed = { ...options, ...partsOf(options.ciphers) };
  for (const { command, value } of commands) {
    try {
      apply(result, command, value);
    } catch (error) {
      // Others are rejected where the configuration is checked.
      if (!(error instanceof CommandError)) throw error;
    }
  }
  const { suites, list, ...changed } = result;
  const both = [suites, list].filter((part) => part !== '').join(':');
  return { ...changed, ...(both !== '' && { ciphers: both }) };
}

/** Ciphers of TLS 1.3, which have a list of their own in OpenSSL. */
export const isSuite = (name: string): boolean => name.startsWith('TLS_');

function partsOf(ciphers = ''): Ciphers {
  const names = ciphers === '' ? [] : ciphers.split(':');
  return { suites: names.filter(isSuite).join(':'), list: names.filter((name) => !isSuite(name)).join(':') };
}

type Changed = { -readonly [name in keyof (CommandOptions & Ciphers)]: (CommandOptions & Ciphers)[name] };

function apply(changed: Changed, command: string, value: string): void {
  switch (command.toLowerCase()) {
    case 'ciphersuites':
      changed.suites = value;
      break;
    case 'cipherstring':
      changed.list = value;
      break;
    case 'minprotocol':
      changed.minVersion = later(changed.minVersion, versionOf(value, 'TLSv1'));
      break;
    case 'maxprotocol':
      changed.maxVersion = earlier(changed.maxVersion, versionOf(value, 'TLSv1.3'));
      break;
    case 'groups':
    case 'curves':
      changed.ecdhCurve = value;
      break;
    case 'signaturealgorithms':
      changed.sigalgs = value;
      break;
    case 'options':
      changed.secureOptions = withFlags(changed.secureOptions ?? 0, value);
      break;
    default:
      throw new CommandError('not supported, Node.js cannot set it');
  }
}

/** @param none the version that stands for no limit */
function versionOf(value: string, none: TlsVersion): TlsVersion {
  if (value === 'None') return none;
  const version = VERSIONS.find((known) => known === value);
  if (version === undefined) throw new CommandError('bad value');
  return version;
}

/** Versions that `ssl_protocols` has turned off stay off. */
function later(one: TlsVersion | undefined, other: TlsVersion): TlsVersion {
  return one !== undefined && one > other ? one : other;
}

function earlier(one: TlsVersion | undefined, other: TlsVersion): TlsVersion {
  return one !== undefined && one < other ? one : other;
}

/** @param value names that `+` turns on, as none does, and `-` off, with commas between them */
function withFlags(before: number, value: string): number {
  let mask = BigInt(before);
  for (const word of value.split(',')) {
    const [, sign = '', name = ''] = /^([+-]?)(.*)$/s.exec(word.trim()) ?? [];
    const inverse = INVERSE[name.toLowerCase()];
    const flag = inverse ?? FLAGS[name.toLowerCase()];
    if (flag === undefined) throw new CommandError(`bad value, Node.js cannot set the option "${name}"`);
    const sets = (sign === '-') === (inverse !== undefined);
    mask = sets ? mask | BigInt(flag) : mask & ~BigInt(flag);
  }
  return Number(mask);
}
