/** Commands of OpenSSL's configuration (`ssl_conf_command`, SSL_CONF_cmd(3)), as far as Node has options for them. */
import type { SecureContextOptions, SecureVersion } from 'node:tls';

export const VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const satisfies readonly SecureVersion[];

export interface ConfCommand {
  readonly command: string;
  readonly value: string;
}

/** Settings that commands change. */
export type CommandOptions = Pick<
  SecureContextOptions,
  'minVersion' | 'maxVersion' | 'ciphers' | 'ecdhCurve' | 'sigalgs' | 'secureOptions'
>;

/** Ciphers of TLS 1.3 have a list of their own in OpenSSL, and are a part of the only one in Node. */
export interface Ciphers {
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

/**
 * Applies commands to what other directives say.
 * @param ciphers of these directives
 * @param fail reports a command that is not possible
 */
export function commanded(
  options: CommandOptions,
  ciphers: Ciphers,
  commands: readonly ConfCommand[],
  fail: (message: string) => never,
): CommandOptions {
  const result: Changed = { ...options, ...ciphers };
  for (const { command, value } of commands) {
    try {
      apply(result, command, value);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      fail(`SSL_CONF_cmd("${command}", "${value}") failed (${error.message})`);
    }
  }
  const { suites, list, ...changed } = result;
  const both = [suites, list].filter((part) => part !== '').join(':');
  return { ...changed, ...(both !== '' && { ciphers: both }) };
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
function versionOf(value: string, none: SecureVersion): SecureVersion {
  if (value === 'None') return none;
  const version = VERSIONS.find((known) => known === value);
  if (version === undefined) throw new CommandError('bad value');
  return version;
}

/** Versions that `ssl_protocols` has turned off stay off. */
function later(one: SecureVersion | undefined, other: SecureVersion): SecureVersion {
  return one !== undefined && one > other ? one : other;
}

function earlier(one: SecureVersion | undefined, other: SecureVersion): SecureVersion {
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
