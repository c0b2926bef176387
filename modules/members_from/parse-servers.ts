import type { FoundServer } from '../../core/contract/members.js';
import { ListError } from './list-error.js';

const KEYS: ReadonlySet<string> = new Set(['server', 'weight', 'backup']);

/**
 * Reads `["10.0.0.1:80", { "server": "10.0.0.2:80", "weight": 5, "backup": true }]`, or an object whose `servers` are that.
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
  if (!Object.keys(item).every((key) => KEYS.has(key))) throw new ListError(`server ${at} may have "server", "weight" and "backup" only`);
  const { server, weight, backup } = item;
  if (typeof server !== 'string') throw new ListError(`server ${at} must have a string "server"`);
  // Their values are checked where they are taken.
  return {
    address: server,
    ...(weight !== undefined && { weight: weight as number }),
    ...(backup !== undefined && { backup: backup as boolean }),
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
