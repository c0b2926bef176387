import type { Listed, Member } from './ledger.js';

/** Upstreams that rounds are played with: without a state file, with one, and with one that cannot always be written. */
export const GROUPS = ['plain', 'kept', 'stuck'] as const;
export type Group = (typeof GROUPS)[number];

/** The call had no response, or one that does not say whether the change was made. */
export class NoResponse extends Error {}

/** A server that is started and killed in the same place again and again. */
export interface Target {
  /** Where the state files `kept.state` and `stuck.state` are. */
  readonly folder: string;
  /** Starts it. Resolves when it takes calls, or when it is gone before that. */
  start(): { readonly ready: Promise<void>; readonly gone: Promise<void> };
  list(group: Group): Promise<Listed[]>;
  /** @throws NoResponse */
  add(group: Group, member: Member): Promise<number>;
  /** @throws NoResponse */
  change(group: Group, id: number, before: Member, after: Member): Promise<void>;
  /** @throws NoResponse */
  remove(group: Group, id: number): Promise<void>;
  reload(): void;
  quit(): void;
  /** With SIGKILL. Resolves when every process of it is gone. */
  kill(): Promise<void>;
  /** What it logged, for the report of a round that went wrong. */
  log(): string;
}
