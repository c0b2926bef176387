import type { RedisArgument, RedisConnection, RedisEntry, RedisScript } from '../contract/redis.js';
import type { LogEntry, LogNode, LogVersion, NewEntry, Snapshot } from './commit-log.js';
import type { EntryBuffer } from './entry-buffer.js';
import type { KnownMarks } from './known-marks.js';

/** Marks are random numbers below this one. */
export const LARGEST_MARK = 2 ** 47;

/** In the form that Redis gives an entry of a stream in a script. */
export type RawEntry = readonly [id: string, fields: readonly string[]];

/** Result of the script `look`: entries after a known one, or why there are none. */
export type Look =
  | readonly [status: 'ok', entries: readonly RawEntry[]]
  /** Entries between are not there any more. The log is another one. There is none. Its keys are of another program. */
  | readonly [status: 'snapshot' | 'other' | 'empty' | 'foreign']
  /** Redis has lost the known entry: its own last one. */
  | readonly [status: 'lost', version: string, mark: string]
  | readonly [status: 'format', format: string];

/** Result of the script `append`. */
export type Append =
  /** `before`: entries between the known one and these. Entries and bytes since the last snapshot; 0: nothing is to be done about them. */
  | readonly [status: 'ok', number: number, before: readonly RawEntry[], count: number, bytes: number]
  | readonly [status: 'conflict' | 'late' | 'empty' | 'foreign']
  | readonly [status: 'format', format: string];

/** An append under way. */
export interface NewEntries<Content> {
  readonly entries: readonly NewEntry<Content>[];
  /** Random numbers, one for each entry: they show which entries of a number these are. */
  readonly marks: readonly string[];
  readonly base: LogVersion;
}

/** Offer of a node to begin a log that is empty, or that has lost its last entries. */
export interface LogBeginning<State> {
  /** Version and state of this node. */
  readonly version: LogVersion;
  readonly state: State;
  readonly node: string;
  /** Epoch, number and mark of the log that is replaced; undefined: there is none. */
  readonly replaced: readonly [epoch: string, number: string, mark: string] | undefined;
}

/**
 * One sequence of entries in Redis: its keys, its scripts, and the form of its entries there. Each has a hash with `format`, `epoch`, `version` and
 * `mark`, and a stream whose entries have the ids `NUMBER-1` and begin with the fields n (node), a (a time) and m (mark).
 */
export interface RedisSequence<Content, State> {
  readonly connection: RedisConnection;
  /** Replicas that must have an entry, and milliseconds until they do; undefined: none. */
  readonly wait: { readonly replicas: number; readonly timeout: number } | undefined;
  /** `configuration`, an entry of it, and what a node has of it; why something is rejected begins with `rejected`. */
  readonly words: { readonly subject: string; readonly entry: string; readonly state: string; readonly rejected: string };
  /** Format of the data, the first argument of the scripts. Another one is not touched. */
  readonly format: string;
  /** The first one is the hash, the others are what the scripts expect. */
  readonly keys: readonly string[];
  /** The stream of the entries. */
  readonly stream: string;
  readonly look: RedisScript;
  /** Its fifth argument is the latest time at which it has an effect, by the clock of Redis (epoch milliseconds). */
  readonly append: RedisScript;
  /** An entry has to follow the last one that its node knows. */
  readonly isStrict: boolean;
  /** How often a node looks for entries that nothing has announced: data of Redis may be deleted or replaced. Milliseconds. */
  readonly lookMs: number;
  /** Entries that are read at once. */
  readonly page: number;
  /** Entries that are read as they come, for a sequence whose announcements are its entries. */
  readonly buffer?: EntryBuffer<Content>;
  /** Marks of applied entries, for a sequence that puts back what Redis has lost. */
  readonly marks?: KnownMarks;
  /** Arguments of the script `append`, after the place of the base and the time limit. @throws ApiError when an entry cannot travel */
  newEntries(appended: NewEntries<Content>): readonly RedisArgument[];
  /** Its content may be read later: that throws an Error for content that this node cannot read. */
  entry(raw: RawEntry, epoch: number): LogEntry<Content>;
  /** @throws RedisFailure */
  snapshot(): Promise<Snapshot<State> | undefined>;
  /** Puts the state of this node in the place of the log, in turn with the other nodes. @returns text for the log if it did @throws RedisFailure */
  begin(beginning: LogBeginning<State>): Promise<string | undefined>;
  /** Follows what announces entries. @param read called after each announcement @returns ends it */
  announced(read: () => void, node: LogNode<State>): () => void;
  /** This node has appended entries. @param count of all entries since the last snapshot @param bytes of these */
  grew?(node: LogNode<State>, count: number, bytes: number): void;
}

/** The first arguments of the scripts. */
export const place = (format: string, { epoch, number, mark = 0 }: LogVersion): readonly [string, string, string, string] => [
  format,
  String(epoch),
  String(number),
  String(mark),
];

/** An entry of a stream, as a connection reads it. */
export const rawEntry = ({ id, fields }: RedisEntry): RawEntry => [id, fields];

/** Number of an entry, which is the beginning of its id. */
export const numberOf = ([id]: RawEntry): number => Number.parseInt(id, 10);

/** Mark of an entry. */
export const markOf = ([, fields]: RawEntry): string | undefined => fields[5];
