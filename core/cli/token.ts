/** `srv token`: edits the file of `api_tokens`. */
import { parseArgs } from 'node:util';
import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { findInstallation } from '../kernel/installation.js';
import { parseTime } from '../contract/duration.js';
import { systemErrorText } from '../contract/system-error.js';
import {
  assertTokenName,
  expiryText,
  exposureOf,
  hashOf,
  isEmpty,
  makeToken,
  parseTokenLine,
  printTokenLine,
  scopesOf,
  TokenLineError,
  type Token,
} from '../api/access/token-file.js';
import { editTokenFile, readTokenFile } from './token-file-edit.js';

const USAGE = `Usage: srv token add NAME SCOPE... [--expires TIME] [-f FILE]
       srv token list [-f FILE]
       srv token remove NAME [-f FILE]

Edits the file that "api_tokens" names. It has hashes: a token is printed once, when it is added.

Scopes:
  read                    : call what changes nothing
  write                   : call everything
  module:KEY              : after read or write: only the routes of a module, as module:kv
  upstream:NAME           : after read or write: only the routes of an upstream

Options:
  -f FILE, --file FILE    : the file (default: conf/api_tokens below the prefix)
  -p PREFIX               : set prefix path
  --expires TIME          : 30d, 12h, or 2027-01-31T12:00:00Z

`;
const DEFAULT_FILE = 'conf/api_tokens';

/** An error, with its reason. */
class TokenError extends Error {}

/** Runs the command. @returns the exit code */
export async function tokenCommand(args: readonly string[]): Promise<number> {
  try {
    return await run(args);
  } catch (error) {
    const [message, hint] = error instanceof TokenLineError ? [error.message, error.hint] : [messageOf(error), undefined];
    process.stderr.write(`srv: [emerg] ${message}\n${hint === undefined ? '' : `srv: ${hint}\n`}`);
    return 1;
  }
}

async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parsed(args);
  const [action, ...words] = positionals;
  const path = withoutLinks(resolve(values.file ?? resolve(values.prefix ?? findInstallation().root, DEFAULT_FILE)));
  if (values.help === true) process.stdout.write(USAGE);
  else if (action === 'add') await add(path, words, values.expires);
  else if (values.expires !== undefined) throw new TokenError('"--expires" is for "srv token add"');
  else if (action === 'list' && words.length === 0) list(path);
  else if (action === 'remove' && words.length === 1) await remove(path, words[0] ?? '');
  else throw new TokenError('invalid arguments: "srv token -h" shows the usage');
  return 0;
}

/** The target of a link is replaced, and not the link. */
function withoutLinks(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

function parsed(args: readonly string[]) {
  const options = {
    file: { type: 'string', short: 'f' },
    prefix: { type: 'string', short: 'p' },
    expires: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  const at = args.indexOf('--expires');
  const [, time] = at < 0 ? [] : args.slice(at);
  if (time?.startsWith('-') === true) throw new TokenError(`invalid time "${time}": it is written like 30d, 12h or 2027-01-31T12:00:00Z`);
  return parseArgs({ args: [...args], options, allowPositionals: true });
}

async function add(path: string, [name = '', ...scopes]: readonly string[], expiry: string | undefined): Promise<void> {
  assertTokenName(name);
  const secret = makeToken();
  const token: Token = {
    name,
    hash: hashOf(secret),
    expires: expiry === undefined ? undefined : expiryOf(expiry),
    scopes: scopesOf(name, scopes),
  };
  assertPrivate(path);
  await editTokenFile(path, (lines) => {
    if (tokensOf(path, lines).some((known) => known.name === name)) throw new TokenError(`there is a token "${name}" already`);
    return [...lines, printTokenLine(token)];
  });
  process.stderr.write(`srv: token "${name}" added to "${path}", valid after "srv -s reload"; it is not shown again:\n`);
  process.stdout.write(`${secret}\n`);
}

async function remove(path: string, name: string): Promise<void> {
  assertPrivate(path);
  await editTokenFile(path, (lines) => {
    tokensOf(path, lines);
    const rest = lines.filter((line) => nameOf(line) !== name);
    if (rest.length === lines.length) throw new TokenError(`there is no token "${name}" in "${path}"`);
    return rest;
  });
  process.stderr.write(`srv: token "${name}" removed from "${path}": it is valid until "srv -s reload"\n`);
}

function list(path: string): void {
  assertPrivate(path);
  const tokens = tokensOf(path, readTokenFile(path));
  const width = Math.max(0, ...tokens.map(({ name }) => name.length));
  for (const { name, expires, scopes } of tokens) {
    const expiry = expires === undefined ? '' : `  (${expires <= Date.now() ? 'expired' : 'expires'} ${expiryText(expires)})`;
    process.stdout.write(`${name.padEnd(width)}  ${String(scopes)}${expiry}\n`);
  }
}

/** @throws TokenLineError that names the line */
function tokensOf(path: string, lines: readonly string[]): Token[] {
  return [...lines.entries()]
    .filter(([, line]) => !isEmpty(line))
    .map(([at, line]) => {
      try {
        return parseTokenLine(line);
      } catch (error) {
        if (error instanceof TokenLineError) throw new TokenLineError(`${error.message} in ${path}:${at + 1}`, error.hint);
        throw error;
      }
    });
}

/** @throws TokenError */
function assertPrivate(path: string): void {
  const exposure = exposureOf(path);
  if (exposure !== undefined) throw new TokenError(`${exposure}, only its owner may: chmod 600 ${path}`);
}

const nameOf = (line: string): string | undefined => (isEmpty(line) ? undefined : line.trim().split(/\s/, 1)[0]);

/** @returns epoch milliseconds @throws TokenError */
function expiryOf(text: string): number {
  const from = parseTime(text);
  const time = from === undefined ? Date.parse(text) : Date.now() + from;
  const isKnown = from !== undefined || /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?Z)?$/.test(text);
  if (!isKnown || Number.isNaN(time)) throw new TokenError(`invalid time "${text}": it is written like 30d, 12h or 2027-01-31T12:00:00Z`);
  if (time <= Date.now()) throw new TokenError(`the time "${text}" is over`);
  return Math.floor(time / 1000) * 1000;
}

function messageOf(error: unknown): string {
  const { syscall, path } = error as NodeJS.ErrnoException;
  if (syscall !== undefined) return `${syscall}() "${path ?? ''}" failed (${systemErrorText(error)})`;
  return (error as Error).message;
}
