/**
 * Settings: directives that the API shows and changes as JSON fields, below `/v1/config/<key>`. A module declares them in its manifest
 * (`settings`); routes, schemas, the OpenAPI document and both halves of the call follow from the declaration.
 */
import type { JsonSchema } from './spec.js';
import type { Directive, NewDirective } from './tree.js';

/** The fields that a call changes. `null` takes back what the field stands for, so that the levels around the block apply again. */
export type ChangedFields<V> = { readonly [K in keyof V]?: V[K] | null };

/** Where the blocks of a setting are. */
export interface SettingSurroundings {
  /** The directives of that name in the block of the traffic engine. @throws Error for a name that {@link Setting.uses} does not have */
  lines(name: string): readonly Directive[];
  /** An absolute path for one that may be relative: to the prefix, or to the folder of the configuration file. */
  readonly path: (relative: string, under?: 'prefix' | 'conf') => string;
}

/** One block that a call changes. */
export interface SettingCall extends SettingSurroundings {
  /** JSON pointer of its fields in the call: `/servers/0/locations/1`. */
  readonly pointer: string;
  /**
   * Rejects the call; the other errors of the call are found as well.
   * @param place JSON pointer from the block on: `/headers/2/key`
   */
  reject(place: string, message: string): void;
}

/** A line that the block is to have: an existing one, a new one, or a new one in the place of an existing one. */
export type SettingLine = Directive | NewDirective | Replacement;
export interface Replacement {
  readonly target: Directive;
  readonly by: NewDirective;
}

/**
 * Fields of a block and the directives that say the same: each directive belongs to one set. `V` has the values of the fields, all optional: a
 * field about which the block says nothing is absent.
 */
export interface FieldSet<V extends object = Readonly<Record<string, unknown>>> {
  /** The schemas of the fields by name, as plain data: workers, which load the module as well, need no schema library then. */
  readonly fields: Readonly<Record<keyof V & string, JsonSchema>>;
  /** Names of the directives, which have to be `dynamic`. Others of the block are never touched. */
  readonly directives: readonly string[];
  /** @param lines the directives of these names in the block, in order */
  read(lines: readonly Directive[], around: SettingSurroundings): V;
  /**
   * All directives of these names that the block is to have, in order. Values become words ({@link NewDirective}), so that they cannot leave
   * their directive; what they may mean there is for this function to check.
   * @param fields those of the call that do not say what the block says already
   * @param lines as in {@link read}
   */
  write(fields: ChangedFields<V>, lines: readonly Directive[], call: SettingCall): readonly SettingLine[];
}

/** A set of which `V` is inferred, for the list of a setting: there the values are of any type. */
export function fieldSet<V extends object>(set: FieldSet<V>): FieldSet {
  return set as unknown as FieldSet;
}

/** The declaration of one key. */
export interface Setting {
  /** Last part of its path, `/v1/config/<key>`, and its key in `api_limit_except`. */
  readonly key: string;
  /** Its subject, as a noun: `access rules by client address`. */
  readonly summary: string;
  /** Name of the block of the traffic engine that it is about. */
  readonly engine: 'http' | 'stream';
  /** Fields of the block of the engine itself, of a server, and of a location. */
  readonly global?: readonly FieldSet[];
  readonly server?: readonly FieldSet[];
  readonly location?: readonly FieldSet[];
  /** Directives of the block of the engine that sets look at to read and write others: which folders a call may name. */
  readonly uses?: readonly string[];
  /** Error codes of its own, for the document. */
  readonly errors?: readonly string[];
}

/** The levels of a setting. */
export const SETTING_LEVELS = ['global', 'server', 'location'] as const;
export type SettingLevel = (typeof SETTING_LEVELS)[number];
