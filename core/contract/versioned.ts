/** Results that actions of the data plane return to the routes of the control plane, and the responses made of them. */
import { dryRunReply, type Call, type Reply } from './control.js';
import { Type } from './schema.js';

export interface Versioned<T = unknown> {
  readonly value: T;
  /** `If-Match` may name it. */
  readonly version: string;
  /** Of a dry run: what would change. */
  readonly diff: readonly string[];
  /** Of a list that does not end here: what the next page starts after. */
  readonly next?: string | number;
}

/** The response to a read. */
export function readReply({ value, version, next }: Versioned): Reply {
  return { status: 200, body: value, version, ...(next !== undefined && { next: String(next) }) };
}

/** The response to a write: what it left, or what it would change. */
export function writeReply({ dryRun }: Pick<Call, 'dryRun'>, { value, version, diff }: Versioned): Reply {
  return dryRun ? dryRunReply(diff) : { status: 200, body: value, version };
}

/** The value of a write that says no more than that it was made: the form that clients of this API know. */
export const DONE = { code: 0, msg: 'success.' } as const;

export const Done = Type.Object({ code: Type.Integer({ description: '0' }), msg: Type.String() }, { title: 'Done' });

/** Query parameter for the length of a page. */
export const pageLimit = (maximum = 100_000) => Type.Optional(Type.Integer({ minimum: 1, maximum, description: 'Entries of the page.' }));

/** The parameter with which a write reaches what is of the configuration file. */
export const forceQuery = Type.Object({
  force: Type.Optional(Type.Enum(['1', 'true', '0', 'false', ''], { description: 'Also what is in the configuration file.' })),
});

export const isForced = ({ force = '0' }: { readonly force?: string }): boolean => force !== '0' && force !== 'false';
