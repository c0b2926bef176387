import { ApiError } from '../../core/module/control.js';
import { durationOf, type Duration } from '../../core/module/schema.js';
import { memberAddress, type MemberAddress } from './address.js';
import { DEFAULTS, type ServerSettings } from './server-line.js';

/** A member, or a part of one, as a caller sends it: of the right types already. */
export interface MemberFields {
  readonly server?: string;
  readonly weight?: number;
  readonly max_conns?: number;
  readonly max_fails?: number;
  readonly fail_timeout?: Duration;
  readonly slow_start?: Duration;
  readonly route?: string;
  readonly service?: string;
  readonly backup?: boolean;
  readonly down?: boolean;
  readonly drain?: boolean;
  /** Of a member as GET answers it; they say nothing new. */
  readonly id?: number;
  readonly host?: string;
  readonly parent?: number;
}

/** What a group allows. */
export interface GroupRules {
  readonly hasResolver: boolean;
  /** The balancing method, if it knows no backup members. */
  readonly withoutBackup: string | undefined;
}

/** A member as it is to be. */
export interface Wanted {
  readonly settings: ServerSettings;
  readonly address: MemberAddress;
  /** It had no address before, or another one. */
  readonly isElsewhere: boolean;
}

/**
 * The settings of a new member: what is not said is the default.
 * @throws ApiError 400
 */
export function newMember(fields: MemberFields, rules: GroupRules): Wanted {
  return changedMember({ server: '', ...DEFAULTS }, fields, rules);
}

/**
 * The settings of a member after a change of some.
 * @throws ApiError 400
 */
export function changedMember(before: ServerSettings, fields: MemberFields, rules: GroupRules): Wanted {
  const { fail_timeout: _fail, slow_start: _slow, id: _id, host, parent: _parent, ...same } = fields;
  const written = { ...before, ...same, ...times(fields) };
  // What GET answers for a name has the address in `server`.
  const address = memberAddress((fields.server === undefined ? undefined : host) ?? written.server);
  const stays = before.server !== '' && memberAddress(before.server).canonical === address.canonical;
  if (!stays && address.isName && !rules.hasResolver) {
    throw new ApiError(
      400,
      'UpstreamConfNoResolver',
      `"${address.canonical}" is a name, and the upstream has no resolver: give its IP address`,
    );
  }
  if (written.service !== '' && !address.isName) throw fault('/service', 'is for members with a name');
  if (written.backup && rules.withoutBackup !== undefined) {
    throw new ApiError(400, 'UpstreamNoBackup', `"${rules.withoutBackup}" knows no backup members`);
  }
  // Another form of the same address is no other member: the line keeps the form it has.
  const place = stays ? { server: before.server, resolve: before.resolve } : { server: address.canonical, resolve: address.isName };
  return { settings: { ...written, ...place }, address, isElsewhere: !stays };
}

function times(fields: MemberFields): Partial<ServerSettings> {
  const read: Record<string, number> = {};
  for (const name of ['fail_timeout', 'slow_start'] as const) {
    const value = fields[name];
    if (value !== undefined) read[name] = durationOf(value, `/${name}`);
  }
  return read;
}

export function fault(pointer: string, message: string): ApiError {
  return new ApiError(400, 'InvalidField', `${pointer}: ${message}`, [{ pointer, message }]);
}
