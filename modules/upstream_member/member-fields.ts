import type { MemberAddress } from '../../core/contract/address.js';
import { ApiError } from '../../core/contract/control.js';
import type { DirectiveJson } from '../../core/contract/spec.js';
import { serverLines, type ServerLine, type upstreamDirectives } from '../../core/toolkit/upstream.js';
import { badAddress, isBelow, memberAddress } from './address.js';
import type { MemberView } from './member-view.js';

type Settings = Omit<DirectiveJson<typeof upstreamDirectives.server>, 'resolve'>;

/** A member, or a part of one, as a caller sends it: of the right types already. */
export interface MemberFields extends Partial<Settings> {
  /** Read-only: accepted as GET shows them. */
  readonly id?: number;
  readonly host?: string;
  readonly parent?: number;
  readonly state?: string;
}

/** A server that does not exist yet. */
const NONE: ServerLine = { ...serverLines.create({}), server: '' };

/** Capabilities of an upstream. */
export interface GroupRules {
  /** An address without a port is none (stream). */
  readonly needsPort: boolean;
  readonly hasResolver: boolean;
  /** The balancing method, if it does not support backup servers. */
  readonly withoutBackup: string | undefined;
  /** Folders below which members may have unix sockets (`api_unix_members`). */
  readonly unixFolders: readonly string[];
}

/** A member as it is to be. */
export interface WantedMember {
  readonly settings: ServerLine;
  readonly address: MemberAddress;
}

/**
 * The settings of a new member: fields that are left out have their defaults.
 * @throws ApiError 400
 */
export function newMember(fields: MemberFields, rules: GroupRules, address = memberAddress(fields.server ?? '')): WantedMember {
  return settingsOf(NONE, fields, rules, address);
}

/**
 * The settings of a member after a change of some.
 * @throws ApiError 400
 */
export function changedMember(before: ServerLine, fields: MemberFields, rules: GroupRules): WantedMember {
  return settingsOf(before, fields, rules, memberAddress(fields.server ?? before.server));
}

/**
 * The settings of a member that is described again: fields that are left out have their defaults again.
 * @throws ApiError 400
 */
export function replacedMember(before: ServerLine, fields: MemberFields, rules: GroupRules, address: MemberAddress): WantedMember {
  const { server, resolve } = before;
  return settingsOf({ ...NONE, server, resolve }, fields, rules, address);
}

/**
 * A change without the read-only fields and the address that GET shows of the member.
 * @throws ApiError 400 `InvalidField` for a read-only field with another value
 */
export function unlessShown(fields: MemberFields, shown: MemberView): MemberFields {
  const { id: _id, host: _host, parent: _parent, state: _state, server, ...others } = fields;
  const changed = (['id', 'host', 'parent', 'state'] as const).find((name) => fields[name] !== undefined && fields[name] !== shown[name]);
  if (changed !== undefined) throw fault(`/${changed}`, 'is read-only');
  return server === undefined || server === shown.server ? others : { ...others, server };
}

/** @param address of its `server` */
function settingsOf(base: ServerLine, fields: MemberFields, rules: GroupRules, address: MemberAddress): WantedMember {
  const { id: _id, host: _host, parent: _parent, state: _state, server: sent = '', ...settings } = fields;
  const written = serverLines.merge(base, settings);
  const stays = base.server === address.canonical || (base.server !== '' && memberAddress(base.server).canonical === address.canonical);
  if (rules.needsPort && sent !== '' && written.service === '' && address.path === undefined && !HAS_PORT.test(sent))
    throw badAddress(sent, 'no port');
  if (!stays) assertAllowed(address, rules);
  if (written.service !== '' && !address.isName) throw fault('/service', 'must not be set for a server with an address');
  if (written.service !== '' && !rules.hasResolver) throw withoutResolver('/service', '"service" requires one');
  if (written.backup && rules.withoutBackup !== undefined)
    throw new ApiError(400, 'UpstreamNoBackup', `balancing method "${rules.withoutBackup}" does not support backup servers`);
  return { settings: { ...written, ...placeOf(base, stays, sent, written.service, address) }, address };
}

/**
 * The address as the line has it, and whether its name is looked up again and again.
 * @param stays it is another form of the same address, and no other member: the line keeps the form it has
 * @param sent the address as the caller wrote it
 */
function placeOf(
  base: ServerLine,
  stays: boolean,
  sent: string,
  service: string,
  { canonical, isName }: MemberAddress,
): Pick<ServerLine, 'server' | 'resolve'> {
  const server = stays ? base.server : canonical;
  if (service === '') return { server, resolve: stays ? base.resolve : isName };
  // SRV records have the ports.
  if (HAS_PORT.test(sent)) throw badAddress(sent, 'the name of a service may not have a port');
  return { server: server.replace(HAS_PORT, ''), resolve: true };
}

const HAS_PORT = /:\d+$/;

function assertAllowed({ canonical, isName, path }: MemberAddress, { hasResolver, unixFolders }: GroupRules): void {
  if (isName && !hasResolver) throw withoutResolver('/server', `"${canonical}" is a host name, use its IP address`);
  if (path !== undefined && !isBelow(path, unixFolders))
    throw badAddress(canonical, 'unix sockets must be below a folder that "api_unix_members" names');
}

function withoutResolver(pointer: string, reason: string): ApiError {
  const message = `no resolver defined in the upstream: ${reason}`;
  return new ApiError(400, 'UpstreamConfNoResolver', message, [{ pointer, message }]);
}

export function fault(pointer: string, message: string): ApiError {
  return new ApiError(400, 'InvalidField', `${pointer}: ${message}`, [{ pointer, message }]);
}
