import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Arguments, Option } from './command.js';
import { EXIT, CommandFailure } from './failure.js';

const DEFAULT_SERVER = 'http://127.0.0.1:8081/api';

/** Where the API is, and who calls it. */
export interface ClientSettings {
  readonly server: string;
  readonly token: string | undefined;
  /** PEM. */
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly timeoutMs: number;
}

/** Options of every command. */
export const COMMON: readonly Option[] = [
  { name: 'server', letter: 's', value: 'URL', about: 'http://…, https://… or unix:/path of the API (SRVCTL_SERVER)' },
  { name: 'token-file', value: 'FILE', isFile: true, about: 'file with the token (SRVCTL_TOKEN_FILE; the token itself: SRVCTL_TOKEN)' },
  { name: 'ca', value: 'FILE', isFile: true, about: 'certificates to trust, PEM (SRVCTL_CA)' },
  { name: 'cert', value: 'FILE', isFile: true, about: 'certificate of this client, PEM (SRVCTL_CERT)' },
  { name: 'key', value: 'FILE', isFile: true, about: 'its private key, PEM (SRVCTL_KEY)' },
  { name: 'timeout', value: 'SECONDS', about: 'time limit for a response (default: 30)' },
  { name: 'json', about: 'print the response as JSON' },
  { name: 'etag', about: 'print the version of what the response shows, and nothing else' },
  { name: 'help', letter: 'h', about: 'help for the command' },
];

/** Options of commands that change something. */
export const WRITING: readonly Option[] = [
  { name: 'dry-run', letter: 'n', about: 'show the difference that the command would make, and change nothing' },
  { name: 'message', letter: 'm', value: 'TEXT', about: 'why: it is shown in the history, in events and in the audit log' },
  { name: 'if-match', value: 'ETAG', about: 'only if the resource still has this version' },
];

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Options come first, then the environment, then the file ~/.config/srvctl/config.
 * @throws Failure
 */
export function readSettings(args: Arguments, env: Environment): ClientSettings {
  const file = configuration(env);
  const setting = (name: string): string | undefined =>
    args.optional(name) ?? (env[`SRVCTL_${name.toUpperCase().replaceAll('-', '_')}`] || undefined) ?? file.get(name);
  const pem = (name: string): string | undefined => {
    const path = setting(name);
    return path === undefined ? undefined : readText(path);
  };
  const seconds = Number(args.optional('timeout') ?? 30);
  if (!(seconds > 0 && seconds < 1e6)) throw new CommandFailure(EXIT.usage, '--timeout must be a number of seconds');
  return {
    server: setting('server') ?? DEFAULT_SERVER,
    token: tokenOf(args, env, file),
    ca: pem('ca'),
    cert: pem('cert'),
    key: pem('key'),
    timeoutMs: seconds * 1000,
  };
}

/** A file that an option names counts more than a token in the environment. */
function tokenOf(args: Arguments, env: Environment, file: ReadonlyMap<string, string>): string | undefined {
  const named = args.optional('token-file');
  if (named === undefined && env['SRVCTL_TOKEN']) return env['SRVCTL_TOKEN'].trim();
  const path = named ?? (env['SRVCTL_TOKEN_FILE'] || undefined) ?? file.get('token-file');
  if (path === undefined) return undefined;
  const token = readText(path).trim();
  if (!/^[\x21-\x7e]+$/.test(token)) throw new CommandFailure(EXIT.usage, `"${path}" must contain one token and nothing else`);
  return token;
}

/** `name value` lines of the user's file; it does not have to exist. */
function configuration(env: Environment): ReadonlyMap<string, string> {
  const path = join(env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'), 'srvctl/config');
  const settings = new Map<string, string>();
  let text = '';
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return settings;
    throw new CommandFailure(EXIT.usage, `cannot read "${path}": ${(error as Error).message}`);
  }
  for (const [index, line] of text.split('\n').entries()) {
    const [, name, value] = /^\s*([\w-]+)\s+(\S.*?)\s*$/.exec(line.replace(/^\s*#.*/, '')) ?? [];
    if (name !== undefined && value !== undefined && ['server', 'token-file', 'ca', 'cert', 'key'].includes(name))
      settings.set(name, value);
    else if (!/^\s*(#.*)?$/.test(line)) throw new CommandFailure(EXIT.usage, `invalid line in ${path}:${index + 1}`);
  }
  return settings;
}

/** @param path `-`: the standard input @throws Failure */
export function readText(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new CommandFailure(EXIT.usage, `cannot read "${path}": ${(error as Error).message}`);
  }
}
