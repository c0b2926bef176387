import type { FoundServer } from '../../core/contract/members.js';
import { parseTime } from '../../core/contract/duration.js';
import { ListError } from './list-error.js';

/** Parameters beside "server", by the names of `server` lines. */
const NUMBERS = { weight: 'weight', max_conns: 'maxConns', max_fails: 'maxFails' } as const;
const TIMES = { fail_timeout: 'failTimeout', slow_start: 'slowStart' } as const;
const KEYS: readonly string[] = ['server', 'backup', ...Object.keys(NUMBERS), ...Object.keys(TIMES)];

/**
 * Reads `["10.0.0.1:80", { "server": "10.0.0.2:80", "weight": 5, "backup": true, "max_conns": 8, "fail_timeout": "10s" }]`, or an object whose `servers` are that.
 * @throws ListError, without the text: a wrong file may contain secrets
 */
export function parseServers(text: string): FoundServer[] {
  const json = parse(text);
  const list: unknown = isObject(json) ? json['servers'] : json;
  if (!Array.isArray(list)) throw new ListError('it must be an array of servers, or an object with an array "servers"');
  return list.map((item: unknown, at) => serverOf(item, at));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ListError('it is not valid JSON');
  }
}

function serverOf(item: unknown, at: number): FoundServer {
  if (typeof item === 'string') return { address: item };
  if (!isObject(item)) throw new ListError(`server ${at} must be a string or an object`);
  const unknown = Object.keys(item).find((key) => !KEYS.includes(key));
  if (unknown !== undefined)
    throw new ListError(`server ${at} has an unknown key; known ones are ${KEYS.map((key) => `"${key}"`).join(', ')}`);
  const { server, backup } = item;
  if (typeof server !== 'string') throw new ListError(`server ${at} must have a string "server"`);
  // Their values are checked where they are taken.
  return {
    address: server,
    ...(backup !== undefined && { backup: backup as boolean }),
    ...renamed(item, NUMBERS, (value) => value),
    ...renamed(item, TIMES, (value, key) => {
      const ms = typeof value === 'string' ? parseTime(value) : undefined;
      if (ms === undefined) throw new ListError(`server ${at} must have a time such as "10s" as its "${key}"`);
      return ms;
    }),
  };
}

function renamed(
  item: Readonly<Record<string, unknown>>,
  names: Readonly<Record<string, string>>,
  value: (value: unknown, key: string) => unknown,
): object {
  const entries = Object.entries(names).filter(([key]) => item[key] !== undefined);
  return Object.fromEntries(entries.map(([key, name]) => [name, value(item[key], key)]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
